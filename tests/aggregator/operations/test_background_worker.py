"""Reports that wait for a fold do not wait for a night's maintenance, nor for another look."""

from __future__ import annotations

import contextlib
import threading

import pytest

from deniable_aggregator.answering import maintenance
from deniable_aggregator.answering.maintenance import BackgroundWorker
from deniable_aggregator.keeping.store import StoreUnavailableError

STEPS = 50


class Inbox:
    """An inbox into which reports come while maintenance works."""

    def __init__(self):
        self.waits = False
        self.turns = 1
        self.looks = 0
        self.looks_before_folds = []
        self.folds = threading.Semaphore(0)
        self.failures = 0

    def lag_seconds(self):
        return 0.0

    def is_worth_it(self):
        self.looks += 1
        return self.waits

    def fold(self, *, seconds, rest):
        assert seconds > 0
        self.looks_before_folds.append(self.looks)
        self.turns -= 1
        self.waits = self.turns > 0
        stopped = rest(0.0)
        self.folds.release()
        return self.waits and not stopped


class LongWork:
    """Maintenance that asks between its steps whether to leave the rest."""

    def __init__(self, inbox):
        self.inbox = inbox
        self.steps = []

    def run(self, stopped, leaves):
        self.steps.append(0)
        while self.steps[-1] < STEPS and not (stopped() or leaves()):
            self.steps[-1] += 1
            self.inbox.waits = self.steps[-1] > 2


@pytest.fixture
def inbox():
    return Inbox()


@pytest.fixture
def work(inbox):
    return LongWork(inbox)


def folded(inbox, work):
    with contextlib.closing(BackgroundWorker(inbox, work, look_seconds=0.001)):
        assert inbox.folds.acquire(timeout=30)
        assert inbox.folds.acquire(timeout=30)
    return work.steps[0]


def test_long_maintenance_lets_waiting_reports_go_first(inbox, work, monkeypatch):
    monkeypatch.setattr(maintenance, "MAINTENANCE_SECONDS", 0.0)
    assert folded(inbox, work) == 3


def test_short_maintenance_ends_whatever_waits(inbox, work):
    assert folded(inbox, work) == STEPS


def test_maintenance_ends_where_the_store_does_not_tell_what_waits(inbox, work, monkeypatch):
    def failing():
        raise StoreUnavailableError("it hangs")

    monkeypatch.setattr(maintenance, "MAINTENANCE_SECONDS", 0.0)
    done = threading.Event()
    monkeypatch.setattr(inbox, "is_worth_it", failing)
    run = work.run
    monkeypatch.setattr(work, "run", lambda *asked: (run(*asked), done.set()))
    with contextlib.closing(BackgroundWorker(inbox, work, look_seconds=0.001)):
        assert done.wait(30)
    assert work.steps[0] == 0


def test_a_backlog_is_folded_without_another_look_while_maintenance_goes_on(inbox, work):
    inbox.waits, inbox.turns = True, 3
    work.run = lambda *_: work.steps.append(0)
    with contextlib.closing(BackgroundWorker(inbox, work, look_seconds=0.001)):
        for _ in range(3):
            assert inbox.folds.acquire(timeout=30)
    assert inbox.looks_before_folds == [1, 1, 1]
    assert len(work.steps) >= 2


def test_a_server_ends_without_waiting_for_a_backlog(inbox, work):
    ended = threading.Event()

    def fold(*, seconds, rest):
        inbox.folds.release()
        while not rest(seconds):  # each time for so many times longer than a test takes
            pass
        ended.set()
        return True

    inbox.waits, inbox.fold = True, fold
    with contextlib.closing(BackgroundWorker(inbox, work, look_seconds=0.001)):
        assert inbox.folds.acquire(timeout=30)
    assert ended.is_set()


def test_maintenance_rests_between_its_steps(inbox, work, monkeypatch):
    rests = []
    monkeypatch.setattr(maintenance, "rest_seconds", lambda worked, _: rests.append(worked) or 0.0)
    folded(inbox, work)
    assert len(rests) >= STEPS
    assert min(rests) >= 0
