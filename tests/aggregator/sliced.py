"""Slice tables without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.answering.slices import BlockTotals, SliceTable
from deniable_aggregator.keeping.store import DayStamp

if TYPE_CHECKING:
    from collections.abc import Mapping


def slice_table(
    entry: Any,
    reports: Mapping[int, Mapping[str, int]],
    counters: Any = None,
    largest: Mapping[int, Mapping[str, int]] | None = None,
) -> SliceTable:
    """The table of slices with so many reports by day and key.

    Args:
        entry: the version.
        reports: by day and key.
        counters: (slices, cells): of each slice, by day and then by key.
        largest: by day and key, the most reports that one upload brought; 1 if left out.
    """
    key_ids = tuple(sorted({key for keys in reports.values() for key in keys}))
    slices = [
        (epoch, key_ids.index(key), count)
        for epoch, keys in sorted(reports.items())
        for key, count in sorted(keys.items())
    ]
    epochs, keys, counts = np.array(slices, np.int64).reshape(-1, 3).T
    stamps = {
        epoch: DayStamp(len(keys), hash(tuple(sorted(keys.items()))))
        for epoch, keys in reports.items()
    }
    rows = np.zeros((len(slices), 0), np.int64) if counters is None else np.array(counters)
    return SliceTable(
        entry,
        epochs.astype(np.int32),
        keys.astype(np.int32),
        key_ids,
        counts,
        stamps,
        rows,
        _none,
        BlockTotals(),
        np.array(
            [1 if largest is None else largest[epoch][key_ids[key]] for epoch, key, _ in slices],
            np.int64,
        ),
    )


def _none(*_where: Any) -> Any:
    return iter(())
