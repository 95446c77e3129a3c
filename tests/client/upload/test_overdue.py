"""Reports whose times came while nobody could send them do not leave together."""

from __future__ import annotations

import os

import pytest

from deniable import Response
from deniable._storage.stored_report import RESCHEDULED
from deniable._upload import delivery
from tests.client.conftest import DAY, pending_reports
from tests.waiting import wait_until

HOUR = 3_600
VALUES = {"theme": "dark", "late": True, "emoji": "x", "city": "Bergen"}


class Answering:
    """Answers with a status that a test sets, and keeps the bodies."""

    def __init__(self):
        self.status = 204
        self.bodies = []

    def send(self, body, timeout_seconds):
        assert timeout_seconds > 0
        self.bodies.append(body)
        return Response(self.status)

    def close(self):
        pass


@pytest.fixture
def transport(monkeypatch):
    monkeypatch.setattr(delivery, "FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(delivery, "MAX_BACKOFF_SECONDS", 0.05)
    return Answering()


@pytest.fixture
def begin(make_client, transport, clock):
    """Starts a program that uploads in the background; its clock stands still."""

    def begin(**options):
        options = {"background": True, "clock": clock, "transport": transport, **options}
        return make_client(endpoint=None, key=None, **options)

    return begin


@pytest.fixture
def off(begin, clock):
    """A device that was off when its reports were due."""
    with begin(background=False) as client:
        for name, value in VALUES.items():
            assert client.record(name, value) == "recorded"
    clock.forward(days=2)


def waits(client, clock):
    """In how many seconds each pending report is due."""
    return sorted(report.due - clock.now for report in pending_reports(client))


@pytest.mark.usefixtures("off")
def test_one_overdue_report_is_sent_and_the_others_get_another_time(begin, transport, clock):
    client = begin()
    wait_until(lambda: client.status().sent == 1)
    assert len(transport.bodies) == 1
    left = waits(client, clock)
    assert len(set(left)) == 3
    assert left[0] > 0
    assert left[-1] <= HOUR


@pytest.mark.usefixtures("off")
def test_overdue_reports_get_their_new_times_in_one_write(begin, clock, monkeypatch):
    client = begin(background=False)
    storage, writes, write = client._storage, [], os.write
    storage.seal()
    monkeypatch.setattr(os, "write", lambda file, data: writes.append(data) or write(file, data))
    storage.run_locked(client._uploader._rounds.next_due_report, clock.now, False)
    monkeypatch.undo()
    assert len(writes) == 1
    moved = [each for each in pending_reports(client) if each.claimant == RESCHEDULED]
    assert len(moved) == len(VALUES) - 1


@pytest.mark.usefixtures("off")
def test_another_process_does_not_send_rescheduled_reports_early(begin, transport, clock):
    with begin() as client:
        wait_until(lambda: client.status().sent == 1)
        left = waits(client, clock)
    with begin() as client:
        assert client._uploader._round(client._uploader._thread, flushing=False) > 0
        assert waits(client, clock) == left
    assert len(transport.bodies) == 1


@pytest.mark.usefixtures("off")
def test_a_new_time_does_not_change_the_bytes_of_a_report(begin, transport):
    with begin(background=False) as client:
        bodies = {report.encode_upload() for report in pending_reports(client)}
    with begin() as client:
        wait_until(lambda: client.status().sent == 1)
        assert {report.encode_upload() for report in pending_reports(client)} | set(
            transport.bodies
        ) == bodies


@pytest.mark.usefixtures("off")
def test_a_program_that_never_runs_for_long_sends_all_its_reports(begin, transport, clock):
    with begin() as client:
        wait_until(lambda: client.status().sent == 1)
    clock.forward(days=1)
    with begin() as client:
        wait_until(lambda: client.status().pending == 0)
    assert len(set(transport.bodies)) == len(VALUES)


@pytest.mark.usefixtures("off")
def test_a_late_report_is_sent_when_a_program_starts(begin, transport, clock):
    clock.forward(days=5)
    with begin() as client:
        wait_until(lambda: client.status().pending == 0)
    assert len(set(transport.bodies)) == len(VALUES)


@pytest.mark.usefixtures("off")
def test_overdue_reports_are_rescheduled_whenever_a_program_wakes_up(begin, transport, clock):
    client = begin()
    for sent in (1, 2, 3):
        wait_until(lambda sent=sent: client.status().sent == sent)
        assert len(transport.bodies) == sent
        assert waits(client, clock)[0] > 0
        clock.forward(days=1)
        client._uploader.wake(0.0)


@pytest.mark.usefixtures("off")
def test_reports_that_waited_for_the_server_are_not_sent_together(begin, transport, clock):
    transport.status = 503
    client = begin()
    wait_until(lambda: len(transport.bodies) == 1)
    transport.status = 204
    clock.forward(days=1)
    client._uploader.wake(0.0)
    wait_until(lambda: client.status().sent == 1)
    assert len(transport.bodies) == 2
    assert waits(client, clock)[0] > 0


@pytest.mark.usefixtures("off")
def test_a_new_time_is_within_a_shorter_upload_delay(begin, clock):
    client = begin(upload_delay_seconds=60)
    wait_until(lambda: client.status().sent == 1)
    assert waits(client, clock)[-1] <= 60


@pytest.mark.usefixtures("off")
def test_without_an_upload_delay_all_overdue_reports_are_sent(begin, transport):
    client = begin(upload_delay_seconds=0)
    wait_until(lambda: client.status().pending == 0)
    assert len(transport.bodies) == len(VALUES)


@pytest.mark.usefixtures("off")
def test_a_flush_sends_everything(begin):
    assert begin(background=False).flush().sent == len(VALUES)


def test_reports_of_a_clock_that_was_ahead_are_not_sent_together(begin, transport, clock):
    clock.forward(days=7_300)
    with begin(background=False) as client:
        for name, value in VALUES.items():
            assert client.record(name, value) == "recorded"
    clock.now -= 7_300 * DAY
    client = begin()
    wait_until(lambda: client.status().sent == 1)
    assert len(transport.bodies) == 1
    assert waits(client, clock)[-1] <= HOUR


def test_a_clock_that_is_ahead_for_a_moment_drops_no_report(begin, transport, clock):
    client = begin(background=False)
    assert client.record("theme", "dark") == "recorded"
    clock.forward(days=7_300)
    assert client.record("late", value=True) == "recorded"
    transport.status = 503
    assert client.flush().dropped == 0
    clock.now -= 7_300 * DAY
    transport.status = 204
    assert client.flush().sent == 1  # the other report is of a day in the future
    assert client.status().dropped == {}
