"""Reads slices of one version from a store into columns."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.store import count_slice
from deniable_aggregator.store.encoding import decode_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.store import Store, StoredSlice
    from deniable_aggregator.tallies import Tally

MOST_TABLE_BYTES: Final = 64 << 20
"""The counters of a version stay in memory up to this size; larger ones are read slice by slice."""

DECODED_BYTES: Final = 8 << 20
"""Slices are decoded so many bytes of counters at a time."""

_NARROW: Final = np.iinfo(np.int32).max


class Columns(NamedTuple):
    """Slices, in no order.

    Attributes:
        epochs: the day of each slice.
        keys: the id of its key.
        counters: int32 or int64, (slices, stored cells); None if they are not in memory.
    """

    epochs: list[int]
    keys: list[str]
    reports: list[int]
    counters: NDArray[np.int32] | NDArray[np.int64] | None


def read_columns(
    store: Store, entry: CatalogEntry, days: Iterable[int], *, with_counters: bool
) -> Columns:
    """Reads the slices of some days, those of excluded keys, too."""
    tally = entry.tally
    if not with_counters:
        return _without_counters(store, entry, days)
    columns = Columns([], [], [], None)
    counters: list[NDArray[Any]] = [np.zeros((0, tally.stored_cells), np.int32)]
    at_a_time = max(1, DECODED_BYTES // (8 * tally.stored_cells))
    for since, until in runs(sorted(days)):
        slices = store.tallies.read(tally, since, until)
        while chunk := list(itertools.islice(slices, at_a_time)):
            columns.epochs.extend(part.epoch for part in chunk)
            columns.keys.extend(part.key for part in chunk)
            columns.reports.extend(part.reports for part in chunk)
            counters.append(_narrow(_count(tally, chunk)))
    return columns._replace(counters=np.concatenate(counters))


def _without_counters(store: Store, entry: CatalogEntry, days: Iterable[int]) -> Columns:
    columns = Columns([], [], [], None)
    for since, until in runs(sorted(days)):
        reports_by_slice = store.tallies.reports_by_slice([entry.tally], since, until)
        for epoch, keys in reports_by_slice.get(entry.spec.digest, {}).items():
            for key, reports in keys.items():
                columns.epochs.append(epoch)
                columns.keys.append(key)
                columns.reports.append(reports)
    return columns


def _count(tally: Tally, slices: Sequence[StoredSlice]) -> NDArray[np.int64]:
    """The counters of slices: int64, (slices, stored cells)."""
    # Nearly all slices are one part, and all of these are decoded at once.
    one_part = [len(part.counters) == 1 and not part.packed for part in slices]
    whole = np.flatnonzero(one_part)
    bodies = [slices[place].counters[0] for place in whole.tolist()]
    counters = np.zeros((len(slices), tally.stored_cells), np.int64)
    counters[whole] = decode_many(bodies, tally.stored_cells)
    for place in np.flatnonzero(~np.array(one_part)).tolist():
        counters[place] = count_slice(tally, slices[place])
    return counters


def _narrow(counters: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Counters in 4 bytes each, where they fit."""
    fits = counters.min(initial=0) >= -_NARROW and counters.max(initial=0) <= _NARROW
    return counters.astype(np.int32) if fits else counters


def runs(days: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last day of each run of days in a row.

    Args:
        days: ascending.
    """
    start = 0
    for place in range(1, len(days) + 1):
        if place == len(days) or days[place] != days[place - 1] + 1:
            yield days[start], days[place - 1]
            start = place
