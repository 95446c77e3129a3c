"""Sums of slices that are not in memory: kept by blocks of days, so that few are read again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store import add_slices
from deniable_aggregator.store.encoding import CounterSum

if TYPE_CHECKING:
    from collections.abc import Hashable

    from deniable_aggregator.slices.table import SliceTable

MOST_TOTALS_BYTES: Final = 128 << 20
"""All sums together; those that were asked for longest ago are forgotten."""

BLOCK_DAYS: Final = 32
"""The sum of so many days is kept, instead of those of days."""

RECENT_DAYS: Final = 8
"""The sums of so many days, the newest ones, are kept each by itself: most reports come late, if
they do, by a few days."""

_WORTH_KEEPING: Final = BLOCK_DAYS // 2
"""A smaller part of a block, such as one period of a series, is not kept."""


class BlockTotals:
    """Sums of blocks of days; each is summed again when the stamp of one of its days changes.

    Args:
        most_bytes: how much memory the sums take at most.
    """

    def __init__(self, most_bytes: int = MOST_TOTALS_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, CounterSum] = OrderedDict()
        self._bytes = 0

    def total(self, table: SliceTable, cells: int) -> CounterSum:
        """The sum of all slices of a table, without days that became one.

        Args:
            table: its counters are not in memory.
            cells: how many of the stored integers of each slice are wanted, the first ones.
        """
        total = CounterSum(cells)
        table = replace(table, rolled=())  # days that became one have a sum
        blocks: dict[tuple[int, int], list[int]] = {}
        for day in table.days.tolist():
            recent = day > int(table.epochs[-1]) - RECENT_DAYS
            blocks.setdefault((day, 1) if recent else (day // BLOCK_DAYS, 0), []).append(day)
        for (_, recent), days in blocks.items():
            block = table.between(days[0], days[-1])
            if recent or len(days) >= _WORTH_KEEPING:
                total.add_sum(self._block(block, cells))
            else:
                _add(total, block)
        return total

    def _block(self, block: SliceTable, cells: int) -> CounterSum:
        name = block.fingerprint, cells
        with self._lock:
            if name in self._held:
                self._held.move_to_end(name)
                return self._held[name]
        total = CounterSum(cells)
        _add(total, block)
        with self._lock:
            if name not in self._held:
                self._bytes += total.nbytes
            self._held[name] = total
            while self._bytes > self._most_bytes and len(self._held) > 1:
                self._bytes -= self._held.popitem(last=False)[1].nbytes
        return total


def _add(total: CounterSum, block: SliceTable) -> None:
    add_slices(total, block.entry.tally, (part for _, part in block.read_stored()))
