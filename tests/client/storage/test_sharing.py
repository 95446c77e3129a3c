"""Several users of one directory: who sends a report, and who closes the files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deniable import FlushResult
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
    spool = client._storage.spool

    def claim():
        (report,) = spool.reports()
        spool._change(report._replace(due=NOON + 10.0, claimant=neighbour.pid))

    client._storage.run_locked(claim)
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
