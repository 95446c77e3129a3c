"""Damaged journals: nothing raises, no budget comes back, and all can be deleted."""

from __future__ import annotations

import random
import shutil

import pytest

import deniable
from deniable import Outcome
from deniable._storage import device
from deniable._storage.contents import Mark
from deniable._storage.records import RecordReader, read_header
from deniable.testing import InMemoryTransport
from deniable_shared.registry import parse
from tests.client.conftest import NOON, REGISTRY, Clock
from tests.repetitions import full_or_small

SECTOR = 512
SEEDS = range(full_or_small(2_500, 200))
STRIDE = full_or_small(1, 13)
"""Of the bits of a journal that are turned."""

VALUES = {"theme": "dark", "late": True, "emoji": "x"}
LEFT = 40.0 - len(VALUES)
CLOSED = {Outcome.STORAGE_UNAVAILABLE}
REPORTED = {Outcome.ALREADY_REPORTED}


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


@pytest.fixture(scope="module", params=["appended", "replaced"])
def whole(request, begin, tmp_path_factory):
    """The directory of an established device that has recorded every metric; nobody uses it."""
    directory = tmp_path_factory.mktemp("whole") / "device"
    with begin(directory) as client:
        for name, value in VALUES.items():
            assert client.record(name, value) is Outcome.RECORDED
        client._storage.seal()
        if request.param == "replaced":
            client._storage.run_syncing(client._storage.erase_traces)
            client._storage.seal()
    return directory


@pytest.fixture(autouse=True)
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)


@pytest.fixture
def copy(whole, tmp_path):
    """Makes the device's directory with another journal."""

    def copy(content, name="journal"):
        directory = tmp_path / "device"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(whole, directory)
        (directory / name).write_bytes(content)
        return directory

    return copy


def damaged(content, seed):
    draw = random.Random(seed)
    content, place = bytearray(content), draw.randrange(len(content))
    sector, other = place // SECTOR * SECTOR, draw.randrange(len(content)) // SECTOR * SECTOR
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
        content[sector : sector + SECTOR] = bytes(SECTOR)
    else:
        one, two = content[sector : sector + SECTOR], content[other : other + SECTOR]
        content[sector : sector + SECTOR], content[other : other + SECTOR] = two, one
    return bytes(content)


def record_all(client):
    return {name: client.record(name, value) for name, value in VALUES.items()}


def used_up(client):
    """Does everything that a program can do with a client."""
    outcomes = record_all(client)
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


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_damaged_journal_gives_back_no_budget_and_no_period(begin, whole, copy, part):
    content = (whole / "journal").read_bytes()
    for seed in SEEDS[part::4]:
        with begin(copy(damaged(content, seed))) as client:
            outcomes, status = used_up(client)
            assert set(outcomes.values()) in (CLOSED, REPORTED), seed
            assert status.epsilon_left_lifetime < LEFT + 1e-6
            assert client.record("heavy", value=True) is not Outcome.RECORDED
            if seed % 10 == 0:
                assert deleted(client)


@pytest.mark.slow
def test_no_bit_of_a_journal_can_be_turned_for_more(begin, whole, copy):
    """In a debit it ends all; in a report it costs that report, which is counted."""
    content = (whole / "journal").read_bytes()
    closed = lost = 0
    for place in range(0, 8 * len(content), STRIDE):
        turned = bytearray(content)
        turned[place // 8] ^= 1 << place % 8
        with begin(copy(turned)) as client:
            outcomes, status = record_all(client), client.status()
        if set(outcomes.values()) == CLOSED:
            assert (status.pending, status.epsilon_left_lifetime) == (None, 0.0)
            closed += 1
            continue
        assert set(outcomes.values()) == REPORTED
        assert status.epsilon_left_lifetime == pytest.approx(LEFT, abs=1e-6)
        assert status.dropped == {"damaged": 1}
        assert status.pending in (len(VALUES) - 1, len(VALUES))
        lost += status.pending < len(VALUES)
    assert closed > 500 // STRIDE
    assert lost > 500 // STRIDE


def test_no_bit_of_the_mark_can_be_turned(begin, whole, copy):
    content = (whole / "established").read_bytes()
    for place in range(8 * len(content)):
        turned = bytearray(content)
        turned[place // 8] ^= 1 << place % 8
        with begin(copy(turned, "established")) as client:
            assert set(record_all(client).values()) == CLOSED


def ends(content):
    """Where the records of a journal end."""
    header, start = read_header(content)
    reader, found = RecordReader(header, start), [start]
    for _ in reader.read(content[start:]):
        found.append(reader.end)
    return found


def test_a_journal_that_was_cut_off_fails_closed_wherever(begin, whole, copy):
    """At the end of every record, and between."""
    content = (whole / "journal").read_bytes()
    places = ends(content)
    assert places[-1] == len(content)
    cuts = {each + more for each in places[:-1] for more in (-1, 0, 1, 40)}
    for place in sorted(each for each in cuts if each < len(content)):
        with begin(copy(content[:place])) as client:
            assert set(record_all(client).values()) == CLOSED
            assert client.flush().sent == 0


@pytest.mark.parametrize("change", ["turned", "cut"])
def test_what_nobody_has_synced_may_be_torn_and_is_cut_off(begin, whole, copy, change):
    """It has not left; so what is torn may be paid for and reported again."""
    directory = copy((whole / "journal").read_bytes())
    synced = (directory / "journal").stat().st_size
    with begin(directory) as client:
        assert client.record("city", "x") is Outcome.RECORDED
    content = (directory / "journal").read_bytes()
    for place in range(synced, len(content), STRIDE):
        torn = bytearray(content)
        torn[place] ^= 1 << place % 8
        with begin(copy(torn if change == "turned" else content[:place])) as client:
            assert set(record_all(client).values()) == REPORTED
            assert client.status().pending == len(VALUES)
            assert client.status().epsilon_left_lifetime == pytest.approx(LEFT, abs=1e-6)
            assert client.record("city", "y") is Outcome.RECORDED
            assert client.flush().sent == len(VALUES) + 1


def test_an_old_journal_with_a_newer_mark_fails_closed(begin, whole, copy):
    """Of the same generation and shorter, of an earlier one, or with less spent."""
    content = (whole / "journal").read_bytes()
    header, _ = read_header(content)
    marks = [
        Mark(header.generation, len(content) + 1, 0),
        Mark(header.generation + 1, 1, 0),
        Mark(0, 0, 3_000_000_001),
    ]
    for mark in marks:
        with begin(copy(mark.encode(), "established")) as client:
            assert set(record_all(client).values()) == CLOSED
            assert "old copy" in client.status().last_error
            assert client.flush().sent == 0
            assert deniable.disclosure(client._storage.directory).problem is not None


def test_what_can_be_read_of_a_damaged_journal_is_shown(whole, copy):
    content = bytearray((whole / "journal").read_bytes())
    content[ends(content)[-2] + 1] ^= 1
    shown = deniable.disclosure(copy(content))
    assert shown.problem == "what was stored is damaged, and not all of it can be read"
    assert shown.epsilon_lifetime is None
    assert len(shown.reports) >= 1
