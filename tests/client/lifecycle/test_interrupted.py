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
from deniable._storage import files, lock
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
# What is interrupted before it has a name is closed by Python, which since 3.13 warns of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_while_the_files_are_opened_leaves_the_lock_free(
    client, clock, directory, monkeypatch
):
    client.record("theme", "dark")
    client._storage.close()
    clock.forward(days=1)
    monkeypatch.setattr(files, "Ledger", raising_once(files.Ledger))
    with pytest.raises(Interruption):
        client.record("theme", "dark")
    assert_the_lock_is_free(directory)
    assert client.record("theme", "dark") is Outcome.RECORDED
    gc.collect()  # so that it warns here


def test_a_descriptor_is_never_closed_twice(client, monkeypatch):
    """When it is closed a second time, the descriptor may be that of a socket of the host."""
    client.record("theme", "dark")
    lock_file, closed = client._storage._lock.file, []

    def closing(file, close=os.close):
        closed.append(file)
        close(file)

    monkeypatch.setattr(lock.os, "close", raising_once(closing, lambda file: file == lock_file))
    with pytest.raises(Interruption):
        client.close()
    client.close()
    assert closed.count(lock_file) == 1
    assert client.status().pending == 1


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
