"""The disk that may lose power sees every write, and loses what was not synced and nothing else."""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.client.life.disk import Disk, noting


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


def test_appending_and_cutting_off_are_noted(disk, tmp_path):
    path = tmp_path / "file"
    write(path, b"synced", sync=True)
    disk.synced_directory(tmp_path)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    os.write(descriptor, b", not")
    os.ftruncate(descriptor, 8)
    os.close(descriptor)
    disk.check()
    assert left(disk, path) == {b"synced", b"synced, ", b"synced, not", b"synced\0\0"}
