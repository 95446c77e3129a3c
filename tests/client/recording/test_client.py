from __future__ import annotations

import dataclasses
import logging
import stat
import threading

import pytest

import deniable
from deniable import Outcome, ParameterError, RegistryError
from deniable_shared.registry import Budget, load
from tests.client.conftest import DAY, NOON
from tests.client.programs import contents, secret_of
from tests.client.transports import Accepting

DISCOVERED = '[metrics.query]\ntype = "string"\nepsilon = 1.0\ndiscover = true\n'


def record_of(client, *names):
    flight = {"carrier": "AA", "late": True}
    values = {"theme": "dark", "emoji": "🙂", "city": "Bergen", "flight": flight}
    return [client.record(name, values.get(name, True)) for name in names]


def test_a_value_is_recorded_once_in_its_period(make_client, clock):
    client = make_client(clock=clock)
    assert record_of(client, "theme", "theme") == ["recorded", "already_reported"]
    clock.forward(days=1)
    assert record_of(client, "theme") == ["recorded"]


def test_a_weekly_metric_reports_once_a_week(make_client, clock):
    client = make_client(clock=clock)
    outcomes = []
    for _ in range(14):
        outcomes += record_of(client, "late")
        clock.forward(days=1)
    assert outcomes.count("recorded") in (2, 3)


def test_periods_survive_a_restart(make_client, clock):
    first = make_client(clock=clock)
    record_of(first, "theme")
    first.close()
    assert record_of(make_client(clock=clock), "theme") == ["already_reported"]


def test_every_type_can_be_recorded(make_client, clock):
    client = make_client(clock=clock)
    assert record_of(client, "theme", "late", "emoji", "flight") == ["recorded"] * 4
    clock.forward(days=1)
    assert record_of(client, "city") == ["recorded"]
    assert client.status().pending == 5


@pytest.mark.parametrize(
    ("metric", "value", "outcome"),
    [
        ("theme", "purple", "outside_domain"),
        ("theme", True, "outside_domain"),
        ("late", "yes", "outside_domain"),
        ("late", 1, "outside_domain"),
        ("emoji", None, "outside_domain"),
        ("flight", "AA", "outside_domain"),
        ("flight", {"carrier": "AA"}, "outside_domain"),
        ("flight", {"carrier": "AA", "late": "yes"}, "outside_domain"),
        ("flight", {"carrier": "AA", "late": True, "gate": "A1"}, "outside_domain"),
        ("colour", "dark", "unknown_metric"),
        (None, "dark", "unknown_metric"),
        ([], "dark", "unknown_metric"),
        ("bygone", True, "expired"),
    ],
)
def test_a_refused_value_is_counted_and_costs_nothing(make_client, clock, metric, value, outcome):
    client = make_client(clock=clock)
    assert client.record(metric, value) is Outcome(outcome)
    status = client.status()
    assert status.outcomes == {outcome: 1}
    assert status.pending == 0
    assert status.epsilon_left_lifetime == 40.0


def test_a_metric_reports_on_its_last_day(make_client, clock):
    clock.now = 20_484 * DAY + DAY - 1  # the last second of 2026-01-31
    client = make_client(clock=clock)
    assert record_of(client, "bygone") == ["recorded"]


def test_a_value_whose_methods_raise_does_no_harm(make_client, caplog):
    class Hostile(str):
        __slots__ = ()

        def __hash__(self):
            raise RuntimeError("grapefruit")

        def __len__(self):
            raise RuntimeError("grapefruit")

    client = make_client()
    assert client.record("theme", Hostile("dark")) is Outcome.INTERNAL_ERROR
    assert "grapefruit" not in str(client.status())
    assert "grapefruit" not in caplog.text


def test_the_budget_of_a_day_covers_all_metrics(make_client, clock):
    client = make_client(clock=clock)
    assert record_of(client, "heavy", "theme") == ["recorded", "over_budget"]
    left = client.status().epsilon_left_today
    assert 0.4999 < left < 0.5001
    clock.forward(days=1)
    assert record_of(client, "theme") == ["recorded"]


def test_what_does_not_fit_into_a_day_is_refused_without_asking_the_ledger_again(
    make_client, clock, monkeypatch
):
    client = make_client(clock=clock)
    record_of(client, "heavy")
    assert record_of(client, "theme", "late") == ["over_budget"] * 2
    with monkeypatch.context() as patch:
        patch.setattr(client._storage, "run_locked", None)
        assert record_of(client, "theme", "heavy", "late") == [
            "over_budget", "already_reported", "over_budget",
        ]  # fmt: skip
    clock.forward(days=-1)
    assert record_of(client, "theme") == ["over_budget"]
    clock.forward(days=2)
    assert record_of(client, "theme", "late") == ["recorded"] * 2


def test_the_budget_of_a_lifetime_is_never_exceeded(make_client, clock):
    client = make_client(clock=clock)
    outcomes = []
    for _ in range(15):
        outcomes += record_of(client, "heavy")
        clock.forward(days=1)
    assert outcomes == ["recorded"] * 11 + ["over_budget"] * 4
    assert 0 <= client.status().epsilon_left_lifetime < 3.5


def test_a_clock_that_goes_back_frees_no_period(make_client, clock):
    client = make_client(clock=clock)
    record_of(client, "theme")
    clock.forward(days=-3)
    assert record_of(client, "theme") == ["already_reported"]


def test_without_consent_nothing_is_randomized_stored_or_created(
    make_client, directory, monkeypatch
):
    client = make_client(consent=False)
    monkeypatch.setattr(client._engine.randomness, "take", lambda _count: pytest.fail("randomized"))
    assert record_of(client, "theme", "nothing") == ["no_consent", "no_consent"]
    assert client.flush().problem.startswith("no_consent: ")
    assert client.status().epsilon_left_today == 4.0
    client.close()
    assert not directory.exists()


def test_after_a_clock_went_back_the_budget_is_that_of_the_latest_day(make_client, clock):
    """What was over the budget of an earlier day fits into that of the latest, which is charged."""
    client = make_client(clock=clock)
    assert record_of(client, "heavy", "theme") == ["recorded", "over_budget"]
    clock.forward(days=1)
    assert record_of(client, "emoji") == ["recorded"]
    clock.forward(days=-1)
    assert record_of(client, "theme", "theme") == ["recorded", "already_reported"]
    assert client.status().epsilon_left_today == pytest.approx(2.0)


def test_consent_can_be_granted_and_withdrawn(make_client, clock):
    client = make_client(consent=False, clock=clock)
    client.consent = True
    assert record_of(client, "theme") == ["recorded"]
    client.consent = False
    assert record_of(client, "late") == ["no_consent"]
    status = client.status()
    assert (status.pending, status.dropped) == (0, {"consent_withdrawn": 1})
    client.consent = True
    assert record_of(client, "theme", "late") == ["already_reported", "recorded"]
    assert client.status().epsilon_left_today < 2.01


def test_a_value_is_not_recorded_if_consent_is_withdrawn_meanwhile(make_client, clock, monkeypatch):
    def withdraw():  # as another thread may do while this one records
        client.consent = False
        return clock()

    client = make_client(clock=clock)
    assert record_of(client, "theme") == ["recorded"]
    with monkeypatch.context() as patch:
        patch.setattr(client._recorder._clock, "_clock", withdraw)
        assert record_of(client, "emoji") == ["no_consent"]
    assert client.status().pending == 0
    client.consent = True
    assert record_of(client, "emoji") == ["recorded"]


@pytest.mark.parametrize("timeout_seconds", [float("inf"), float("nan"), -1, 1e300, None, "5"])
def test_no_timeout_makes_a_flush_raise(make_client, timeout_seconds):
    client = make_client()
    record_of(client, "theme")
    assert client.flush(timeout_seconds=timeout_seconds).pending == 1


def test_a_log_handler_that_raises_does_no_harm(make_client, tmp_path):
    class Broken(logging.Handler):
        def emit(self, record):
            raise ValueError(record)

    (tmp_path / "file").touch()
    logger, broken = logging.getLogger("deniable"), Broken()
    logger.addHandler(broken)
    try:
        client = make_client(directory=tmp_path / "file" / "device")
        assert client.record("no_such_metric", "dark") == "unknown_metric"
        assert client.record("theme", "dark") == "storage_unavailable"
    finally:
        logger.removeHandler(broken)


def test_the_directory_and_its_files_are_private(make_client, directory):
    client = make_client()
    record_of(client, "theme", "city")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    files = list(directory.iterdir())
    assert {"journal", "lock"} <= {path.name for path in files}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_directory_that_others_could_read_is_made_private_again(make_client, directory, clock):
    first = make_client(clock=clock)
    record_of(first, "theme")
    first.close()
    directory.chmod(0o755)
    assert record_of(make_client(clock=clock), "late") == ["recorded"]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_shared_directory_with_other_files_is_refused(make_client, directory):
    directory.mkdir(mode=0o755)
    (directory / "notes.txt").touch()
    client = make_client()
    assert record_of(client, "theme") == ["storage_unavailable"]
    assert "other files" in client.status().last_error
    assert [path.name for path in directory.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("metric", ["theme", "city", "emoji", "query"])
def test_the_value_is_nowhere_on_disk_in_logs_or_in_words(make_client, directory, caplog, metric):
    client = make_client(registry=load_with_words(directory.parent))
    caplog.set_level(0)
    assert client.record(metric, "pomegranate") is Outcome.RECORDED
    client.record("theme", "quince-outside")
    client.record("medlar-metric", "medlar")
    client.flush(timeout_seconds=0.5)
    told = caplog.text + repr(client) + repr(client.status())
    client.close()
    stored = b"".join(path.read_bytes() for path in directory.iterdir())
    # The file contains the whole domain, as the registry has it, whatever the value was.
    for description in contents(directory).spool.described.values():
        stored = stored.replace(description.encode(), b"")
    for word in ("pomegranate", "quince", "medlar"):
        assert word not in told
        for form in (word.encode(), word.encode("utf-16-le"), word.encode().hex().encode()):
            assert form not in stored


def load_with_words(folder):
    path = folder / "words.toml"
    text = (folder / "metrics.toml").read_text(encoding="utf-8")
    text = text.replace('"light"', '"pomegranate"') + DISCOVERED
    path.write_text(text, encoding="utf-8")
    return path


def test_representations_show_neither_key_nor_secret(make_client, directory):
    client = make_client(key="very-secret-key")
    record_of(client, "theme")
    secret = secret_of(directory)
    told = repr(client) + str(client.status())
    assert "very-secret-key" not in told
    assert secret.hex() not in told
    assert repr(secret) not in told


def test_a_kind_of_problem_is_logged_once(make_client, caplog):
    client = make_client()
    for _ in range(50):
        client.record("theme", "purple")
        client.record("colour", "dark")
    kinds = [record.args[0] for record in caplog.records if record.name == "deniable"]
    assert sorted(kinds) == ["outside_domain", "unknown_metric"]


def test_recording_with_a_closed_client_answers_closed(make_client):
    client = make_client()
    client.close()
    client.close()
    assert record_of(client, "theme") == ["closed"]
    assert client.flush().problem.startswith("closed: ")


def test_a_client_closes_at_the_end_of_a_with_block(make_client):
    with make_client() as client:
        record_of(client, "theme")
    assert record_of(client, "late") == ["closed"]


def test_a_loaded_registry_can_be_passed(make_client, registry):
    assert record_of(make_client(registry=load(registry)), "theme") == ["recorded"]


def test_no_registry_lifts_the_ceiling_of_the_budget(make_client, registry):
    boundless = dataclasses.replace(load(registry), budget=Budget(1e9, 1e9))
    status = make_client(registry=boundless).status()
    assert (status.epsilon_left_today, status.epsilon_left_lifetime) == (16.0, 400.0)


@pytest.mark.parametrize(
    "options",
    [
        {"endpoint": "http://example.org", "key": "k"},
        {"endpoint": "https://example.org"},
        {"key": "k"},
        {},
        {"endpoint": "https://example.org", "key": "k", "transport": object()},
        {"transport": Accepting(), "upload_delay_seconds": float("nan")},
        {"transport": Accepting(), "upload_delay_seconds": -1.0},
        {"transport": Accepting(), "upload_delay_seconds": "1 hour"},
        {"transport": Accepting(), "directory": "a\0b"},
        {"transport": Accepting(), "upload_delay_seconds": float("inf")},
        {"transport": object()},
        {"transport": Accepting},
        {"transport": Accepting(), "clock": 3},
        {"transport": Accepting(), "background": "no"},
        {"transport": Accepting(), "strict": 1},
    ],
)
def test_a_mistake_in_the_constructor_raises_at_once(registry, directory, options):
    with pytest.raises(ParameterError):
        deniable.Client(registry, **{"directory": directory, **options})


def test_a_registry_that_cannot_be_read_raises_at_once(tmp_path, directory):
    with pytest.raises(RegistryError):
        deniable.Client(tmp_path / "no.toml", directory=directory, transport=Accepting())
    with pytest.raises(RegistryError):
        deniable.Client("a\0b", directory=directory, transport=Accepting())


@pytest.mark.parametrize("registry", [None, 3, {"registry": 1}])
def test_a_registry_that_is_no_path_is_refused_at_construction(directory, registry):
    with pytest.raises(ParameterError, match="registry must be a path, a resource of a package, "):
        deniable.Client(registry, directory=directory, transport=Accepting())


def test_threads_racing_for_a_period_get_exactly_one_report(make_client):
    client = make_client()
    barrier = threading.Barrier(8)
    outcomes = []

    def race():
        barrier.wait()
        outcomes.extend(record_of(client, "theme", "late"))

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("recorded") == 2
    assert outcomes.count("already_reported") == 14
    assert client.status().pending == 2


def test_the_epoch_of_a_report_is_the_day_it_was_recorded(make_client, clock, collector):
    client = make_client(endpoint=collector.endpoint, clock=clock)
    record_of(client, "theme")
    clock.forward(days=2)
    assert client.flush().sent == 1
    assert [upload.parts[0].epoch for upload in collector.uploads()] == [NOON // DAY]


@pytest.mark.parametrize("answer", ["false", "no", 1, None])
def test_only_true_is_consent(make_client, directory, answer):
    """The text "false" of a settings file is true in Python, but must not count as consent."""
    with pytest.raises(ParameterError, match="consent must be True or False"):
        make_client(consent=answer)
    client = make_client(consent=False)
    client.consent = answer
    assert client.record("theme", "dark") is Outcome.NO_CONSENT
    assert not directory.exists()


@pytest.mark.parametrize("directory", [None, 3, b"device"])
def test_a_directory_that_is_no_path_is_refused_at_construction(make_client, directory):
    with pytest.raises(ParameterError, match="directory must be a path"):
        make_client(directory=directory)
