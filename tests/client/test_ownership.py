"""Who may have made the directory and what is in it."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

import deniable
from deniable import Outcome


def test_a_directory_of_another_user_is_refused_and_left_alone(make_client, directory, monkeypatch):
    directory.mkdir(mode=0o700)
    other = directory.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    client = make_client()
    assert client.record("theme", "dark") is Outcome.STORAGE_UNAVAILABLE
    assert "belongs to another user" in client.status().last_error
    assert list(directory.iterdir()) == []


@pytest.fixture
def planted(make_client, directory, tmp_path):
    """A directory that anybody may write to, with the secret and ledger of somebody's device."""
    make_client(directory=tmp_path / "elsewhere").record("theme", "dark")
    directory.mkdir()
    directory.chmod(0o777)
    for name in ("secret", "ledger.sqlite"):
        shutil.copy(tmp_path / "elsewhere" / name, directory / name)
        (directory / name).chmod(0o600)
    return directory


@pytest.mark.parametrize("name", ["secret", "ledger.sqlite"])
def test_a_file_that_others_could_have_written_is_not_believed(make_client, planted, name):
    (planted / name).chmod(0o622)
    client = make_client()
    for _ in range(2):
        assert client.record("city", "Bergen") is Outcome.STORAGE_UNAVAILABLE
    assert "may have written its files" in client.status().last_error
    assert stat.S_IMODE(planted.stat().st_mode) == 0o777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_another_user_owns_is_not_believed(make_client, planted):
    os.chown(planted / "secret", 65_534, -1)
    client = make_client()
    assert client.record("city", "Bergen") is Outcome.STORAGE_UNAVAILABLE
    assert "may have written its files" in client.status().last_error


def test_whoever_may_read_a_directory_may_show_what_is_in_it(make_client, directory, monkeypatch):
    make_client().record("theme", "dark")
    other = directory.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert deniable.disclosure(directory).pending == 1
