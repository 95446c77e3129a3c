from __future__ import annotations

import fcntl
import hashlib
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

import deniable
from deniable._disclosure import disclosure, read_only
from deniable._disclosure.command import parser, run
from deniable._disclosure.summary import format_percent
from deniable.testing import RecordingClient
from deniable_shared.planning.disclosure_figures import posterior_from_even_odds
from deniable_shared.registry import parse
from tests.client.programs import contents
from tests.client.used_device import TODAY, record, used

__all__ = ["used"]


def files_in(directory):
    return {
        path.name: (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in directory.iterdir()
    }


@pytest.mark.usefixtures("used")
def test_pending_and_delivered_reports_are_shown_the_latest_day_first(directory, clock):
    shown = deniable.disclosure(directory, clock=clock)
    assert [(said.metric, said.day, said.pending) for said in shown.reports] == [
        ("emoji", TODAY + timedelta(days=1), True),
        ("theme", TODAY + timedelta(days=1), True),
        ("late", TODAY, False),
        ("theme", TODAY, False),
    ]
    assert (shown.application, shown.pending, shown.problem) == ("flightdeck", 2, None)
    assert shown.reports[2].sentence.endswith("with probability 0.73 if it were true, 0.27 if not.")
    assert shown.reports[2].likelihoods[0].if_true == pytest.approx(0.731058, abs=1e-6)
    assert shown.reports[2].epsilon == pytest.approx(1.0)


def test_what_was_spent_and_may_be_is_what_the_client_says(used, directory, clock):
    shown, status = used.disclosure(), used.status()
    assert shown == deniable.disclosure(directory, clock=clock)
    assert (shown.epsilon_today, shown.epsilon_lifetime) == (2.0, 4.0)
    assert (shown.limit_per_day, shown.limit_lifetime) == (4.0, 40.0)
    assert shown.limit_per_day - shown.epsilon_today == status.epsilon_left_today
    assert shown.limit_lifetime - shown.epsilon_lifetime == status.epsilon_left_lifetime
    clock.forward(days=1)
    assert used.disclosure().epsilon_today == 0.0


def test_the_budget_that_is_shown_is_that_of_the_latest_registry(
    used, make_client, registry, directory, clock
):
    used.close()
    text = registry.read_text(encoding="utf-8")
    registry.write_text(text.replace("epsilon_per_day = 4.0", "epsilon_per_day = 6.0"))
    clock.forward(days=1)
    record(make_client(clock=clock), "theme")
    assert deniable.disclosure(directory, clock=clock).limit_per_day == 6.0


def test_what_is_shown_as_sent_is_what_the_aggregator_got(used, collector, directory):
    got = {part.payload for upload in collector.uploads() for part in upload.parts}
    assert {each.payload for each in contents(directory).spool.sent} == got
    said = {b"\x00": "Said 'no'", b"\x01": "Said 'yes'"}
    (late,) = [each for each in used.disclosure().reports if each.metric == "late"]
    assert any(late.sentence.startswith(said.get(payload, "no such")) for payload in got)


def test_the_paragraph_is_for_people(used):
    sentence = used.disclosure().sentence
    assert sentence.startswith(
        "In the last 30 days this device has sent 2 answers to flightdeck, and 2 more wait to be "
        "sent. "
    )
    assert "can be at most 74% sure of either" in sentence
    assert "can raise that to 99% at most" in sentence
    assert "epsilon" not in sentence


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 4.0, 4.6, 6.0, 7.5])
def test_a_certainty_is_never_stated_below_what_it_is(epsilon):
    exact = posterior_from_even_odds(epsilon)
    stated = float(format_percent(exact).removesuffix("%")) / 100
    assert exact <= stated < exact + 0.01
    assert stated < 1
    assert format_percent(posterior_from_even_odds(1.0)) == "74%"
    assert format_percent(posterior_from_even_odds(7.5)) == "99.95%"


def test_a_lifetime_that_bounds_nothing_is_not_made_to_sound_like_a_bound(make_client, clock):
    client = make_client(clock=clock)
    for _ in range(10):
        record(client, "theme")
        clock.forward(days=1)
    sentence = client.disclosure().sentence
    assert "surer than that" in sentence
    assert "100" not in sentence


def test_a_memoised_answer_says_that_a_change_may_show(make_client):
    client = make_client()
    record(client, "city")
    assert "that something has changed may show" in client.disclosure().sentence


def test_of_a_memoised_answer_that_was_sent_only_what_it_can_reveal_is_shown(
    make_client, collector, directory
):
    """Epsilon 1 makes even odds 73.1%, the permanent epsilon of 2 makes them 88.1%."""
    client = make_client(endpoint=collector.endpoint, key="k")
    record(client, "city", "theme")
    (city, _) = client.disclosure().reports
    assert (city.metric, city.pending) == ("city", True)
    assert len(city.likelihoods) == 2
    assert client.flush().sent == 2
    city, theme = client.disclosure().reports
    assert (city.metric, city.day, city.pending, city.epsilon) == (
        "city",
        TODAY,
        False,
        pytest.approx(1.0, abs=1e-6),
    )
    assert city.likelihoods == ()
    assert "at most 74% sure of either by it alone" in city.sentence
    assert "at most 89% by all answers given while nothing changes" in city.sentence
    assert city.sentence.endswith("It cost at most epsilon 1.00.")
    assert theme.likelihoods  # noise that is drawn anew for each report is shown as it was sent
    kept = [each.payload is not None for each in contents(directory).spool.sent]
    assert sorted(kept) == [False, True]


def test_the_bound_of_all_answers_is_not_stated_for_things_that_have_changed(make_client, clock):
    """What was charged bounds histories that change at the same times, and no others."""
    client = make_client(clock=clock)
    record(client, "theme")
    clock.forward(days=1)
    record(client, "theme")
    assert "can raise that to 89% at most." in client.disclosure().sentence
    record(client, "city")
    sentence = client.disclosure().sentence
    assert "can raise that to 96% at most, unless what was asked about has changed." in sentence


def test_the_recording_client_of_tests_discloses_what_a_real_one_would(registry, clock):
    client = RecordingClient(registry, clock=clock)
    record(client, "theme", "late")
    assert client.flush().sent == 2
    record(client, "emoji")
    shown = client.disclosure()
    assert [(said.metric, said.pending) for said in shown.reports] == [
        ("emoji", True),
        ("late", False),
        ("theme", False),
    ]
    assert (shown.epsilon_lifetime, shown.limit_lifetime, shown.problem) == (3.0, 40.0, None)


def test_no_value_is_in_what_is_shown_of_a_text(make_client):
    client = make_client()
    record(client, "city", "emoji")
    assert "Bergen" not in repr(client.disclosure())
    assert "🙂" not in repr(client.disclosure())


# Directories that are missing, damaged or in use


def test_a_missing_directory_is_said_to_be_missing_and_not_made(tmp_path):
    shown = deniable.disclosure(tmp_path / "none" / "deeper")
    assert shown.problem == disclosure.NO_DIRECTORY
    assert (shown.reports, shown.epsilon_today, shown.epsilon_lifetime) == ((), None, None)
    assert shown.sentence == "There is no such directory."
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert deniable.disclosure(tmp_path).problem == disclosure.NOTHING
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_directory_that_cannot_be_looked_into_is_told_from_one_that_is_not_there(tmp_path):
    """A name too long stands for what only others may read, for tests may run as root."""
    shown = deniable.disclosure(tmp_path / ("n" * 300))
    assert (shown.reports, shown.problem) == ((), disclosure.UNREADABLE)


def test_a_client_without_consent_has_said_nothing(make_client, directory):
    client = make_client(consent=False)
    client.record("theme", "dark")
    shown = client.disclosure()
    assert (shown.reports, shown.problem) == ((), disclosure.NO_DIRECTORY)
    assert not directory.exists()


@pytest.mark.parametrize("state", ["in use", "closed", "between two renamings"])
def test_looking_leaves_no_trace(used, directory, clock, state):
    if state != "in use":
        used.close()
    if state == "between two renamings":
        (directory / "journal").rename(directory / "journal.new")
    before = files_in(directory), sorted(path.name for path in directory.iterdir())
    assert len(deniable.disclosure(directory, clock=clock).reports) == 4
    assert (files_in(directory), sorted(path.name for path in directory.iterdir())) == before


def test_a_client_goes_on_while_others_look(make_client, directory, clock):
    client = make_client(clock=clock)
    record(client, "theme")
    stop = threading.Event()
    seen = []

    def look():
        while not stop.is_set():
            shown = deniable.disclosure(directory, clock=clock)
            seen.append((shown.problem, len(shown.reports)))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        clock.forward(days=1)
        record(client, "theme")
    stop.set()
    for thread in threads:
        thread.join()
    assert {problem for problem, _ in seen} == {None}
    counts = [count for _, count in seen]
    assert max(counts) <= 31
    assert client.status().pending == 31 == client.disclosure().pending


@pytest.mark.usefixtures("used")
def test_a_look_while_another_process_holds_the_lock_says_so(directory, monkeypatch):
    monkeypatch.setattr(read_only, "_LOCK_WAIT_SECONDS", 0.05)
    with (directory / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert deniable.disclosure(directory).problem == disclosure.IN_USE
    assert deniable.disclosure(directory).problem is None


@pytest.mark.parametrize("damage", [b"", b"rubbish" * 1_000, None])
def test_a_damaged_journal_is_said_to_be_and_what_can_be_read_is_shown(
    used, directory, clock, damage
):
    used.close()
    content = (directory / "journal").read_bytes()
    if damage is None:  # the records of today are missing, and were sent
        used._storage.seal()
        damage = content[:-200]
    (directory / "journal").write_bytes(damage)
    before = files_in(directory)
    shown = deniable.disclosure(directory, clock=clock)
    assert (shown.problem, shown.epsilon_lifetime) == (disclosure.DAMAGED, None)
    assert shown.problem[1:] in shown.sentence
    assert (len(shown.reports) > 0) == damage.startswith(b"deniable")
    assert files_in(directory) == before


@pytest.mark.parametrize("description", [None, "rubbish", "{}", "of another application"])
def test_reports_that_cannot_be_explained_are_still_counted(used, clock, description):
    spool = used._storage.spool
    for digest, text in spool.described.items():
        if description == "of another application":
            spool.described[digest] = text.replace("flightdeck", "another")
        else:
            spool.described[digest] = description or ""
    if description is None:
        spool.described.clear()
    shown = disclosure.in_memory(spool, used._storage.ledger, clock)
    assert (len(shown.reports), shown.pending) == (4, 2)
    lost = [said for said in shown.reports if said.sentence.startswith("Something that cannot")]
    assert len(lost) == 4
    assert all(said.likelihoods == () for said in lost)


def test_a_day_that_counts_as_spent_is_shown_as_what_a_day_allows(used, clock):
    """As after a clock that was ahead."""
    clock.forward(days=20_790 - clock.now // 86_400)
    days = ((20_790, 20_790),)
    used._storage.run_locked(
        lambda: used._storage.ledger.note_days(days, None, 20_790, 4_000_000_000)
    )
    shown = used.disclosure()
    assert (shown.epsilon_today, shown.limit_per_day) == (4.0, 4.0)
    assert shown.epsilon_lifetime == 4.0


def test_after_opting_out_nothing_is_left_but_what_was_spent(used):
    used.consent = False
    shown = used.disclosure()
    assert (shown.reports, shown.pending, shown.problem) == ((), 0, None)
    assert shown.epsilon_lifetime == 4.0
    assert shown.sentence == (
        "This device has sent no answers to the application in the last 30 days."
    )


@pytest.mark.service
def test_the_reports_of_a_killed_process_are_shown(registry, directory):
    script = (
        "import sys, time, deniable\n"
        "client = deniable.Client(sys.argv[1], endpoint='http://127.0.0.1:9', key='k',\n"
        "                         directory=sys.argv[2], consent=True)\n"
        "print(client.record('theme', 'dark'), flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, registry, directory], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"recorded\n"
        process.send_signal(signal.SIGKILL)
    names = sorted(path.name for path in directory.iterdir())
    shown = deniable.disclosure(directory)
    assert [(said.metric, said.pending) for said in shown.reports] == [("theme", True)]
    assert sorted(path.name for path in directory.iterdir()) == names


@pytest.mark.service
def test_the_import_of_the_client_does_not_pay_for_any_of_this():
    script = (
        "import sys, deniable\n"
        "deniable.Client\n"
        "print([name for name in sys.modules if name.startswith('deniable._disc')\n"
        "       or name == 'argparse'])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert loaded.stdout == "[]\n"


def test_thousands_of_reports_are_explained_in_seconds(spool_of_thousands):
    started = time.thread_time()
    shown = deniable.disclosure(spool_of_thousands)
    assert len(shown.reports) == 2_000
    assert time.thread_time() - started < 20


@pytest.fixture
def spool_of_thousands(make_client, directory):
    client = make_client()
    record(client, "theme", "emoji")
    client.close()
    storage = client._storage

    def multiply():
        storage.spool.sent = [each for each in storage.spool.reports() for _ in range(1_000)]
        for each in storage.spool.reports():
            storage.spool.delete_refused(each)
        storage._rewrite(storage.secret)

    storage.run_locked(multiply)
    return directory


GAUSSIAN = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 400
[metrics.seconds]
type = "number"
range = [0, 30]
epsilon = 1.0
delta = 1e-6
mechanism = "gaussian"
"""


def test_the_deltas_of_all_reports_are_added_up(make_client, clock, directory, capsys):
    """A year of them is 3.65e-4, though the reports of 30 days alone are shown."""
    client = make_client(registry=parse(GAUSSIAN), clock=clock)
    for _ in range(365):
        client.record("seconds", 3.5)
        clock.forward(days=1)
    shown, status = client.disclosure(), client.status()
    assert shown.delta_lifetime == status.delta_lifetime == pytest.approx(3.65e-4, rel=1e-3)
    assert "a delta of 0.00036 stands, these answers say more than that" in shown.sentence
    client.close()
    run(parser().parse_args(["--directory", str(directory)]))
    assert "delta     0.000365" in capsys.readouterr().out
