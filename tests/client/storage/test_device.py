from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from deniable._storage import device, sqlite
from tests.client.flushing import counts


@pytest.fixture
def used(make_client, directory, clock):
    """The directory of an established device with one report; nobody uses it."""
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "recorded"
    client._storage.sync_ledger()
    client.close()
    return directory


def test_a_path_that_cannot_be_a_directory_never_raises(make_client, tmp_path):
    (tmp_path / "file").touch()
    client = make_client(directory=tmp_path / "file" / "device")
    assert client.record("theme", "dark") == "storage_unavailable"
    status, flushed = client.status(), client.flush()
    assert counts(flushed) == (0, 0, 0)
    assert status.outcomes == {"storage_unavailable": 1}
    assert status.last_error.startswith("storage_unavailable: FileExistsError")
    assert status.last_error.endswith("let the directory be one that this user can write to")
    assert flushed.problem == status.last_error


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


def test_a_secret_is_32_fresh_bytes_of_the_system_also_after_opting_out(
    make_client, directory, clock, monkeypatch
):
    system, drawn = os.urandom, []

    def remembered(count):
        drawn.append(system(count))
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", remembered)
    client = make_client(clock=clock)
    client.record("theme", "dark")
    first = (directory / "secret").read_bytes()
    assert drawn.count(first) == 1
    before = len(drawn)
    client.consent = False
    client.close()
    second = (directory / "secret").read_bytes()
    assert (len(first), len(second)) == (32, 32)
    assert drawn[before:].count(second) == 1


def test_a_damaged_secret_fails_closed(make_client, used):
    (used / "secret").write_bytes(b"short")
    assert make_client().record("late", value=True) == "storage_unavailable"


def test_a_ledger_that_comes_back_is_used_again(make_client, used, clock, monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)
    (used / "ledger.sqlite").rename(used / "ledger.sqlite.away")
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "storage_unavailable"
    (used / "ledger.sqlite.away").rename(used / "ledger.sqlite")
    assert client.record("theme", "dark") == "already_reported"


def test_a_damaged_spool_is_replaced_and_recording_goes_on(make_client, used, clock):
    (used / "spool.sqlite").write_bytes(b"rubbish" * 1_000)
    client = make_client(clock=clock)
    assert client.record("late", value=True) == "recorded"
    status = client.status()
    assert status.pending == 1
    assert status.dropped == {"spool_corrupt": 1}
    client.close()
    # No copy stays: it could hold memoised reports, whose values the secret beside it tells.
    assert not any(b"rubbish" in path.read_bytes() for path in used.iterdir())


def test_a_report_whose_debit_was_lost_is_never_sent(make_client, used, clock, collector):
    # After a power failure the spool on the disk may be newer than the ledger.
    before = (used / "ledger.sqlite").read_bytes()
    client = make_client(clock=clock)
    assert client.record("late", value=True) == "recorded"
    client.close()
    (used / "ledger.sqlite").write_bytes(before)
    client = make_client(clock=clock, endpoint=collector.endpoint)
    assert client.status().dropped == {"debit_lost": 1}
    assert client.record("late", value=True) == "recorded"
    assert client.flush().sent == len(collector.bodies) == 2


def test_an_old_copy_of_the_ledger_fails_closed(make_client, used, clock, collector):
    old = (used / "ledger.sqlite").read_bytes()
    client = make_client(endpoint=collector.endpoint, clock=clock)
    client.record("late", value=True)
    assert client.flush().sent == 2
    client.close()
    (used / "ledger.sqlite").write_bytes(old)
    client = make_client(clock=clock)
    assert client.record("late", value=True) == "storage_unavailable"
    assert "old copy" in client.status().last_error


def test_a_relative_directory_stays_where_it_was(make_client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    client = make_client(directory="here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert client.record("theme", "dark") == "recorded"
    assert (tmp_path / "here" / "secret").exists()


@pytest.mark.parametrize("name", ["a b?c#d%20e", "Ünï", "\udcff"])
def test_the_directory_may_have_any_name(make_client, tmp_path, name):
    client = make_client(directory=tmp_path / name)
    assert client.record("theme", "dark") == "recorded"
    client.close()
    assert (tmp_path / name / "spool.sqlite").exists()


def test_the_next_start_completes_a_first_start_that_was_interrupted(make_client, directory):
    directory.mkdir(mode=0o700)
    sqlite.create_file(directory / "ledger.sqlite")
    (directory / "secret.new").write_bytes(b"half")
    assert make_client().record("theme", "dark") == "recorded"
    assert len((directory / "secret").read_bytes()) == 32


@pytest.fixture
def draft(make_client, directory, clock):
    """The directory of a device that has recorded and never uploaded; nobody uses it."""
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "recorded"
    client.close()
    return directory


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ledger.sqlite", None),
        ("ledger.sqlite", b""),
        ("ledger.sqlite", bytes(4_096)),
        ("secret", None),
        ("secret", b""),
        ("secret", bytes(32)),  # as a file whose size reached the disk before its bytes
    ],
)
def test_a_device_that_never_sent_anything_begins_anew_if_a_file_is_torn(
    make_client, draft, clock, name, content
):
    before = (draft / "secret").read_bytes()
    (draft / name).unlink()
    if content is not None:
        (draft / name).write_bytes(content)
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "recorded"
    status = client.status()
    assert (status.pending, status.dropped) == (1, {"debit_lost": 1})
    assert status.epsilon_left_lifetime == pytest.approx(39.0, abs=1e-6)
    assert (draft / "secret").read_bytes() not in {before, content}


def test_a_device_that_never_sent_anything_is_kept_as_it_is(make_client, draft, clock):
    before = (draft / "secret").read_bytes()
    client = make_client(clock=clock)
    assert client.record("theme", "dark") == "already_reported"
    client.consent = False
    client.consent = True
    assert client.record("theme", "dark") == "already_reported"
    assert (draft / "secret").read_bytes() != before


def test_somebody_who_reads_the_ledger_delays_the_first_upload_and_no_recording(
    make_client, draft, clock, collector, monkeypatch
):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.0)
    client = make_client(clock=clock, endpoint=collector.endpoint)
    assert client.record("late", value=True) == "recorded"
    with closing(sqlite3.connect(draft / "ledger.sqlite")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM entry").fetchall()
        assert counts(client.flush()) == (0, 2, 0)
        assert client.record("emoji", "x") == "recorded"
    assert counts(client.flush()) == (3, 0, 0)


def test_a_draft_whose_spool_knows_of_uploads_fails_closed(make_client, used, clock, collector):
    with make_client(clock=clock, endpoint=collector.endpoint) as client:
        assert client.flush().sent == 1
    for name in ("established", "ledger.sqlite"):
        (used / name).unlink()
    assert make_client(clock=clock).record("theme", "dark") == "storage_unavailable"


def test_the_secret_stays_the_same(make_client, used):
    before = (used / "secret").read_bytes()
    make_client().record("late", value=True)
    assert (used / "secret").read_bytes() == before


def test_closing_does_not_wait_for_a_thread_that_is_stuck_in_the_storage(make_client):
    client = make_client()
    client.record("theme", "dark")
    stuck, done = threading.Event(), threading.Event()

    def sit_in_the_storage():
        stuck.set()
        done.wait(30)

    thread = threading.Thread(target=client._storage.run_locked, args=(sit_in_the_storage,))
    thread.start()
    stuck.wait()
    client.close()
    assert client.record("late", value=True) == "closed"
    done.set()
    thread.join()


def elsewhere(path, statement):
    """Executes a statement on a database in another process, which then ends."""
    code = (
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), statement],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.mark.service
def test_two_clients_of_a_process_lose_nothing_when_another_process_leaves(make_client, directory):
    one, two = make_client(), make_client(another_process=True)
    assert one.record("theme", "dark") == "recorded"
    assert two.record("late", value=True) == "recorded"
    assert elsewhere(directory / "spool.sqlite", "SELECT count(*) FROM report") == "(2,)"
    assert one.record("emoji", "x") == "recorded"
    assert elsewhere(directory / "spool.sqlite", "SELECT count(*) FROM report") == "(3,)"


def test_every_client_starts_anew_after_its_directory_was_deleted(make_client, used):
    one, two = make_client(), make_client(another_process=True)
    assert one.record("late", value=True) == "recorded"
    shutil.rmtree(used)
    assert one.record("emoji", "x") == "recorded"
    assert two.record("emoji", "x") == "already_reported"
    assert two.status().pending == 1


def test_a_ledger_that_is_deleted_under_a_running_client_fails_closed(make_client, used):
    client = make_client()
    assert client.record("late", value=True) == "recorded"
    (used / "ledger.sqlite").unlink()
    assert client.record("emoji", "x") == "storage_unavailable"
    assert "ledger is missing" in client.status().last_error


def test_a_ledger_that_is_replaced_long_after_it_was_opened_is_noticed(make_client, used):
    client = make_client()
    yesterday = time.time() - 86_400
    os.utime(used, (yesterday, yesterday))  # as if nothing had changed in the directory since
    assert client.record("late", value=True) == "recorded"
    assert client.record("emoji", "x") == "recorded"
    (used / "ledger.sqlite").unlink()
    assert client.record("city", "Bergen") == "storage_unavailable"


def test_all_clients_leave_a_spool_that_another_process_replaced(make_client, used):
    one, two = make_client(), make_client(another_process=True)
    assert one.record("late", value=True) == "recorded"
    for name in ("spool.sqlite", "spool.sqlite-wal", "spool.sqlite-shm"):
        (used / name).unlink()
    assert two.record("emoji", "x") == "recorded"
    assert one.record("city", "Bergen") == "recorded"
    assert one.status().pending == two.status().pending == 2
