"""Exceptions from outside, of the kinds that an `except Exception` does not catch.

A signal handler of the host raises while the client is at work; a transport of the host's own is
cancelled.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import subprocess
import sys

import pytest

from deniable import Outcome
from deniable._platform import locks
from deniable._storage import contents, journal
from tests.client.transports import Accepting

TRY_THE_LOCK = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
"""


class Interruption(BaseException):
    """A BaseException, as KeyboardInterrupt is."""


@pytest.fixture
def client(make_client, clock):
    return make_client(transport=Accepting(), clock=clock)


def raising_once(function, when=lambda *_: True):
    """A function that does the same, but raises an interruption before its first return."""
    due = [True]

    def raising(*arguments, **named):
        result = function(*arguments, **named)
        if due[0] and when(*arguments):
            due[0] = False
            raise Interruption
        return result

    return raising


def assert_the_lock_is_free(directory):
    """Another process can record; it could not as long as this one held the lock."""
    subprocess.run([sys.executable, "-c", TRY_THE_LOCK, directory / "lock"], check=True)


@pytest.mark.service
@pytest.mark.parametrize("operation", [fcntl.LOCK_UN, fcntl.LOCK_EX | fcntl.LOCK_NB])
def test_an_interruption_around_the_lock_leaves_it_free(
    client, clock, directory, monkeypatch, operation
):
    client.record("theme", "dark")
    clock.forward(days=1)
    locking = raising_once(fcntl.flock, lambda _, what: what == operation)
    monkeypatch.setattr(locks, "change_lock", locking)
    with pytest.raises(Interruption):
        client.record("theme", "dark")
    assert_the_lock_is_free(directory)
    clock.forward(days=1)
    assert client.record("theme", "dark") is Outcome.RECORDED


@pytest.mark.service
def test_an_interruption_while_the_journal_is_read_leaves_the_lock_free(
    client, clock, directory, monkeypatch
):
    client.record("theme", "dark")
    client._storage._last = b""
    clock.forward(days=1)
    monkeypatch.setattr(contents, "Ledger", raising_once(contents.Ledger))
    with pytest.raises(Interruption):
        client.record("theme", "dark")
    assert_the_lock_is_free(directory)
    assert client.record("theme", "dark") is Outcome.RECORDED
    gc.collect()  # so that it warns here


def test_a_descriptor_is_never_closed_twice(client, clock, monkeypatch):
    """When it is closed a second time, the descriptor may be that of a socket of the host."""
    opened, closed = [], []
    real_open, real_close = os.open, os.close

    def opening(*arguments):
        opened.append(real_open(*arguments))
        return opened[-1]

    def closing(file):
        closed.append(file)
        real_close(file)

    client.record("theme", "dark")
    for number in range(2):
        clock.forward(days=1)
        with monkeypatch.context() as patch:
            opened.clear()
            closed.clear()
            patch.setattr(os, "open", opening)
            calls = iter(range(2))
            patch.setattr(
                journal.os,
                "close",
                raising_once(closing, lambda _, n=number: next(calls) == n),  # noqa: B023
            )
            with pytest.raises(Interruption):
                client.record("theme", "dark")
        assert sorted(closed) == sorted(opened)
        assert len(closed) == 2
    clock.forward(days=1)
    assert client.record("theme", "dark") is Outcome.RECORDED


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("error", [asyncio.CancelledError, SystemExit, Interruption])
def test_a_transport_that_is_cancelled_does_not_end_uploading(make_client, background, error):
    class Cancelled(Accepting):
        def send(self, body, timeout_seconds):
            response = super().send(body, timeout_seconds)
            if len(self.bodies) == 1:
                raise error
            return response

    transport = Cancelled()
    client = make_client(transport=transport, background=background)
    client.record("theme", "dark")
    assert client.flush(timeout_seconds=60.0).pending == 1
    last_error = client.status().last_error
    assert last_error.startswith(f"unreachable: The transport raised {error.__name__}.")
    assert client.flush(timeout_seconds=60.0).sent == 1
