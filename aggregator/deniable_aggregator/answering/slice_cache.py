"""Keeps slice tables in memory, and renews those days that have changed in the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answering.rolled_slices import (
    MOST_TABLE_BYTES,
    Columns,
    read_columns,
    read_rolled,
)
from deniable_aggregator.answering.slices import BlockTotals, SliceTable
from deniable_aggregator.counting.yield_points import without_yielding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.store import DayStamp, Store, StoredSlice

MOST_CACHED_BYTES: Final = 256 << 20
"""All tables together; those that were asked for longest ago are forgotten."""

_NARROW_BYTES: Final = 4
_LOCKS: Final = 64


class SliceTables:
    """The slice tables of a store, as they are now.

    Any process may count, merge or delete at any time. A day is read again when its stamp in the
    store is another than when it was read; all others come from memory. Threads that ask for the
    same version wait for the first of them, and then find what it has read.

    Args:
        most_bytes: how much memory the tables take at most, but for the one in use.
        most_table_bytes: the counters of a version are in memory up to this size.
    """

    def __init__(
        self,
        store: Store,
        most_bytes: int = MOST_CACHED_BYTES,
        most_table_bytes: int = MOST_TABLE_BYTES,
    ) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._most_table_bytes = most_table_bytes
        self._totals = BlockTotals()
        self._lock = threading.Lock()
        self._renewing = [threading.Lock() for _ in range(_LOCKS)]
        self._held: OrderedDict[bytes, SliceTable] = OrderedDict()

    def table(self, entry: CatalogEntry, since: int, until: int) -> SliceTable:
        """The slices of a version, those of all keys.

        Args:
            until: the last, inclusive.

        Raises:
            StoreUnavailableError: if the store cannot be read.
            DaysRolledUpError: if only some of the days that became one are among these.
        """
        digest = entry.spec.digest
        with without_yielding(), self._renewing[hash(digest) % _LOCKS]:
            # Read before the slices: these may be newer than their stamps say, and never older.
            stamps = self._store.tallies.stamps(digest, since, until)
            with self._lock:
                table = self._held.get(digest)
            if table is None or table.entry.spec != entry.spec:  # its values were renamed
                table = self._empty(entry)
            renewed = self._renew(table, stamps, since, until)
            self._hold(renewed)
        rolled = read_rolled(self._store, digest, since, until)
        if rolled:
            renewed = replace(renewed, rolled=rolled)
        return renewed.between(since, until)

    def _empty(self, entry: CatalogEntry) -> SliceTable:
        def read(since: int, until: int) -> Iterator[StoredSlice]:
            return self._store.tallies.read(entry.tally, since, until)

        none = np.zeros(0, np.int32)
        counters = np.zeros((0, entry.tally.stored_cells), np.int32)
        reports = none.astype(np.int64)
        return SliceTable(
            entry, none, none, (), reports, {}, counters, read, self._totals, largest=reports
        )

    def _renew(
        self, table: SliceTable, stamps: Mapping[int, DayStamp], since: int, until: int
    ) -> SliceTable:
        """The table with some days as they are now."""
        beyond = {day: old for day, old in table.stamps.items() if not since <= day <= until}
        now = {**beyond, **stamps}
        if now == table.stamps:
            return table
        parts = sum(stamp.parts for stamp in now.values())
        row_bytes = _NARROW_BYTES * table.entry.tally.stored_cells
        fits = parts * row_bytes <= self._most_table_bytes and not table.entry.tally.is_sparse
        if fits and table.counters is None:  # old days were deleted
            table = self._empty(table.entry)
            now = dict(stamps)
        changed = [day for day, stamp in now.items() if table.stamps.get(day) != stamp]
        new = read_columns(self._store, table.entry, changed, with_counters=fits)
        gone = table.stamps.keys() - now.keys()
        return _merge(table, new, {*changed, *gone}, now)

    def _hold(self, table: SliceTable) -> None:
        digest = table.entry.spec.digest
        with self._lock:
            self._held[digest] = table
            self._held.move_to_end(digest)
            size = sum(map(_size, self._held.values()))
            while size > self._most_bytes and len(self._held) > 1:
                size -= _size(self._held.popitem(last=False)[1])


def _merge(
    table: SliceTable, new: Columns, replaced: Collection[int], stamps: Mapping[int, DayStamp]
) -> SliceTable:
    """The slices of a table, but for those of some days, and new ones."""
    rows = np.flatnonzero(~np.isin(table.epochs, list(replaced)))
    key_ids = tuple(sorted({*table.key_ids, *new.keys}))
    code_of = {key: code for code, key in enumerate(key_ids)}
    moved = np.array([code_of[key] for key in table.key_ids], np.int32)
    epochs = np.concatenate([table.epochs[rows], np.array(new.epochs, np.int32)])
    codes = np.array([code_of[key] for key in new.keys], np.int32)
    keys = np.concatenate([moved[table.keys[rows]], codes])
    reports = np.concatenate([table.reports[rows], np.array(new.reports, np.int64)])
    largest = np.concatenate([table.largest[rows], np.array(new.largest, np.int64)])
    order = np.lexsort((keys, epochs))
    order = order[reports[order] > 0]
    counters: NDArray[np.int32] | NDArray[np.int64] | None = None
    if new.counters is not None and table.counters is not None:
        counters = np.concatenate([table.counters[rows], new.counters])[order]
    return SliceTable(
        table.entry,
        epochs[order],
        keys[order],
        key_ids,
        reports[order],
        stamps,
        counters,
        table.read_slices,
        table.kept_totals,
        largest=largest[order],
        newest=int(epochs.max(initial=0)),
    )


def _size(table: SliceTable) -> int:
    columns = table.epochs.nbytes + table.keys.nbytes + 2 * table.reports.nbytes
    return columns + (0 if table.counters is None else table.counters.nbytes)
