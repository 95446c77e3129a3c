"""Short random lives keep their promises, and faults that are planted into the storage do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deniable._storage.directory import erase, write_new
from deniable._storage.records import DEBIT, REPORT
from tests.client.life.faults import Fault
from tests.client.life.fuzz import BrokenError, live
from tests.client.life.test_long_life import planted
from tests.repetitions import full_or_small

LIVES = full_or_small(200, 20)
MOST_SEEDS = 100

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.mark.parametrize("part", range(4))
def test_what_leaves_a_device_is_paid_for_once_whatever_happens_to_its_disk(tmp_path, part):
    for seed in range(part, LIVES, 4):
        (folder := tmp_path / str(seed)).mkdir()
        live(seed, folder)


def _without_journal(sync_file):
    return lambda path: None if Path(path).name == "journal" else sync_file(path)


def _without_marks(sync_file):
    return lambda path: None if "established" in Path(path).name else sync_file(path)


def _new_ids(records):
    def faulty(self):
        for body, tail in records(self):
            yield body, os.urandom(16) + tail[16:] if body[0] == REPORT else tail

    return faulty


FAULTS = {
    "the journal is not synced before uploads": (
        "deniable._platform.files",
        "sync_file",
        _without_journal,
    ),
    "the mark is not synced before uploads": (
        "deniable._platform.files",
        "sync_file",
        _without_marks,
    ),
    "nothing is synced before uploads": (
        "deniable._storage.device",
        "DeviceStorage._seal",
        lambda _: lambda *_: True,
    ),
    "names are not synced": (
        "deniable._platform.files",
        "sync_directory",
        lambda _: lambda _directory: None,
    ),
    "a new journal is not synced": (
        "deniable._storage.journal",
        "Journal._write_new",
        lambda _: lambda self, content: write_new(self._new, content),
    ),
    "what is left of two renamings is erased before their names are on the disk": (
        "deniable._storage.journal",
        "Journal.tidy",
        lambda _: lambda self: [erase(path) for path in (self._old, self._new)],
    ),
    "a torn end is not cut off": (
        "deniable._storage.journal",
        "Journal._cut",
        lambda _: lambda self: _skip(self),
    ),
    "a new journal forgets a period": (
        "deniable._storage.ledger",
        "Ledger.bodies",
        lambda real: lambda self: [each for each in real(self) if not each.endswith(b"b1\0day")],
    ),
    "a new journal forgets reports": (
        "deniable._storage.spool",
        "Spool.records",
        lambda real: lambda self: [each for each in real(self) if each[0][0] != REPORT],
    ),
    "reports get new ids in a new journal": ("deniable._storage.spool", "Spool.records", _new_ids),
    "a report is stored without its debit": (
        "deniable._storage.spool",
        "Spool.add",
        lambda real: lambda self, *columns, memoized: real(self, *columns[:6], memoized=memoized),
    ),
    "what another life has debited is not read": (
        "deniable._storage.ledger",
        "Ledger.apply",
        lambda real: lambda self, body: None if body[0] == DEBIT else real(self, body),
    ),
    "permanent answers are paid for once only in memory": (
        "deniable._storage.ledger",
        "Ledger.bodies",
        lambda real: lambda self: [each for each in real(self) if b"m\0day" not in each],
    ),
    "a kill between two renamings is a new device": (
        "deniable._storage.journal",
        "Journal._open_missing",
        lambda _: lambda self: self._begin(),
    ),
}


def _skip(journal):
    journal._contents.reader.end = os.fstat(journal._file).st_size
    return bytes(32)


@pytest.mark.parametrize("name", FAULTS)
def test_the_fuzz_notices_that(tmp_path, name):
    module, what, plant = FAULTS[name]
    with planted(Fault((module, what), plant, ())):
        for seed in range(MOST_SEEDS):
            (folder := tmp_path / str(seed)).mkdir()
            try:
                live(seed, folder)
            except BrokenError:
                return
    pytest.fail("no life was broken")
