"""Runs: each question is worked on once, by a process that may fail in any way."""

from __future__ import annotations

import contextlib
import itertools
import sys

import pytest

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering.discoveries import runs as runs_module
from deniable_aggregator.answering.discoveries.runs import DiscoveryRuns
from deniable_aggregator.keeping.store import NewDiscovery
from tests.waiting import wait_until

DAY = 20_000
FINDS = 'print(\'{"type":"Finished","result":{"found":1}}\')'
LISTS = b'{"hints":[],"deny":[]}'
HANGS = "import sys; sys.stdin.buffer.read()"

pytestmark = [pytest.mark.one_store, pytest.mark.service]


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        yield opened


@pytest.fixture
def running(store):
    """Makes servers whose runs are a small program."""
    with contextlib.ExitStack() as stack:

        def start(program: str, **settings: float) -> DiscoveryRuns:
            runs = DiscoveryRuns(
                store,
                Settings(**settings),
                clock=lambda: 0.0,
                command=(sys.executable, "-IS", "-c", program),
            )
            return stack.enter_context(contextlib.closing(runs))

        yield start


def ask(store: Store, name: str = "one") -> int:
    question = f'{{"query":{{}},"lists":"{name}"}}'
    new = NewDiscovery(name.encode(), "app", "query", DAY, DAY, DAY, question, LISTS)
    return store.discoveries.ask(new, 8).number


def ended(store: Store, number: int) -> tuple[str, str | None]:
    """The state of a question when it has ended, and why it failed."""

    wait_until(lambda: store.discoveries.find("app", "query", number).state in ("done", "failed"))
    found = store.discoveries.find("app", "query", number)
    return found.state, found.failure


def test_questions_are_worked_on_one_after_the_other(store, running):
    numbers = [ask(store, name) for name in "abc"]
    running(FINDS).wake()
    assert [ended(store, each) for each in numbers] == [("done", None)] * 3
    assert store.discoveries.result(numbers[0]) == b'{"found":1}'


def test_a_server_that_starts_goes_on_with_what_waits(store, running):
    """A page that shows how far a run is starts none."""
    running(FINDS).resume()
    number = ask(store)
    running(FINDS).resume()
    assert ended(store, number) == ("done", None)


def test_a_run_that_is_killed_has_failed_and_the_next_one_works(store, running):
    number = ask(store)
    killed = running("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    killed.wake()
    state, why = ended(store, number)
    killed.close()
    assert state == "failed"
    assert "was killed by signal 9" in why
    assert ask(store) == number
    running(FINDS).wake()
    assert ended(store, number) == ("done", None)


def test_a_run_says_why_it_has_failed(store, running):
    number = ask(store)
    running('print(\'{"type":"Failed","why":"no memory"}\')').wake()
    assert ended(store, number) == ("failed", "no memory")


def test_a_run_that_takes_too_long_is_ended(store, running):
    number = ask(store)
    running(HANGS, discovery_seconds=0.1).wake()
    state, why = ended(store, number)
    assert state == "failed"
    assert "longer than discovery_seconds, which is 0.1" in why


def test_a_run_ends_with_its_server_and_can_be_repeated(store, running):
    number = ask(store)
    runs = running(HANGS)
    runs.wake()
    wait_until(lambda: store.discoveries.beats())
    runs.close()
    assert ended(store, number) == ("failed", "The server that worked on it has ended. Ask again.")


def test_a_run_of_a_metric_that_is_not_registered_any_more_is_ended(store, running):
    number = ask(store)
    running(HANGS).wake()
    wait_until(lambda: store.discoveries.beats())
    store.tallies.delete_expired(DAY, keep=None, open_days=1)
    wait_until(lambda: store.discoveries.find("app", "query", number) is None)


def test_a_run_of_a_server_that_died_fails_once_it_is_silent(store, monkeypatch):
    monkeypatch.setattr(runs_module, "LOOK_SECONDS", 0.01)
    number = ask(store)
    store.discoveries.claim()
    seconds = itertools.count(step=30)
    other = DiscoveryRuns(store, Settings(), lambda: 0.0, monotonic=lambda: next(seconds))
    with contextlib.closing(other):
        other.wake()
        state, why = ended(store, number)
    assert (state, why) == ("failed", "The server that worked on it has ended. Ask again.")
