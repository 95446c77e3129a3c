"""Another process sits on the directory's lock: nobody waits longer than was promised."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time

import pytest

from deniable import FlushResult, Outcome, _device, _lifecycle

SIT = """
import fcntl, os, sys
for path in sys.argv[1:]:
    fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX)
print("sitting", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(*directories):
    """The locks of directories are another process's."""
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
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(_device, "REOPEN_SECONDS", 0.0)


def test_a_flush_ends_in_time_and_does_not_say_what_it_could_not_count(make_client, directory):
    """Another process has the lock: the flush does not wait for it, and does not say zero."""
    client = make_client(background=False)
    client.record("theme", "dark")
    with held(directory):
        before = time.monotonic()
        result = client.flush(timeout_seconds=0.1)
        assert time.monotonic() - before < 0.8  # 0.15 but for other work of the machine
        assert result == FlushResult(sent=0, pending=None, dropped=0)
        assert client.status().pending is None
    assert client.status().pending == 1


def test_without_consent_a_flush_does_not_wait_for_the_lock_either(make_client, directory):
    client = make_client(background=False)
    client.record("theme", "dark")
    other = make_client(consent=False)
    with held(directory):
        before = time.monotonic()
        assert other.flush(timeout_seconds=0.1).pending is None
        assert time.monotonic() - before < 0.8
    assert other.flush(timeout_seconds=0.1).pending == 1


def test_a_short_wait_in_vain_does_not_put_the_storage_out_of_use(
    make_client, directory, monkeypatch, clock
):
    monkeypatch.setattr(_device, "REOPEN_SECONDS", 60.0)
    client = make_client(background=False, clock=clock)
    client.record("theme", "dark")
    with held(directory):
        assert client._uploader.pending(0.0) is None
    assert client.record("late", value=True) is Outcome.RECORDED


def test_clients_that_owe_a_wipe_close_within_a_second_altogether(make_client, directory):
    """They wait for locks together; each on its own would be a second for every client."""
    places = [directory.parent / name for name in "abcd"]
    clients = [make_client(directory=place, background=False) for place in places]
    for client in clients:
        client.record("theme", "dark")
    secrets = [(place / "secret").read_bytes() for place in places]
    with held(*places):
        for client in clients:
            client._consent.withdraw()
        before = time.monotonic()
        _lifecycle.close([client._engine for client in clients])
        assert time.monotonic() - before < 1.5  # 0.4 but for other work of the machine
    assert [(place / "secret").read_bytes() for place in places] == secrets
    for client in clients:
        client.close()  # what is owed is still done once it can be
    assert not set(secrets) & {(place / "secret").read_bytes() for place in places}
