"""Without a thread in the background: job workers, serverless functions, asyncio."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from deniable import FlushResult, Outcome
from tests.client.flushing import counts
from tests.client.transports import Accepting
from tests.waiting import wait_until


@pytest.fixture
def uploaders():
    """The threads that upload now, except those of earlier tests that are still ending."""
    others = set(threading.enumerate())
    return lambda: [
        thread
        for thread in threading.enumerate()
        if thread.name == "deniable-uploader" and thread not in others
    ]


@pytest.fixture
def foreground(make_client):
    def make(**options):
        return make_client(background=False, upload_delay_seconds=0, **options)

    return make


def test_no_thread_ever_runs_outside_of_a_flush(foreground, uploaders):
    transport = Accepting()
    client = foreground(transport=transport)
    assert client.record("theme", "dark") is Outcome.RECORDED
    client.consent = True
    assert uploaders() == []
    assert transport.bodies == []
    assert client.flush() == FlushResult(sent=1, pending=0, dropped=0)
    wait_until(lambda: not uploaders())
    assert client.record("late", value=True) is Outcome.RECORDED
    assert uploaders() == []


def test_reports_of_an_earlier_process_wait_for_a_flush(foreground, clock, uploaders):
    foreground(clock=clock).record("theme", "dark")
    clock.forward(days=2)
    transport = Accepting()
    client = foreground(another_process=True, clock=clock, transport=transport)
    assert uploaders() == []
    assert client.flush().sent == 1


def test_a_flush_honours_its_timeout_and_its_thread_ends_with_the_exchange(
    foreground, collector, uploaders
):
    def hang(_body):
        collector.release.wait(60)
        return 204, {"Content-Length": "0"}

    collector.answer = hang
    client = foreground(endpoint=collector.endpoint)
    client.record("theme", "dark")
    assert counts(client.flush(timeout_seconds=0.2)) == (0, 1, 0)
    assert len(uploaders()) == 1
    collector.release.set()
    wait_until(lambda: not uploaders())
    assert client.status().sent == 1


class Unresolved(Accepting):
    """Ignores the timeout, as name resolution that hangs does."""

    def __init__(self):
        super().__init__()
        self.release = threading.Event()

    def send(self, body, timeout_seconds):
        self.release.wait(60)
        return super().send(body, timeout_seconds)


def test_a_flush_ends_in_time_even_if_the_transport_does_not(foreground):
    transport = Unresolved()
    client = foreground(transport=transport)
    client.record("theme", "dark")
    before = time.monotonic()
    assert counts(client.flush(timeout_seconds=0.2)) == (0, 1, 0)
    assert counts(client.flush(timeout_seconds=0.2)) == (0, 1, 0)
    client.close()
    assert time.monotonic() - before < 50  # half a second each; the transport would take sixty
    transport.release.set()


def test_a_flush_in_a_thread_of_asyncio_does_not_hold_up_the_loop(foreground):
    transport = Unresolved()
    client = foreground(transport=transport)

    async def serve():
        assert client.record("theme", "dark") is Outcome.RECORDED
        flush = asyncio.create_task(asyncio.to_thread(client.flush))
        for _ in range(100):  # other requests, while the flush hangs
            await asyncio.sleep(0)
        assert not flush.done()
        transport.release.set()
        return await flush

    assert asyncio.run(serve()) == FlushResult(sent=1, pending=0, dropped=0)
