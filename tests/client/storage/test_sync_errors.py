"""The disk refuses to sync, once: nothing leaves that may be on no disk."""

from __future__ import annotations

import errno
import os

import pytest

from deniable import Outcome
from deniable._platform import files
from deniable._storage import device
from tests.client.programs import contents
from tests.client.transports import Accepting


@pytest.fixture(autouse=True)
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)


class Failing:
    """Fails once, at the sync of a certain number; after that the system takes all for written."""

    def __init__(self, number):
        self.number, self.sync = number, files.sync

    def __call__(self, file):
        self.number -= 1
        if self.number == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.sync(file)


@pytest.mark.parametrize("number", range(1, 4))
@pytest.mark.parametrize("another_process", [False, True])
def test_after_an_error_the_journal_is_written_anew_before_anything_leaves(
    make_client, clock, directory, monkeypatch, number, another_process
):
    transport = Accepting()
    client = make_client(clock=clock, transport=transport)
    client.record("theme", "dark")
    client.flush()
    clock.forward(days=1)
    client.record("theme", "dark")
    before = contents(directory).header
    with monkeypatch.context() as patch:
        patch.setattr(files, "sync", Failing(number))
        result = client.flush()
    assert (result.sent, result.pending) == (0, 1)
    assert "Input/output error: look whether this disk is broken" in result.problem
    assert len(transport.bodies) == 1
    if another_process:
        client = make_client(clock=clock, transport=transport, another_process=True)
    written = []
    send = transport.send

    def watched(body, timeout_seconds):
        written.append(contents(directory).header)
        return send(body, timeout_seconds)

    transport.send = watched
    assert client.flush().sent == 1
    assert written[0].generation > before.generation
    assert written[0].nonce != before.nonce
    assert written[0].sealed > 0


def test_while_every_sync_fails_nothing_leaves_and_recording_goes_on(
    make_client, clock, monkeypatch
):
    transport = Accepting()
    client = make_client(clock=clock, transport=transport)

    def refuse(_file):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync", refuse)
        for _ in range(3):
            clock.forward(days=1)
            assert client.record("theme", "dark") is Outcome.RECORDED
            assert client.flush().sent == 0
    assert transport.bodies == []
    assert client.flush().sent == 3
