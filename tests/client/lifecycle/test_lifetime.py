"""What years of use cost a device, and what opting out and forgetting leave of it."""

from __future__ import annotations

import threading

import pytest

from deniable import Outcome
from deniable._platform import files
from deniable._storage import device as device_module
from deniable._storage import directory as directory_module
from deniable._storage import journal
from deniable._storage.cost import NANO
from deniable._upload import uploader
from deniable_shared.registry import parse
from tests.client.conftest import DAY
from tests.client.flushing import counts
from tests.client.programs import secret_of
from tests.client.transports import Accepting
from tests.waiting import wait_until

TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 400.0
[metrics.late]
type = "boolean"
epsilon = 0.5
epsilon_permanent = 1.0
every = "day"
repeat = "memoize"
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0
"""


@pytest.fixture
def lifelong():
    return parse(TEXT)


def total(registry, metric="late"):
    return registry.metrics[metric].spec.mechanism.epsilon_total


def spent(client):
    limit = client._registry.budget.epsilon_lifetime
    return limit - client.status().epsilon_left_lifetime


def record_daily(client, clock, days, metric="late", value=True):
    outcomes = []
    for _ in range(days):
        outcomes.append(client.record(metric, value))
        clock.forward(days=1)
    return outcomes


def test_a_memoised_boolean_reports_for_years_and_costs_what_its_two_answers_cost(
    make_client, lifelong, clock
):
    client = make_client(registry=lifelong, clock=clock)
    for day in range(1_000):
        assert client.record("late", day % 3 == 0) is Outcome.RECORDED
        clock.forward(days=1)
    assert spent(client) == pytest.approx(total(lifelong), abs=2 / NANO)
    assert 1.999 < total(lifelong) <= 2.0


def test_a_metric_that_draws_afresh_costs_epsilon_every_time(make_client, lifelong, clock):
    client = make_client(registry=lifelong, clock=clock)
    record_daily(client, clock, 20, "theme", "dark")
    assert spent(client) == pytest.approx(20.0, abs=1e-6)


def test_another_epsilon_starts_the_count_anew(make_client, lifelong, clock):
    first = make_client(registry=lifelong, clock=clock)
    record_daily(first, clock, 10)
    first.close()
    changed = parse(TEXT.replace("epsilon = 0.5", "epsilon = 0.4"))
    second = make_client(registry=changed, clock=clock)
    record_daily(second, clock, 10)
    assert spent(second) == pytest.approx(total(lifelong) + total(changed), abs=1e-6)
    second.close()
    # Going back costs once more: the ledger remembers what was paid for the latest spec only.
    third = make_client(registry=lifelong, clock=clock)
    record_daily(third, clock, 10)
    assert spent(third) == pytest.approx(2 * total(lifelong) + total(changed), abs=1e-6)


def test_another_name_of_a_metric_gives_back_no_budget(make_client, clock):
    spendings = []
    for name in ("late", "delayed", "tardy"):
        registry = parse(TEXT.replace("metrics.late", f"metrics.{name}"))
        client = make_client(registry=registry, clock=clock)
        record_daily(client, clock, 10, name)
        spendings.append(spent(client))
        client.close()
    assert spendings == pytest.approx([2.0, 4.0, 6.0], abs=1e-6)


def test_the_budget_bounds_memoised_metrics_too(make_client, clock):
    registry = parse(TEXT.replace("lifetime = 400.0", "lifetime = 1.2"))
    client = make_client(registry=registry, clock=clock)
    outcomes = record_daily(client, clock, 5)
    assert outcomes == ["recorded"] * 2 + ["over_budget"] * 3
    assert client.status().epsilon_left_lifetime == pytest.approx(0.2, abs=1e-6)


def test_opting_out_wipes_reports_and_secret_and_keeps_what_was_spent(
    make_client, lifelong, clock, directory, collector
):
    client = make_client(registry=lifelong, clock=clock, endpoint=collector.endpoint)
    record_daily(client, clock, 10)
    assert client.flush().sent == 10
    client.record("late", value=True)
    before, secret = spent(client), secret_of(directory)
    client.consent = False
    status = client.status()
    assert (status.pending, status.dropped) == (0, {"consent_withdrawn": 1})
    assert spent(client) == before
    assert secret_of(directory) != secret
    assert client.record("late", value=True) is Outcome.NO_CONSENT
    client.consent = True
    assert client.record("late", value=True) is Outcome.ALREADY_REPORTED
    clock.forward(days=1)
    record_daily(client, clock, 10)
    # Another secret gives other answers, which have to be paid for again.
    assert spent(client) == pytest.approx(2 * total(lifelong), abs=1e-6)


def test_opting_out_without_having_agreed_wipes_the_device_too(make_client, directory):
    first = make_client()
    first.record("theme", "dark")
    first.close()
    secret = secret_of(directory)
    second = make_client(consent=False)
    assert second.status().pending == 1
    second.consent = False
    assert second.status().pending == 0
    assert secret_of(directory) != secret


def test_another_client_on_the_directory_goes_on_with_the_new_secret(make_client, directory):
    one, two = make_client(), make_client(another_process=True)
    assert two.record("city", "Bergen") == "recorded"
    one.consent = False
    assert two.record("late", value=True) == "recorded"
    assert two._storage.secret == secret_of(directory)
    assert two.status().pending == 1


def test_the_old_secret_is_overwritten_in_place(make_client, directory):
    client = make_client()
    client.record("theme", "dark")
    secret = secret_of(directory)
    with (directory / "journal").open("rb") as old:
        assert secret in old.read()
        client.consent = False
        old.seek(0)
        assert not any(old.read())
    assert not any(secret in path.read_bytes() for path in directory.iterdir())


class Interrupted(BaseException):
    """Stands in for the end of the process."""


@pytest.mark.parametrize("step", range(1, 9))
def test_opting_out_that_is_cut_short_never_leaves_answers_unpaid(
    make_client, lifelong, clock, monkeypatch, directory, step
):
    """At each sync, renaming and erasing: then either nothing has happened, or all of it."""
    client = make_client(registry=lifelong, clock=clock)
    record_daily(client, clock, 10)
    secret, left = client._storage.secret, [step]

    def dying(real):
        def act(*arguments):
            left[0] -= 1
            if left[0] == 0:
                raise Interrupted
            return real(*arguments)

        return act

    with monkeypatch.context() as patch:
        for module, name in (
            (files, "sync"),
            (files, "replace"),
            (files, "sync_directory"),
            (journal, "erase"),
        ):
            patch.setattr(module, name, dying(getattr(module, name)))
        with pytest.raises(Interrupted):
            client.consent = False
    again = make_client(registry=lifelong, clock=clock, another_process=True)
    record_daily(again, clock, 10)
    kept = again._storage.secret == secret
    assert spent(again) == pytest.approx((2 - kept) * total(lifelong), abs=1e-6)
    assert again.status().pending == (20 if kept else 10)
    again.flush()
    assert not (directory / "journal.old").exists()
    assert not (directory / "journal.new").exists()


def test_opting_out_is_owed_until_the_storage_can_be_used(
    make_client, clock, monkeypatch, directory
):
    monkeypatch.setattr(device_module, "REOPEN_SECONDS", 0.0)
    client = make_client(clock=clock)
    client.record("theme", "dark")
    secret = secret_of(directory)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync", refuse)
        client.consent = False
        assert secret_of(directory) == secret
        client.consent = True
        assert client.record("late", value=True) is Outcome.STORAGE_UNAVAILABLE
        assert counts(client.flush()) == (0, 1, 0)
    assert client.record("late", value=True) is Outcome.RECORDED
    assert secret_of(directory) != secret
    assert client.status().pending == 1


def test_the_upload_thread_deletes_what_is_owed(make_client, monkeypatch, directory):
    monkeypatch.setattr(device_module, "REOPEN_SECONDS", 0.0)
    monkeypatch.setattr(uploader, "STORAGE_BACKOFF_SECONDS", 0.01)
    client = make_client(background=True)
    client.record("theme", "dark")
    secret = secret_of(directory)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync", refuse)
        client.consent = False
    wait_until(lambda: not client._consent.deletion_owed)
    assert secret_of(directory) != secret


def test_closing_the_client_deletes_what_is_owed(make_client, monkeypatch, directory):
    monkeypatch.setattr(device_module, "REOPEN_SECONDS", 0.0)
    client = make_client()
    client.record("theme", "dark")
    stuck, done = threading.Event(), threading.Event()

    def sit_in_the_storage():
        stuck.set()
        done.wait(30)

    monkeypatch.setattr(device_module, "_LOCK_WAIT_SECONDS", 0.01)
    thread = threading.Thread(target=client._storage.run_locked, args=(sit_in_the_storage,))
    thread.start()
    stuck.wait()
    secret = secret_of(directory)
    client.consent = False
    assert secret_of(directory) == secret
    done.set()
    thread.join()
    client.close()
    assert secret_of(directory) != secret


def test_a_withdrawal_during_the_deletion_for_an_earlier_one_is_owed_too(make_client, monkeypatch):
    """Another thread agrees, records and withdraws right after the first wipe."""
    client = make_client()
    client.record("theme", "dark")
    use = device_module.DeviceStorage.run_syncing

    def closed(device, action, wait_seconds=None):
        monkeypatch.undo()
        use(device, action, wait_seconds)
        client.consent = True
        assert client.record("late", value=True) is Outcome.RECORDED
        client._consent.withdraw()

    monkeypatch.setattr(device_module.DeviceStorage, "run_syncing", closed)
    client._consent.withdraw()
    client._consent.delete_owed()
    client.close()
    assert make_client().status().pending == 0


def test_consent_cannot_be_given_to_a_closed_client(make_client, directory):
    transport = Accepting()
    closed = make_client(transport=transport, background=True, upload_delay_seconds=0.0)
    closed.close()
    assert make_client(directory=directory).record("theme", "dark") is Outcome.RECORDED
    closed.consent = True
    assert closed._uploader._thread is None
    closed.consent = False
    closed.consent = True
    assert not closed.consent
    assert transport.bodies == []


def test_forgetting_deletes_and_counts_pending_reports(make_client, clock, collector):
    client = make_client(clock=clock, endpoint=collector.endpoint)
    client.record("theme", "dark")
    assert client.flush().sent == 1
    client.record("late", value=True)
    client.record("emoji", "x")
    left = client.status().epsilon_left_today
    assert client.forget() == 2
    status = client.status()
    assert (status.pending, status.dropped) == (0, {"forgotten": 2})
    assert status.epsilon_left_today == left
    assert client.record("late", value=True) is Outcome.ALREADY_REPORTED
    assert client.forget() == 0


def test_forgetting_needs_neither_consent_nor_a_directory(make_client, directory):
    first = make_client()
    first.record("theme", "dark")
    first.close()
    assert make_client(consent=False).forget() == 1
    elsewhere = directory.parent / "elsewhere"
    assert make_client(directory=elsewhere, consent=False).forget() == 0
    assert not elsewhere.exists()


@pytest.mark.parametrize("word", ["1", "true", "yes", "no"])
def test_under_do_not_track_consent_cannot_be_given(make_client, monkeypatch, directory, word):
    monkeypatch.setenv("DO_NOT_TRACK", word)
    client = make_client(consent=True)
    client.consent = True
    assert client.consent is False
    assert client.record("theme", "dark") is Outcome.DO_NOT_TRACK
    assert client.status().do_not_track
    client.close()
    assert not directory.exists()


@pytest.mark.parametrize("word", ["", "0"])
def test_do_not_track_of_nothing_or_zero_does_not_refuse(make_client, monkeypatch, word):
    monkeypatch.setenv("DO_NOT_TRACK", word)
    client = make_client()
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert not client.status().do_not_track


def test_what_was_recorded_before_do_not_track_is_not_sent(
    make_client, monkeypatch, collector, clock
):
    first = make_client(clock=clock, endpoint=collector.endpoint)
    first.record("theme", "dark")
    first.close()
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    clock.now += 2 * DAY
    second = make_client(clock=clock, endpoint=collector.endpoint, background=True)
    assert counts(second.flush()) == (0, 1, 0)
    second.close()
    assert collector.bodies == []


def test_erasing_a_file_changes_its_bytes_in_place(tmp_path):
    path = tmp_path / "journal.old"
    path.write_bytes(b"a" * 3_000_000)
    with path.open("rb") as reader:
        directory_module.erase(path)
        content = reader.read()
    assert (len(content), any(content)) == (3_000_000, False)
    assert not path.exists()
    directory_module.erase(path)
