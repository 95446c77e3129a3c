"""Several users of one directory: who sends a report, and who closes the files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deniable import FlushResult
from deniable._platform import files
from deniable._storage import journal
from deniable._upload import delivery
from tests.client.conftest import NOON, REGISTRY, pending_reports
from tests.client.flushing import counts
from tests.client.transports import Accepting


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


LONG = "a_name_of_22_character"
THREE = "".join(
    f'[metrics.{name}]\ntype = "boolean"\nepsilon = 0.5\n' for name in ("first", LONG, "last")
)


def test_a_journal_that_has_the_same_bytes_in_the_same_place_is_not_taken_for_the_known_one(
    make_client, registry, directory, monkeypatch
):
    """Another process replaces it, and by chance a report ends where the known journal did."""
    registry.write_text(REGISTRY.partition("[metrics")[0] + THREE, encoding="utf-8")
    client, other = make_client(another_process=True), make_client(another_process=True)
    for name in ("first", LONG, "last"):
        client.record(name, value=True)
    known = (directory / "journal").read_bytes()
    keys = [b"0"] * 11  # of 3 debits, days, limits, 3 specs and 3 reports
    keys[1], keys[-1] = b"2", b"1"  # at the end are the latest report, and the second debit
    monkeypatch.setattr(journal, "_ORDER_BYTES", 7)
    drawn, ask = iter(keys), os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: next(drawn) if count == 7 else ask(count))
    other._storage.run_syncing(lambda: other._storage.erase_traces())
    found = (directory / "journal").read_bytes()
    assert found[len(known) - 32 : len(known)] == known[-32:]
    assert len(found) > len(known)
    assert client.status().pending == other.status().pending == 3
    assert (directory / "journal").read_bytes() == found


@pytest.mark.parametrize("missing", ["journal", "established."])
def test_an_upload_begins_although_another_process_replaces_or_tidies_files_at_that_moment(
    make_client, monkeypatch, missing
):
    transport = Accepting()
    client = make_client(transport=transport)
    client.record("theme", "dark")
    sync, failed = files.sync_file, []

    def sync_once_missing(path):
        if Path(path).name.startswith(missing) and not failed:
            failed.append(path)
            raise FileNotFoundError(path)
        sync(path)

    monkeypatch.setattr(files, "sync_file", sync_once_missing)
    assert client.flush() == FlushResult(sent=1, pending=0, dropped=0)
    assert failed
    assert client.status().last_error is None
