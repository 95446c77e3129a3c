"""Reports that wait for a fold do not wait for a night's maintenance."""

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
        self.folds = threading.Semaphore(0)
        self.failures = 0

    def is_worth_it(self):
        return self.waits

    def fold(self, *, seconds):
        assert seconds > 0
        self.waits = False
        self.folds.release()


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
