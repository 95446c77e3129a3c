from __future__ import annotations

import os
import threading

import pytest

from deniable import FlushResult, _database, _device


@pytest.fixture
def used(make_client, directory, clock):
    """A directory with one report in it, nobody using it."""
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "recorded"
    client.close()
    return directory


def test_a_path_that_cannot_be_a_directory_never_raises(make_client, tmp_path):
    (tmp_path / "file").touch()
    client = make_client(directory=tmp_path / "file" / "device")
    assert client.record("theme", "dark") == "storage_unavailable"
    assert client.flush() == FlushResult(sent=0, pending=0, dropped=0)
    status = client.status()
    assert status.outcomes == {"storage_unavailable": 1}
    assert status.last_error.startswith("storage_unavailable: FileExistsError")


def test_a_missing_ledger_fails_closed(make_client, used):
    (used / "ledger.sqlite").unlink()
    client = make_client()
    assert client.record("late", value=True) == "storage_unavailable"
    status = client.status()
    assert "ledger is missing" in status.last_error
    assert (status.epsilon_left_today, status.epsilon_left_lifetime) == (0.0, 0.0)
    assert not (used / "ledger.sqlite").exists()


@pytest.mark.parametrize("size", [0, 100, 5_000])
def test_a_damaged_ledger_fails_closed(make_client, used, size):
    (used / "ledger.sqlite").write_bytes(os.urandom(size))
    client = make_client()
    for _ in range(2):
        assert client.record("late", value=True) == "storage_unavailable"
    assert (used / "ledger.sqlite").stat().st_size == size


def test_spent_budget_without_the_secret_fails_closed(make_client, used):
    (used / "secret").unlink()
    client = make_client()
    assert client.record("late", value=True) == "storage_unavailable"
    assert not (used / "secret").exists()


def test_a_damaged_secret_fails_closed(make_client, used):
    (used / "secret").write_bytes(b"short")
    assert make_client().record("late", value=True) == "storage_unavailable"


def test_a_ledger_that_comes_back_is_used_again(make_client, used, clock, monkeypatch):
    monkeypatch.setattr(_device, "REOPEN_SECONDS", 0.0)
    (used / "ledger.sqlite").rename(used / "ledger.sqlite.away")
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "storage_unavailable"
    (used / "ledger.sqlite.away").rename(used / "ledger.sqlite")
    assert client.record("theme", "dark") == "already_reported"


def test_a_damaged_spool_is_set_aside_and_recording_goes_on(make_client, used, clock):
    (used / "spool.sqlite").write_bytes(b"rubbish" * 1_000)
    client = make_client(clock=clock)
    assert client.record("late", value=True) == "recorded"
    status = client.status()
    assert status.pending == 1
    assert status.dropped == {"spool_corrupt": 1}
    assert (used / "spool.sqlite.corrupt").exists()


def test_a_report_whose_debit_was_lost_is_never_sent(make_client, used, clock, collector):
    # After a power failure the spool may be newer on disk than the ledger.
    before = (used / "ledger.sqlite").read_bytes()
    client = make_client(clock=clock)
    assert client.record("late", value=True) == "recorded"
    client.close()
    (used / "ledger.sqlite").write_bytes(before)
    client = make_client(clock=clock, endpoint=collector.endpoint)
    assert client.status().dropped == {"debit_lost": 1}
    assert client.record("late", value=True) == "recorded"
    assert client.flush().sent == len(collector.bodies) == 2


def test_a_relative_directory_stays_where_it_was(make_client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    client = make_client(directory="here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert client.record("theme", "dark") == "recorded"
    assert (tmp_path / "here" / "secret").exists()


@pytest.mark.parametrize("name", ["a b?c#d%20e", "Ünï", "\udcff"])
def test_any_name_will_do_for_the_directory(make_client, tmp_path, name):
    client = make_client(directory=tmp_path / name)
    assert client.record("theme", "dark") == "recorded"
    client.close()
    assert (tmp_path / name / "spool.sqlite").exists()


def test_a_first_start_that_was_interrupted_is_finished(make_client, directory):
    directory.mkdir(mode=0o700)
    _database.create(directory / "ledger.sqlite")
    (directory / "secret.new").write_bytes(b"half")
    assert make_client().record("theme", "dark") == "recorded"
    assert len((directory / "secret").read_bytes()) == 32


def test_the_secret_stays_the_same(make_client, used):
    before = (used / "secret").read_bytes()
    make_client().record("late", value=True)
    assert (used / "secret").read_bytes() == before


def test_closing_does_not_wait_for_a_thread_that_is_stuck_in_the_storage(make_client):
    client = make_client()
    client.record("theme", "dark")
    stuck, done = threading.Event(), threading.Event()

    def sit_in_the_storage():
        with client._device:
            stuck.set()
            done.wait(30)

    thread = threading.Thread(target=sit_in_the_storage)
    thread.start()
    stuck.wait()
    client.close()
    assert client.record("late", value=True) == "closed"
    done.set()
    thread.join()
