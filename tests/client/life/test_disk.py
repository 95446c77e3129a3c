"""The disk that may lose power sees every write, and loses what was not synced and nothing else."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from random import Random

import pytest

from tests.client.life import sqlite_calls
from tests.client.life.disk import Disk, noting

pytestmark = pytest.mark.skipif(
    not sqlite_calls.available(), reason="needs SQLite as a shared library"
)


@pytest.fixture
def disk(tmp_path):
    with noting() as notes:
        made = Disk(tmp_path)
        notes.add(made)
        yield made


def write(path, content, *, sync):
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    os.write(descriptor, content)
    if sync:
        os.fsync(descriptor)
    os.close(descriptor)


def left(disk, path, seeds=30):
    """What may be left of a file, or None."""
    found = set()
    disk.stop_now()
    stopped = disk.stopped
    for seed in range(seeds):
        disk.stopped = stopped
        disk.restart(Random(seed))
        found.add(path.read_bytes() if path.exists() else None)
    return found


def test_a_write_may_be_lost_until_file_and_directory_are_synced(disk, tmp_path):
    write(tmp_path / "file", b"old", sync=False)
    assert left(disk, tmp_path / "file") == {None, b"", b"old"}
    write(tmp_path / "file", b"old", sync=True)
    disk.synced_directory(tmp_path)
    assert left(disk, tmp_path / "file") == {b"old"}
    write(tmp_path / "file", b"new", sync=False)
    assert left(disk, tmp_path / "file") == {b"old", b"new"}


def test_a_renaming_is_kept_or_lost_as_a_whole(disk, tmp_path):
    write(tmp_path / "file", b"old", sync=True)
    write(tmp_path / "draft", b"new", sync=True)
    disk.synced_directory(tmp_path)
    (tmp_path / "draft").replace(tmp_path / "file")
    assert left(disk, tmp_path / "file") == {b"old", b"new"}


def test_a_database_loses_what_was_committed_since_its_log_was_synced(disk, tmp_path):
    path = tmp_path / "some.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("CREATE TABLE number (value)")
        database.execute("INSERT INTO number VALUES (1)")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        database.execute("INSERT INTO number VALUES (2)")
        disk.check()
        disk.stop_now()
    stopped, found = disk.stopped, set()
    for seed in range(30):
        disk.stopped = stopped
        disk.restart(Random(seed))
        with closing(sqlite3.connect(path)) as database:
            rows = [value for (value,) in database.execute("SELECT value FROM number")]
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found.add(tuple(rows))
    assert found == {(1,), (1, 2)}
