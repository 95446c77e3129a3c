"""Opting out where the directory is damaged, and who may refuse for the user."""

from __future__ import annotations

import os
import sqlite3

import pytest

from deniable import Outcome
from deniable._storage import device, lock
from deniable._storage.directory import BusyError
from deniable.testing import RecordingClient
from deniable_shared.registry import parse
from tests.client.conftest import REGISTRY
from tests.client.lifecycle.test_mishaps import lived


@pytest.fixture(autouse=True)
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)


def lose_the_secret(directory):
    (directory / "secret").unlink()


def damage_the_secret(directory):
    (directory / "secret").write_bytes(b"short")


def lose_the_ledger(directory):
    (directory / "ledger.sqlite").unlink()


def damage_the_ledger(directory):
    (directory / "ledger.sqlite").write_bytes(os.urandom(5_000))


def come_from_the_future(directory):
    connection = sqlite3.connect(directory / "ledger.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()


MISHAPS = [
    lose_the_secret,
    damage_the_secret,
    lose_the_ledger,
    damage_the_ledger,
    come_from_the_future,
]


def content(directory, name):
    path = directory / name
    return path.read_bytes() if path.exists() else None


def stored(directory):
    connection = sqlite3.connect(directory / "spool.sqlite")
    try:
        tables = ("report", "sent", "spec")
        return [connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables]
    finally:
        connection.close()


@pytest.fixture
def reported(make_client, directory, collector, clock):
    """One report was sent and one waits; nobody uses the directory."""
    client = make_client(endpoint=collector.endpoint, clock=clock)
    client.record("theme", "dark")
    assert client.flush().sent == 1
    client.record("late", value=True)
    client.close()
    assert stored(directory) == [1, 1, 2]


@pytest.mark.usefixtures("reported")
@pytest.mark.parametrize("mishap", MISHAPS)
def test_opting_out_deletes_the_reports_of_a_device_that_cannot_be_trusted(
    make_client, directory, clock, mishap
):
    mishap(directory)
    secret, ledger = content(directory, "secret"), content(directory, "ledger.sqlite")
    client = make_client(clock=clock)
    assert client.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE
    client.consent = False
    assert stored(directory) == [0, 0, 0]
    assert client.status().dropped == {"consent_withdrawn": 1}
    assert content(directory, "ledger.sqlite") == ledger
    assert (content(directory, "secret") == secret) == (secret is None)
    assert not client._consent.deletion_owed


@pytest.mark.usefixtures("reported")
@pytest.mark.parametrize("mishap", MISHAPS)
def test_forgetting_deletes_the_reports_of_such_a_device_too(make_client, directory, clock, mishap):
    mishap(directory)
    before = [content(directory, name) for name in ("secret", "ledger.sqlite")]
    client = make_client(clock=clock)
    assert client.forget() == 1
    assert stored(directory) == [0, 0, 0]
    assert [content(directory, name) for name in ("secret", "ledger.sqlite")] == before
    assert client.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE


def test_opting_out_does_not_make_an_old_ledger_usable(make_client, clock, directory):
    """The spool notes what was uploaded, so it is emptied and not deleted."""
    lived(make_client, clock, directory, ["ledger"])
    client = make_client(clock=clock)
    client.consent = False
    client.consent = True
    assert client.record("late", value=True) is Outcome.STORAGE_UNAVAILABLE
    assert "old copy" in client.status().last_error


def test_opting_out_waits_for_whoever_uses_the_directory(make_client, directory, monkeypatch):
    """If the directory is in use, the reports are not deleted without secret and ledger."""
    client = make_client()
    client.record("theme", "dark")

    def busy(*_):
        raise BusyError("the storage is in use")

    monkeypatch.setattr(lock.DirectoryLock, "run_exclusively", busy)
    client.consent = False
    assert client._consent.deletion_owed
    monkeypatch.undo()
    client.close()
    assert stored(directory) == [0, 0, 0]


def test_the_environment_may_refuse_after_construction(make_client, monkeypatch, directory):
    """Some programs read their settings, or a .env file, late."""
    client = make_client(consent=False)
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client.consent = True
    assert client.consent is False
    assert client.status().do_not_track
    assert client.record("theme", "dark") is Outcome.DO_NOT_TRACK
    assert client.flush().problem.startswith("do_not_track: ")
    assert not directory.exists()
    monkeypatch.delenv("DO_NOT_TRACK")
    client.consent = True
    assert client.record("theme", "dark") is Outcome.RECORDED


def test_do_not_track_does_not_concern_a_recording_client(monkeypatch):
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client = RecordingClient(parse(REGISTRY), consent=False)
    client.consent = True
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert not client.status().do_not_track
