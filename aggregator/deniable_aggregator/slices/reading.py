"""Reads slices of one version from a store into columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.store import Store

MOST_TABLE_BYTES: Final = 64 << 20
"""The counters of a version stay in memory up to this size; larger ones are read slice by slice."""

_NARROW: Final = np.iinfo(np.int32).max


class Columns(NamedTuple):
    """Slices by day and then by key.

    Attributes:
        epochs: the day of each slice.
        keys: the id of its key.
        reports: how many reports it has.
        counters: int32 or int64, (slices, stored cells); None if they are not in memory.
    """

    epochs: list[int]
    keys: list[str]
    reports: list[int]
    counters: NDArray[np.int32] | NDArray[np.int64] | None


def read_columns(
    store: Store, entry: CatalogEntry, days: Iterable[int], *, with_counters: bool
) -> Columns:
    """Reads the slices of some days.

    Args:
        store: the store.
        entry: the version.
        days: which days.
        with_counters: whether to read the counters, too.
    """
    digest, cells = entry.spec.digest, entry.tally.stored_cells
    epochs: list[int] = []
    keys: list[str] = []
    reports: list[int] = []
    counters: list[NDArray[np.int64]] = []
    for since, until in runs(sorted(days)):
        if with_counters:
            for each in store.tallies.slices(entry.tally, since, until, excluded=True):
                epochs.append(each.epoch)
                keys.append(each.key)
                reports.append(each.sum.reports)
                counters.append(each.sum.cells)
            continue
        found = store.tallies.reports_by_slice([entry.tally], since, until).get(digest, {})
        for epoch in sorted(found):
            for key in sorted(found[epoch]):
                epochs.append(epoch)
                keys.append(key)
                reports.append(found[epoch][key])
    if not with_counters:
        return Columns(epochs, keys, reports, None)
    return Columns(epochs, keys, reports, narrowed(counters, cells))


def narrowed(
    counters: Sequence[NDArray[np.int64]], cells: int
) -> NDArray[np.int32] | NDArray[np.int64]:
    """Rows of counters as one matrix, of 4 bytes a counter where they fit: (rows, cells).

    Args:
        counters: int64, (cells,) each.
        cells: how many counters a row has.
    """
    fits = all(row.max(initial=0) <= _NARROW and row.min(initial=0) >= -_NARROW for row in counters)
    matrix = np.empty((len(counters), cells), np.int32 if fits else np.int64)
    for place, row in enumerate(counters):
        matrix[place] = row
    return matrix


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
