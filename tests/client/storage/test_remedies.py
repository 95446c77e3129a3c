"""What a developer is told to do about an error of the disk."""

from __future__ import annotations

import errno
import os

import pytest


@pytest.mark.parametrize(
    ("number", "order"),
    [
        (errno.ENOSPC, "make room on this disk"),
        (errno.EDQUOT, "make room within this user's quota"),
        (errno.ENOLCK, "let the directory be on a disk of this machine: this one has no locks"),
        (errno.EMFILE, "let this process open more files"),
        (errno.EACCES, "let the directory be one that this user can write to"),
        (errno.EROFS, "let the directory be one that this user can write to"),
    ],
)
def test_the_remedy_fits_the_error(make_client, monkeypatch, number, order):
    def fail(*_):
        raise OSError(number, os.strerror(number), "/home/somebody")

    client = make_client()
    monkeypatch.setattr(os, "open", fail)
    assert client.record("theme", "dark") == "storage_unavailable"
    monkeypatch.undo()
    said = client.status().last_error
    assert said.endswith(f"{os.strerror(number)}: {order}")
    assert "somebody" not in said
