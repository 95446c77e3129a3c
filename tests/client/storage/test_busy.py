"""Another process sits on the directory's lock: nobody waits longer than was promised."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time

import pytest

from deniable import Outcome, _lifecycle
from deniable._storage import device
from deniable._upload import uploader
from deniable._upload.uploader import _COUNT_SECONDS
from tests.client.flushing import counts
from tests.client.programs import secret_of

pytestmark = pytest.mark.service

SOON_SECONDS = 30.0
"""Far more than the fractions of a second that are waited for, and half of `PATIENCE_SECONDS`,
which who waits for the lock waits for."""

SIT = """
import fcntl, os, sys
for path in sys.argv[1:]:
    fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX)
print("sitting", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(*directories):
    """Another process holds the locks of these directories."""
    paths = [str(directory / "lock") for directory in directories]
    with subprocess.Popen(
        [sys.executable, "-c", SIT, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"sitting\n"
        try:
            yield
        finally:
            process.stdin.close()
            process.wait()


@pytest.fixture(autouse=True)
def _as_it_is(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    monkeypatch.setattr(uploader, "_COUNT_SECONDS", _COUNT_SECONDS)


def test_a_flush_ends_in_time_and_does_not_say_what_it_could_not_count(
    make_client, directory, monkeypatch
):
    """Another process has the lock: the flush does not wait for it, and returns None, not 0."""
    client = make_client()
    client.record("theme", "dark")
    with held(directory):
        before = time.monotonic()
        result = client.flush(timeout_seconds=0.1)
        assert time.monotonic() - before < SOON_SECONDS
        assert counts(result) == (0, None, 0)
        with monkeypatch.context() as patch:
            patch.setattr(device, "_LOCK_WAIT_SECONDS", 0.1)
            assert client.status().pending is None
    assert client.status().pending == 1


def test_without_consent_a_flush_does_not_wait_for_the_lock_either(make_client, directory):
    client = make_client()
    client.record("theme", "dark")
    other = make_client(consent=False)
    with held(directory):
        before = time.monotonic()
        assert other.flush(timeout_seconds=0.1).pending is None
        assert time.monotonic() - before < SOON_SECONDS
    assert other.flush(timeout_seconds=0.1).pending == 1


def test_a_short_wait_that_times_out_does_not_suspend_the_storage(
    make_client, directory, monkeypatch, clock
):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 60.0)
    client = make_client(clock=clock)
    client.record("theme", "dark")
    with held(directory):
        assert client._uploader.count_pending(0.0) is None
    assert client.record("late", value=True) is Outcome.RECORDED


def test_clients_that_owe_deletion_wait_for_their_locks_at_the_same_time(
    make_client, directory, monkeypatch
):
    """One after the other would take a second for each client."""
    monkeypatch.setattr(_lifecycle, "STORAGE_SECONDS", 1.5)
    places = [directory.parent / name for name in "abcdefgh"]
    clients = [make_client(directory=place) for place in places]
    for client in clients:
        client.record("theme", "dark")
    secrets = [secret_of(place) for place in places]
    with held(*places):
        for client in clients:
            client._consent.withdraw()
        before = time.monotonic()
        _lifecycle.close([client._engine for client in clients])
        assert time.monotonic() - before < 8 * 1.5
    assert [secret_of(place) for place in places] == secrets
    for client in clients:
        client.close()  # deletion that is owed can be done now
    assert not set(secrets) & {secret_of(place) for place in places}
