"""Whose a directory is: which user's, and which application's."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

import deniable
from deniable import Outcome, ParameterError
from deniable_shared.registry import parse
from tests.client.conftest import REGISTRY


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
    """A directory that anybody may write to, with the journal of another device."""
    make_client(directory=tmp_path / "elsewhere").record("theme", "dark")
    directory.mkdir()
    directory.chmod(0o777)
    shutil.copy(tmp_path / "elsewhere" / "journal", directory / "journal")
    (directory / "journal").chmod(0o600)
    return directory


def test_a_file_that_others_could_have_written_is_not_believed(make_client, planted):
    (planted / "journal").chmod(0o622)
    client = make_client()
    for _ in range(2):
        assert client.record("city", "Bergen") is Outcome.STORAGE_UNAVAILABLE
    assert "may have written its files" in client.status().last_error
    assert stat.S_IMODE(planted.stat().st_mode) == 0o777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_another_user_owns_is_not_believed(make_client, planted):
    os.chown(planted / "journal", 65_534, -1)
    client = make_client()
    assert client.record("city", "Bergen") is Outcome.STORAGE_UNAVAILABLE
    assert "may have written its files" in client.status().last_error


def test_whoever_may_read_a_directory_may_show_what_is_in_it(make_client, directory, monkeypatch):
    make_client().record("theme", "dark")
    other = directory.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert deniable.disclosure(directory).pending == 1


OTHER = parse(REGISTRY.replace('"flightdeck"', '"mailer"'))


def test_the_directory_of_another_application_is_refused_at_construction(make_client, directory):
    with make_client() as client:
        assert client.record("theme", "dark") is Outcome.RECORDED
    with pytest.raises(ParameterError, match=r"used by mailer alone.*flightdeck"):
        make_client(registry=OTHER)
    with make_client() as client:
        assert client.status().pending == 1
    shutil.rmtree(directory)
    assert make_client(registry=OTHER).record("theme", "dark") is Outcome.RECORDED


def test_of_two_applications_that_begin_together_one_is_refused(make_client):
    one, two = make_client(), make_client(registry=OTHER, another_process=True)
    assert one.record("theme", "dark") is Outcome.RECORDED
    assert two.record("theme", "dark") is Outcome.STORAGE_UNAVAILABLE
    assert "belongs to another application" in two.status().last_error
    assert two.forget() == 0
    two.consent = False
    assert one.status().pending == 1


@pytest.mark.parametrize("content", [None, b"", b"flightdecj\n0123456789abcdef", b"\xff\n\n", b"a"])
def test_a_directory_that_does_not_say_whose_it_is_is_still_that_of_its_journal(
    make_client, directory, content
):
    with make_client() as client:
        client.record("theme", "dark")
    if content is None:
        (directory / "application").unlink()
    else:
        (directory / "application").write_bytes(content)
    with pytest.raises(ParameterError, match="used by mailer alone"):
        make_client(registry=OTHER)
    with make_client() as client:
        assert client.status().pending == 1
