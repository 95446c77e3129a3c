"""Opting out where the directory is damaged, and who may refuse for the user."""

from __future__ import annotations

import os

import pytest

from deniable import Outcome
from deniable._storage import device, lock, records
from deniable._storage.directory import BusyError
from deniable.testing import RecordingClient
from deniable_shared.registry import parse
from tests.client.conftest import REGISTRY
from tests.client.lifecycle.test_mishaps import lived
from tests.client.programs import contents


@pytest.fixture(autouse=True)
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)


def lose_the_journal(directory):
    (directory / "journal").unlink()


def damage_the_journal(directory):
    (directory / "journal").write_bytes(os.urandom(5_000))


def damage_the_mark(directory):
    (directory / "established").write_bytes(b"rubbish")


def come_from_the_future(directory):
    header, start = records.read_header((directory / "journal").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "VERSION", 99)
        content = header.encode()
    (directory / "journal").write_bytes(content + (directory / "journal").read_bytes()[start:])


MISHAPS = [lose_the_journal, damage_the_journal, damage_the_mark, come_from_the_future]


def stored(directory):
    spool = contents(directory).spool
    return [spool.count(), len(spool.sent), len(spool.described)]


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
@pytest.mark.parametrize("act", ["opt out", "forget"])
def test_the_reports_of_a_device_that_cannot_be_trusted_are_erased_and_it_stays_silent(
    make_client, directory, clock, mishap, act
):
    mishap(directory)
    client = make_client(clock=clock)
    assert client.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE
    if act == "forget":
        assert client.forget() == 0
    else:
        client.consent = False
    assert not client._consent.deletion_owed
    assert {path.name for path in directory.iterdir()} == {"application", "established", "lock"}
    client.consent = True
    assert client.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE
    assert client.flush().sent == 0


def test_opting_out_does_not_make_an_old_journal_usable(make_client, clock, directory):
    lived(make_client, clock, directory, ["journal"])
    old = (directory / "journal").read_bytes()
    client = make_client(clock=clock)
    client.consent = False
    client.consent = True
    assert client.record("late", value=True) is Outcome.STORAGE_UNAVAILABLE
    (directory / "journal").write_bytes(old)
    assert client.record("late", value=True) is Outcome.STORAGE_UNAVAILABLE
    assert "old copy" in client.status().last_error


def test_opting_out_waits_for_whoever_uses_the_directory(make_client, directory, monkeypatch):
    """If the directory is in use, the reports are not deleted behind its back."""
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
