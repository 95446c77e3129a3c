"""What the user wants deleted is deleted, even after a failure, or stays owed until it is."""

from __future__ import annotations

import fcntl
import os

import pytest

from deniable import Outcome
from deniable._platform import files
from deniable._storage import device
from deniable._storage import lock as lock_module
from tests.client import programs
from tests.client.flushing import counts
from tests.client.programs import secret_of


@pytest.fixture
def reported(make_client, directory):
    """Two reports wait; nobody uses the directory."""
    with make_client() as client:
        for name, value in (("theme", "dark"), ("late", True)):
            assert client.record(name, value) is Outcome.RECORDED
    return directory


def stored(directory):
    return programs.stored(directory)[0]


@pytest.fixture
def shaken(make_client, reported, monkeypatch):
    """A client whose storage has just failed, and which would not try again for a minute."""
    client = make_client()
    assert stored(reported) == 2

    def refuse(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        assert client.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE
    assert client.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE
    return client


def test_opting_out_does_not_wait_until_storage_that_failed_is_opened_again(shaken, reported):
    shaken.consent = False
    assert stored(reported) == 0


def test_forgetting_does_not_wait_until_storage_that_failed_is_opened_again(shaken, reported):
    assert shaken.forget() == 2
    assert stored(reported) == 0


def test_closing_deletes_what_is_owed_even_right_after_a_failure(shaken, reported):
    shaken._consent.withdraw()
    shaken.close()
    assert stored(reported) == 0


def test_recording_does_not_wait_for_deletion_that_is_owed(make_client, reported, monkeypatch):
    client = make_client()
    lock = os.open(reported / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    client._consent.withdraw()
    monkeypatch.setattr(lock_module.time, "sleep", lambda _: pytest.fail("it waits"))
    assert client.record("emoji", "x") is Outcome.NO_CONSENT
    client._agreed = client._consent.grant()
    assert client.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE
    os.close(lock)
    assert client.record("emoji", "x") is Outcome.RECORDED
    assert stored(reported) == 1


@pytest.fixture
def refusing(make_client, reported, monkeypatch):
    """A client whose storage works again once the test undoes the patches."""
    assert stored(reported) == 2

    def refuse(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files, "sync", refuse)
    return make_client()


def test_forgetting_that_fails_stays_owed(refusing, reported, monkeypatch):
    assert refusing.forget() == 0
    assert refusing.record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE
    monkeypatch.undo()
    assert stored(reported) == 2
    refusing.close()
    assert stored(reported) == 0
    assert refusing.status().dropped == {"forgotten": 2}


def test_nothing_is_sent_while_forgetting_is_owed(refusing, monkeypatch):
    refusing.forget()
    monkeypatch.undo()
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    refusing._storage.allow_retry()
    assert counts(refusing.flush()) == (0, 0, 2)


@pytest.mark.parametrize("withdraw", [True, False])
def test_a_journal_that_cannot_be_believed_is_erased_and_no_copy_of_it_is_believed(
    make_client, reported, withdraw
):
    with make_client() as client:
        client.flush()
    copy = (reported / "journal").read_bytes()
    (reported / "journal").write_bytes(copy[:-1])
    client = make_client()
    if withdraw:
        client.consent = False
        client.consent = True
    else:
        assert client.forget() == 0
    assert not client._consent.deletion_owed
    assert {path.name for path in reported.iterdir()} == {"application", "established", "lock"}
    (reported / "journal").write_bytes(copy)
    assert make_client().record("emoji", "x") is Outcome.STORAGE_UNAVAILABLE


def test_nothing_is_deleted_from_a_directory_of_another_user(make_client, reported, monkeypatch):
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    secret = secret_of(reported)
    client = make_client()
    assert client.forget() == 0
    client.consent = False
    client.close()
    assert client._consent.deletion_owed
    assert stored(reported) == 2
    assert secret_of(reported) == secret
