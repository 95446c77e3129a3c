"""An SQLite file writes a few pages of an upload of many small parts; a backlog stays as it is."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import struct

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.store import sqlite
from deniable_aggregator.keeping.store.inbox import new_row_id
from deniable_shared import wire
from tests.aggregator.service import TODAY
from tests.aggregator.stored import append, decoded, register

pytestmark = pytest.mark.one_store
METRICS, DAYS = 250, 16
_IDS = (number.to_bytes(wire.ID_BYTES) for number in itertools.count())


def uploaded(metrics):
    """An upload with a report of each of `DAYS` days of each metric."""
    return wire.Upload(
        next(_IDS),
        tuple(
            wire.Part(hashlib.sha256(bytes([metric])).digest(), TODAY - day, b"\x01")
            for metric in metrics
            for day in range(DAYS)
        ),
    )


def logged_pages(path):
    log = path.with_name(f"{path.name}-wal").read_bytes()
    (page_size,) = struct.unpack(">I", log[8:12]) if log else (1,)
    return len(log) // (24 + page_size)


def test_many_small_parts_share_pages_however_much_waits(tmp_path):
    path = tmp_path / "store.db"
    with contextlib.closing(Store(path)) as store:
        register(store)
        append(store, [uploaded([metric]) for metric in range(METRICS)])
        store._database.purge()
        append(store, [uploaded([3, 60, 150, 220])])
        assert logged_pages(path) < 25  # 13; rows at random places would need 45


def test_waiting_rows_are_written_anew_unless_they_are_so_many_bytes_that_a_fold_is_due(tmp_path):
    with contextlib.closing(Store(tmp_path / "store.db")) as store:
        register(store)
        driver, written = store._database._driver, []
        for size in (100, sqlite.MOST_REWRITTEN_BYTES // 2):
            for _ in range(3):
                append(store, [decoded(b"\x01" * size)])
            before = driver.total_changes
            store._database.purge()
            written.append(driver.total_changes - before)
    assert written == [2 * 3, 0]  # deleted and inserted


def test_ids_of_rows_tell_metric_and_day_alone():
    digest = hashlib.sha256(b"metric").digest()
    ids = [new_row_id(digest, TODAY) for _ in range(2_000)]
    assert len(set(ids)) == len(ids)
    assert all(0 <= each < 1 << 63 for each in ids)
    later = sum(after > before for before, after in itertools.pairwise(ids))
    assert abs(later - 1_000) < 150  # six standard deviations
