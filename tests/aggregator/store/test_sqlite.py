from __future__ import annotations

import contextlib
import secrets
import sqlite3
import stat
import subprocess
import sys

import pytest

from deniable_aggregator import Store
from deniable_aggregator.doors.http import status
from deniable_aggregator.keeping.store import StoreRefusedError, StoreUnavailableError, sqlite
from tests.aggregator.service import TODAY, problem, serving, upload
from tests.aggregator.stored import (
    append,
    decoded,
    fold,
)


@contextlib.contextmanager
def raw(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def test_a_store_is_readable_by_its_owner_only(tmp_path):
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        append(store, [decoded()])
        files = list(tmp_path.iterdir())
        assert {path.name for path in files} >= {"store.db", "store.db-wal", "store.db.lock"}
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_store_is_found_where_it_was_when_the_program_changes_its_directory(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(Store("store.db")) as store:
        monkeypatch.chdir("/")
        append(store, [decoded()])
        fold(store)
        assert store.usage().inbox_rows == 0


@pytest.mark.service
def test_two_stores_of_a_process_lose_nothing_when_another_process_leaves(tmp_path):
    path = tmp_path / "store.db"
    # Leaves like every process that closes a store: as the last one, it would delete the log.
    code = (
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())"
    )
    look = [sys.executable, "-c", code, path, "SELECT count(*) FROM inbox"]
    with contextlib.closing(Store(path)) as one, contextlib.closing(Store(path)):
        append(one, [decoded()])
        assert subprocess.check_output(look, text=True) == "(1,)\n"
        append(one, [decoded()])
        assert subprocess.check_output(look, text=True) == "(2,)\n"


def test_upload_ids_are_kept_as_keyed_hashes_only(tmp_path):
    path = tmp_path / "store.db"
    upload_id = secrets.token_bytes(16)
    with contextlib.closing(Store(path)) as store:
        append(store, [decoded(upload_id=upload_id)])
        with raw(path) as connection:
            ((key,),) = connection.execute("SELECT key FROM epochs").fetchall()
            ((hash_,),) = connection.execute("SELECT hash FROM seen").fetchall()
        assert len(hash_) == 16
        assert len(key) == 32
        assert not holds(tmp_path, upload_id)
        assert holds(tmp_path, key)
        store.inbox.close_epochs(TODAY + 1)
        assert not holds(tmp_path, key)
        assert not holds(tmp_path, hash_)


def test_what_a_reader_keeps_in_the_log_is_deleted_when_it_has_gone(tmp_path):
    path = tmp_path / "store.db"
    with contextlib.closing(Store(path)) as store:
        append(store, [decoded()])
        with raw(path) as reader:
            reader.execute("BEGIN")
            ((key,),) = reader.execute("SELECT key FROM epochs").fetchall()
            with pytest.raises(StoreUnavailableError, match="while somebody reads"):
                store.inbox.close_epochs(TODAY + 1)
        assert holds(tmp_path, key)
        store.inbox.close_epochs(TODAY + 1)
        assert not holds(tmp_path, key)


def holds(folder, data):
    return any(data in path.read_bytes() for path in folder.iterdir())


@pytest.fixture
def service(tmp_path):
    with serving(tmp_path / "store.db") as running:
        assert running.register().status_code == 200
        yield running


def test_a_full_disk_refuses_uploads_loses_nothing_and_ends(service, caplog):
    assert service.send(upload(b"\x00")).status_code == 204
    limit_pages(service.store, 1)
    refused = [upload(b"\x01" * 5_000, epoch=TODAY - day) for day in range(4)]
    for body in refused:
        answer = service.send(body)
        problem(answer, 503, "store_unavailable")
        assert int(answer.headers["Retry-After"]) > 0
    assert "database or disk is full" in caplog.text
    assert service.ask("/v1/metrics").status_code == 200
    limit_pages(service.store, 1 << 30)
    assert {service.send(body).status_code for body in refused} == {204}
    assert {service.send(body).status_code for body in refused} == {204}
    assert service.counts() == [1, 20_000, 0]


def limit_pages(store, pages):
    """A stand-in for a disk that is full: the file may not grow beyond what it has."""
    store._database._driver.execute(f"PRAGMA max_page_count = {pages}")


@pytest.mark.parametrize("damage", [bytes(4_096), b"SQLite format 3\x00" + b"\xff" * 4_080])
def test_a_damaged_file_is_refused_with_what_to_do(tmp_path, damage):
    path = tmp_path / "store.db"
    Store(path).close()
    path.write_bytes(damage)
    with pytest.raises(StoreRefusedError, match=r"damaged .*[Rr]estore it from a backup"):
        Store(path)


def test_a_store_that_another_program_locks_is_no_reason_for_a_backup(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 0)
    path = tmp_path / "store.db"
    Store(path).close()
    with raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="cannot be opened now: database is locked"):
            Store(path)
    Store(path).close()


def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not a database\n" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreRefusedError, match="is not a Deniable store"):
        Store(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "store.db"
    with raw(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    before = path.read_bytes()
    with pytest.raises(StoreRefusedError, match=f"^{path}: .* not a Deniable store"):
        Store(path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_path_that_cannot_be_opened_is_refused(tmp_path):
    with pytest.raises(StoreRefusedError, match="No such file"):
        Store(tmp_path / "missing" / "store.db")
    with pytest.raises(StoreRefusedError, match="must be a file"):
        Store(tmp_path)


@pytest.fixture
def away(tmp_path):
    folder = tmp_path / "away"
    folder.mkdir()
    return folder


def refused(service, body, caplog):
    """Refuses an upload because the store is not where it was, and says so to those who ask."""
    problem(service.send(body), 503, "store_unavailable")
    told = problem(service.http.get("/readyz"), 503, "not_ready")["checks"]
    assert told["database"] == "the store's file was moved or replaced"
    assert told["database"] in caplog.text
    with pytest.raises(StoreUnavailableError, match="moved or replaced"):
        service.key("read")
    return True


@pytest.mark.parametrize("name", ["store.db", "store.db-wal", "store.db.lock"])
def test_nothing_is_acknowledged_into_a_file_that_was_moved(
    service, tmp_path, away, caplog, monkeypatch, name
):
    monkeypatch.setattr(status, "CACHE_SECONDS", 0.0)
    first, second = upload(b"\x00"), upload(b"\x01")
    assert service.send(first).status_code == 204
    (tmp_path / name).rename(away / name)
    assert refused(service, second, caplog)
    (tmp_path / name).write_bytes(b"")
    assert refused(service, second, caplog)
    (away / name).rename(tmp_path / name)
    assert {service.send(body).status_code for body in (first, second)} == {204}
    assert service.http.get("/readyz").status_code == 200
    assert service.counts() == [1, 1, 0]


def test_a_store_that_was_refused_leaves_nothing_beside_the_file(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not a database\n" * 100)
    for _ in range(2):
        with pytest.raises(StoreRefusedError):
            Store(path)
        assert [*tmp_path.iterdir()] == [path]
    beside = tmp_path / "notes.txt.lock"
    beside.write_bytes(b"somebody else's")
    with pytest.raises(StoreRefusedError):
        Store(path)
    assert beside.read_bytes() == b"somebody else's"
