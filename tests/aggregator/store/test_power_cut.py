"""A machine with an SQLite store loses power: what was acknowledged is there, and counts once."""

from __future__ import annotations

import contextlib
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from deniable_aggregator import Store
from deniable_shared import wire
from tests.aggregator import power
from tests.aggregator.service import TODAY
from tests.aggregator.stored import THEME, append, counted, fold, register
from tests.repetitions import full_or_small

pytestmark = [pytest.mark.service, pytest.mark.one_store]
COMMITS, TOGETHER = 40, 3
CUTS = full_or_small(24, 8)
UPLOADS = "uploads"


def commits():
    """The uploads of each commit; every one has an id of its own."""
    for number in range(COMMITS):
        yield [
            wire.Upload(
                (number * TOGETHER + place + 1).to_bytes(wire.ID_BYTES),
                (wire.Part(THEME, TODAY - place, bytes([(number + place) % 3])),),
            )
            for place in range(TOGETHER)
        ]


def work(path):
    """What the process does that loses power: uploads, folds, and what happens at night."""
    with contextlib.closing(Store(path)) as store:
        register(store)
        for number, uploads in enumerate(commits()):
            append(store, uploads)
            power.acknowledge(UPLOADS)
            if number % 8 == 5:
                fold(store)
            if number == COMMITS // 2:
                store.id_order.go_on(TODAY)
                store.inbox.close_epochs(TODAY - 10)


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """The system calls of that process that change its folder, in order."""
    folder = tmp_path_factory.mktemp("traced")
    origin, found, state = power.traced("tests.aggregator.store.test_power_cut", folder, "store.db")
    assert state.acknowledged == {UPLOADS: COMMITS}
    return origin, found


def expected():
    found = Counter(
        part.payload[0] for each in commits() for upload in each for part in upload.parts
    )
    return [found[value] for value in range(3)]


def test_a_power_cut_loses_nothing_acknowledged_and_nothing_counts_twice(calls, tmp_path):
    origin, found = calls
    for seed in range(CUTS):
        end = random.Random(seed).randrange(len(found) + 1)
        folder = tmp_path / str(seed)
        acknowledged = power.cut(origin, found[:end], folder, seed)[UPLOADS]
        with contextlib.closing(Store(folder / "store.db")) as store:
            assert store.check_pages() == []
            register(store)
            before = sum(len(row.payload) for row in _waiting(store)) + _counted(store)
            assert before >= acknowledged * TOGETHER
            for uploads in commits():
                append(store, uploads)
            fold(store)
            assert [*_all_days(store)] == expected()


def test_a_store_that_syncs_nothing_would_be_noticed(calls, tmp_path):
    origin, found = calls
    unsynced = [call for call in found if call[0] != "synced" or call[1] == str(origin)]
    lost = 0
    for seed in range(6):
        folder = tmp_path / str(seed)
        acknowledged = power.cut(origin, unsynced[:-20], folder, seed)[UPLOADS]
        try:
            with contextlib.closing(Store(folder / "store.db")) as store:
                register(store)
                left = sum(len(row.payload) for row in _waiting(store)) + _counted(store)
                lost += left < acknowledged * TOGETHER
        except Exception:  # noqa: BLE001  not even a store is left
            lost += 1
    assert lost


def _waiting(store):
    with store.inbox.claim(max_bytes=1 << 20, max_rows=10_000, everything=True) as batch:
        return batch.rows


def _all_days(store):
    return [
        sum(day) for day in zip(*(counted(store, TODAY - n) for n in range(TOGETHER)), strict=True)
    ]


def _counted(store):
    return sum(_all_days(store))


if __name__ == "__main__":
    work(Path(sys.argv[1]))
