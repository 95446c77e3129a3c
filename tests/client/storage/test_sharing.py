"""Several users of one directory: who sends a report, and who closes the files."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys

import pytest

from deniable import FlushResult
from deniable._event_log import EventLog
from deniable._storage.device import DeviceStorage
from deniable._storage.ledger import Ledger
from deniable._upload import delivery
from tests.client.conftest import NOON, pending_reports
from tests.client.flushing import counts


@pytest.fixture
def neighbour():
    """Another process, which runs until the end of the test."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def claimed(make_client, collector, clock, neighbour):
    """A client whose only report another process is sending."""
    client = make_client(endpoint=collector.endpoint, clock=clock)
    client.record("theme", "dark")
    claim = "UPDATE report SET due = ?, claimant = ?"
    client._storage.run_locked(
        lambda: client._storage.spool._connection.execute(claim, (NOON + 10.0, neighbour.pid))
    )
    return client


@pytest.mark.service
def test_a_flush_leaves_alone_what_another_process_is_sending(claimed, collector):
    assert counts(claimed.flush()) == (0, 1, 0)
    assert collector.bodies == []


@pytest.mark.service
def test_a_flush_takes_what_a_killed_process_was_sending(claimed, neighbour, collector):
    neighbour.kill()
    neighbour.wait()
    assert claimed.flush() == FlushResult(sent=1, pending=0, dropped=0)
    assert len(collector.bodies) == 1


@pytest.mark.service
def test_no_claim_outlives_its_time(claimed, clock):
    clock.now += 10.0
    assert claimed.flush() == FlushResult(sent=1, pending=0, dropped=0)


@pytest.mark.service
def test_no_claim_lasts_longer_because_a_clock_was_ahead(claimed, clock):
    clock.now -= delivery.CLAIM_SECONDS
    assert claimed.flush() == FlushResult(sent=1, pending=0, dropped=0)


def test_a_report_that_could_not_be_sent_is_no_longer_claimed(make_client, collector):
    collector.answer = lambda _body: (503, {"Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    client.flush()
    (report,) = pending_reports(client)
    assert (report.tries, report.claimant) == (1, 0)


@pytest.fixture
def device(directory):
    used = DeviceStorage(directory, EventLog(), "flightdeck")
    used.run_locked(lambda: None)
    return used


def test_files_are_closed_under_the_lock_of_the_directory(device, directory, monkeypatch):
    other = os.open(directory / "lock", os.O_RDWR)
    held = []
    close = Ledger.close

    def watched(ledger):
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.append(False)
        except BlockingIOError:
            held.append(True)
        close(ledger)

    monkeypatch.setattr(Ledger, "close", watched)
    device.close()
    device.run_locked(lambda: None)
    device.before_fork()
    device.after_fork_in_parent()
    os.close(other)
    assert held == [True, True]


def test_closing_ends_even_if_another_process_keeps_the_lock(device, directory):
    other = os.open(directory / "lock", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    device.close()
    os.close(other)
    device.run_locked(lambda: None)


def test_a_fork_does_not_wait_for_the_log_to_be_copied(device, directory):
    row = (b"i" * 16, b"d" * 32, 20_800, b"noise", 0, 0.0, "{}")
    device.run_locked(lambda: device.spool.add(*row, memoized=False))
    device.before_fork()
    device.after_fork_in_parent()
    files = ("ledger.sqlite", "spool.sqlite")
    assert all((directory / f"{file}-wal").stat().st_size for file in files)
    spool = sqlite3.connect(directory / "spool.sqlite")
    assert spool.execute("SELECT count(*) FROM report").fetchone() == (1,)
    spool.close()
