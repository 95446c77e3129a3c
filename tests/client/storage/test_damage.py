"""Damaged files: nothing raises, nothing is reported beyond the budget, and all can be deleted.

The damage is random with fixed seeds: a bit, a byte, some zeros, a page, an end that is missing.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing

import pytest

import deniable
from deniable import Outcome
from deniable._storage import device
from deniable.testing import InMemoryTransport
from deniable_shared.registry import parse
from tests.client.conftest import NOON, REGISTRY, Clock

PAGE = 1_024
SEEDS = range(100)
VALUES = {"theme": "dark", "late": True, "emoji": "x"}
LEFT = 40.0 - len(VALUES)


@pytest.fixture(scope="module")
def begin():
    """Starts a program on a directory."""
    registry = parse(REGISTRY)

    def begin(directory):
        return deniable.Client(
            registry, directory=directory, consent=True, background=False, clock=Clock(NOON),
            transport=InMemoryTransport(),
        )  # fmt: skip

    return begin


@pytest.fixture(scope="module")
def whole(begin, tmp_path_factory):
    """The directory of an established device that has recorded every metric; nobody uses it."""
    directory = tmp_path_factory.mktemp("whole") / "device"
    with begin(directory) as client:
        for name, value in VALUES.items():
            assert client.record(name, value) is Outcome.RECORDED
        client._storage.sync_ledger()
    return directory


@pytest.fixture(autouse=True)
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)


def damaged(content, seed):
    draw = random.Random(seed)
    content, place = bytearray(content), draw.randrange(len(content))
    page, other = place // PAGE * PAGE, draw.randrange(len(content)) // PAGE * PAGE
    kind = seed % 6
    if kind == 0:
        content[place] ^= 1 << draw.randrange(8)
    elif kind == 1:
        content[place] = draw.randrange(256)
    elif kind == 2:
        content[place : place + 16] = bytes(len(content[place : place + 16]))
    elif kind == 3:
        del content[place:]
    elif kind == 4:
        content[page : page + PAGE] = bytes(PAGE)
    else:
        one, two = content[page : page + PAGE], content[other : other + PAGE]
        content[page : page + PAGE], content[other : other + PAGE] = two, one
    return bytes(content)


def used_up(client):
    """Does everything that a program can do with a client."""
    outcomes = {name: client.record(name, value) for name, value in VALUES.items()}
    client.flush()
    status = client.status()
    client.disclosure()
    deniable.disclosure(client._storage.directory)
    return outcomes, status


def deleted(client):
    """Whether opting out deletes everything."""
    client.forget()
    client.consent = False
    return not client._consent.deletion_owed


@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_spool_is_survived(begin, whole, tmp_path, seed):
    directory = tmp_path / "device"
    shutil.copytree(whole, directory)
    (directory / "spool.sqlite").write_bytes(damaged((whole / "spool.sqlite").read_bytes(), seed))
    with begin(directory) as client:
        outcomes, status = used_up(client)
        assert set(outcomes.values()) == {Outcome.ALREADY_REPORTED}
        assert status.pending is not None
        assert status.epsilon_left_lifetime == pytest.approx(LEFT, abs=1e-6)
        assert client.record("heavy", value=True) is Outcome.OVER_BUDGET
        assert client.record("city", "x") is Outcome.RECORDED
        assert deleted(client)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_ledger_gives_back_no_budget(begin, whole, tmp_path, seed):
    directory = tmp_path / "device"
    shutil.copytree(whole, directory)
    (directory / "ledger.sqlite").write_bytes(damaged((whole / "ledger.sqlite").read_bytes(), seed))
    with begin(directory) as client:
        outcomes, status = used_up(client)
        assert set(outcomes.values()) <= {Outcome.ALREADY_REPORTED, Outcome.STORAGE_UNAVAILABLE}
        assert status.epsilon_left_lifetime < LEFT + 1e-6
        assert client.record("heavy", value=True) is not Outcome.RECORDED
        assert deleted(client)


def test_no_bit_of_a_row_of_the_ledger_can_be_turned_for_more_budget(begin, whole, tmp_path):
    """Flips one bit of every byte of every row, one at a time."""
    directory = tmp_path / "device"
    shutil.copytree(whole, directory)
    content = (whole / "ledger.sqlite").read_bytes()
    used = [place for place, byte in enumerate(content) if byte and place > PAGE]
    refused = 0
    for place in used:
        turned = bytearray(content)
        turned[place] ^= 1 << place % 8
        (directory / "ledger.sqlite").write_bytes(turned)
        with begin(directory) as client:
            outcomes = {name: client.record(name, value) for name, value in VALUES.items()}
            refused += Outcome.STORAGE_UNAVAILABLE in outcomes.values()
            assert Outcome.RECORDED not in outcomes.values()
            assert client.status().epsilon_left_lifetime < LEFT + 1e-6
    assert refused > len(used) / 2


def changed(whole, tmp_path, name, change):
    """A copy of a device's directory, after a statement was executed in one of its databases."""
    directory = tmp_path / "device"
    shutil.copytree(whole, directory)
    with closing(sqlite3.connect(directory / name)) as database, database:
        database.execute(change)
    return directory


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entry SET spent = NULL WHERE metric = ''",
        "UPDATE entry SET spent = 'abc' WHERE metric = ''",
        "UPDATE entry SET spent = 0.5 WHERE metric = ''",
        "UPDATE entry SET spent = spent - 1 WHERE metric = ''",
        "UPDATE entry SET today = -16000000000 WHERE metric = ''",
        "UPDATE entry SET period = period + 1 WHERE metric = ''",
        "UPDATE entry SET every = x'ff00' WHERE metric = ''",
        "UPDATE entry SET checksum = 0 WHERE metric = ''",
        "UPDATE entry SET metric = 'thene' WHERE metric = 'theme'",
        "UPDATE entry SET period = period - 1 WHERE metric = 'theme'",
        "UPDATE entry SET every = 'week' WHERE metric = 'theme'",
        "INSERT INTO entry VALUES ('', 'zz', 0, 0, 0, NULL, 0)",
        "DELETE FROM entry WHERE metric = ''",
        "DROP TABLE entry",
    ],
)
def test_a_ledger_with_impossible_content_fails_closed(begin, whole, tmp_path, change):
    with begin(changed(whole, tmp_path, "ledger.sqlite", change)) as client:
        outcomes, status = used_up(client)
        assert set(outcomes.values()) == {Outcome.STORAGE_UNAVAILABLE}
        assert (status.pending, status.epsilon_left_lifetime) == (None, 0.0)
        assert deleted(client)


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE report",
        "DROP TABLE sent",
        "DROP TABLE spec",
        "DROP TABLE uploaded",
        "DELETE FROM uploaded",
        "UPDATE uploaded SET spent = 'x'",
        "UPDATE report SET payload = 'x'",
        "UPDATE report SET digest = 'abc'",
        "UPDATE report SET upload_id = x'00'",
        "UPDATE report SET tries = 'x' WHERE number = 1",
        "UPDATE report SET due = 'x'",
        "UPDATE report SET due = x'00', epoch = 'y'",
    ],
)
def test_a_spool_with_impossible_content_is_replaced(begin, whole, tmp_path, change):
    with begin(changed(whole, tmp_path, "spool.sqlite", change)) as client:
        assert client.record("city", "x") is Outcome.RECORDED
        for _ in range(2):
            client.flush()
        assert client.status().pending == 0
        assert client.status().dropped == {"spool_corrupt": 1}
        assert deleted(client)


def test_a_spool_with_one_bad_byte_in_the_schema_is_replaced(begin, whole, tmp_path):
    """SQLite's message about it is not valid UTF-8; the same through `disclosure`."""
    directory = tmp_path / "device"
    shutil.copytree(whole, directory)
    content = (whole / "spool.sqlite").read_bytes()
    bad = content.replace(b"CREATE TABLE spec", b"CREATE \xffABLE spec")
    (directory / "spool.sqlite").write_bytes(bad)
    assert deniable.disclosure(directory).problem == "the stored answers cannot be read"
    with begin(directory) as client:
        assert client.status().pending == 0
        assert client.status().dropped == {"spool_corrupt": 1}
        assert deleted(client)
