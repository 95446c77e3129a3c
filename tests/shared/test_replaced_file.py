"""Files that are written whole take the place of what was there, and of nothing else."""

from __future__ import annotations

import os
import threading

import pytest

from deniable_shared.replaced_file import replaced_file


def write(path, content=b"later"):
    with replaced_file(path) as file:
        file.write(content)


def test_what_is_not_finished_leaves_what_was_there(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"earlier")
    pieces = (str(1 // count).encode() for count in (1, 0))
    with pytest.raises(ZeroDivisionError), replaced_file(path) as file:
        file.writelines(pieces)
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_only_its_owner_reads_stays_so(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"earlier")
    path.chmod(0o600)
    write(path)
    assert path.read_bytes() == b"later"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_file_is_readable_as_any_other(tmp_path):
    usual, path = tmp_path / "usual", tmp_path / "table.csv"
    usual.touch()
    write(path)
    assert path.stat().st_mode == usual.stat().st_mode


def test_a_link_stays_and_leads_to_what_was_written(tmp_path):
    target, link = tmp_path / "october.csv", tmp_path / "newest.csv"
    target.write_bytes(b"earlier")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"later"


def test_a_link_to_itself_becomes_a_file(tmp_path):
    link = tmp_path / "newest.csv"
    link.symlink_to(link)
    write(link)
    assert link.read_bytes() == b"later"


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join()
    assert read == [b"later"]
    assert pipe.is_fifo()


def test_a_file_that_may_not_be_written_stays(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"kept")
    # Root may write to all files, so that a mode would not do here.
    monkeypatch.setattr(os, "access", lambda of, how: (of, how) != (path, os.W_OK))
    with pytest.raises(PermissionError) as refused, replaced_file(path) as file:
        file.write(b"new")
    assert refused.value.filename == str(path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"kept"]
