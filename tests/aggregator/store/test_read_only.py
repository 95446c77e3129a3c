"""A store that is opened for reading is left as it is, with all that stands beside it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import StoreRefusedError, StoreUnavailableError
from deniable_aggregator.keeping.store.backup import backup
from tests.aggregator.stored import append, counted, decoded, execute, fold, register


@pytest.fixture
def store(target):
    with closing(Store(target)) as store:
        register(store)
        append(store, [decoded(b"\x00\x01\x02\x02")])
        fold(store)
        yield store


def everything(folder):
    """The names, bytes and times of the files of a folder."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def read_from(path, folder):
    """What is counted in a store that is opened for reading, while nothing in a folder changes."""
    before = everything(folder)
    with closing(Store(path, read_only=True)) as opened:
        found = counted(opened)
        assert opened.metrics.all().readable
        assert everything(folder) == before
    assert everything(folder) == before
    return found


@pytest.mark.one_store
def test_a_backup_is_read_and_not_touched(store, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    backup(store.target, folder / "backup.db", lambda *_: None)
    assert read_from(folder / "backup.db", folder) == counted(store)


@pytest.mark.one_store
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_backup_in_a_folder_that_cannot_be_written_is_read(store, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    backup(store.target, folder / "backup.db", lambda *_: None)
    folder.chmod(0o500)
    try:
        assert read_from(folder / "backup.db", folder) == counted(store)
    finally:
        folder.chmod(0o700)


@pytest.mark.one_store
def test_a_store_that_was_closed_is_read_and_not_touched(store, tmp_path):
    found = counted(store)
    store.close()
    assert read_from(store.target, tmp_path) == found


@pytest.mark.one_store
def test_a_store_in_use_is_read_with_what_is_only_in_its_log(store, tmp_path):
    before = everything(tmp_path)
    with closing(Store(store.target, read_only=True)) as opened:
        assert counted(opened) == counted(store)
        append(store, [decoded(b"\x01")])
        fold(store)
        assert counted(opened) == counted(store)
    assert everything(tmp_path).keys() == before.keys()


@pytest.mark.one_store
@pytest.mark.parametrize("ends", [("-wal",), ("-wal", "-shm"), ("-wal", "-shm", ".lock")])
def test_a_copied_store_with_its_log_is_read_and_not_touched(
    store, tmp_path, tmp_path_factory, monkeypatch, ends
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
    folder = tmp_path / "copied"
    folder.mkdir()
    for end in ("", *ends):
        shutil.copyfile(f"{store.target}{end}", folder / f"store.db{end}")
    assert (folder / "store.db-wal").stat().st_size
    assert read_from(folder / "store.db", folder) == counted(store)
    assert not list(Path(tempfile.gettempdir()).iterdir())


@pytest.mark.one_store
def test_a_copy_that_is_written_to_meanwhile_is_not_believed(store):
    store.close()
    with closing(Store(store.target, read_only=True)) as opened:
        counted(opened)
        with closing(sqlite3.connect(store.target)) as other:
            other.execute("PRAGMA journal_mode = DELETE")
            other.execute("DELETE FROM tallies")
            other.commit()
        with pytest.raises(StoreUnavailableError, match="open it again"):
            counted(opened)


def test_nothing_can_be_written(store, target):
    with closing(Store(target, read_only=True)) as opened:
        assert counted(opened) == counted(store)
        with pytest.raises(StoreUnavailableError, match="was opened for reading only"):
            append(opened, [decoded(b"\x01")])
        with pytest.raises(StoreUnavailableError, match="was opened for reading only"):
            execute(opened, "DELETE FROM tallies")
        with (
            pytest.raises(StoreUnavailableError, match=r"read-?only"),
            opened._database.read() as connection,
        ):
            connection.exec_driver_sql("DELETE FROM tallies")
    with pytest.raises(StoreUnavailableError, match="the store is closed"):
        counted(opened)


@pytest.mark.one_store
def test_what_is_no_store_is_refused_and_not_touched(tmp_path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE notes (text)")
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("no database, but quite some text of one line" * 100)
    (tmp_path / "archive").write_bytes(b"PGDMP\x01\x0e" * 100)
    before = everything(tmp_path)
    for name, why in (
        ("archive", "deniable store restore"),
        ("other.db", "not a Deniable store"),
        ("empty.db", "is empty"),
        ("text.db", "not a Deniable store, or is damaged"),
        ("none.db", "there is no such file"),
        (".", "must be a file that may be read"),
    ):
        with pytest.raises(StoreRefusedError, match=why):
            Store(tmp_path / name, read_only=True)
    assert everything(tmp_path) == before


@pytest.mark.one_store
def test_a_store_of_an_older_version_is_refused_with_what_to_do(store):
    execute(store, "UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(StoreRefusedError, match="deniable store migrate"):
        Store(store.target, read_only=True)


def test_an_empty_database_stays_empty(postgresql):
    target = postgresql.fresh_schema()
    for _ in range(2):
        with pytest.raises(StoreRefusedError, match="is empty"):
            Store(target, read_only=True)
