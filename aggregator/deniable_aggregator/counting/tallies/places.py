"""Where strings are in the rows of a sketch, and sums over their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.yield_points import yield_point
from deniable_shared.hashing import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_CHUNK_ITEMS: Final = 1 << 15
_SUM_BITS: Final = 62


class StringPlaces:
    """Where strings are in the rows of a sketch.

    Args:
        words: uint64, (items,): of the strings.
        rows: int64, (rows,): the numbers of the rows.
        size: how many buckets a row has.
    """

    def __init__(self, words: NDArray[np.uint64], rows: NDArray[np.int64], size: int) -> None:
        self._words, self._size = words, size
        self._keys = np.array([key(row) for row in rows.tolist()], np.uint64)

    def sums(self, tables: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """Sums over the cells of each string, one in each row.

        Args:
            tables: int64, (rows, buckets), each.

        Returns:
            int64, (items,), of each table.
        """
        least = [table.min(axis=1, keepdims=True) for table in tables]
        packed = _pack_tables([table - low for table, low in zip(tables, least, strict=True)])
        summed = self._sums_by_item if self._words.size < self._keys.size else self._sums_by_row
        sums = summed([table for table, _ in packed])
        unpacked = [
            total >> shift & (1 << bits) - 1
            for total, (_, places) in zip(sums, packed, strict=True)
            for shift, bits in places
        ]
        return [above + low.sum() for above, low in zip(unpacked, least, strict=True)]

    def _sums_by_row(self, tables: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        sums = [np.zeros(self._words.size, np.int64) for _ in tables]
        for start in range(0, self._words.size, _CHUNK_ITEMS):
            chunk = slice(start, start + _CHUNK_ITEMS)
            yield_point()
            words = self._words[chunk]
            for row, row_key in enumerate(self._keys):
                buckets = hash_cells.buckets(words, row_key, self._size)
                for total, table in zip(sums, tables, strict=True):
                    total[chunk] += table[row].take(buckets)
        return sums

    def _sums_by_item(self, tables: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        first = np.arange(self._keys.size) * self._size
        cells = (first + self._row_buckets(word) for word in self._words)
        sums = [[table.take(places).sum() for table in tables] for places in cells]
        return list(np.array(sums, np.int64).reshape(-1, len(tables)).T)

    def _row_buckets(self, word: np.uint64) -> NDArray[np.int64]:
        """The bucket of one string in each row; word and key are exchangeable."""
        return hash_cells.buckets(self._keys, word, self._size)

    def buckets(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings: int64, (chosen, rows).

        Args:
            chosen: int64, (chosen,): the strings' places in the list.
        """
        buckets = np.empty((chosen.size, self._keys.size), np.int64)
        if chosen.size < self._keys.size:
            for place, item in enumerate(chosen.tolist()):
                buckets[place] = self._row_buckets(self._words[item])
            return buckets
        for row, row_key in enumerate(self._keys):
            buckets[:, row] = hash_cells.buckets(self._words[chosen], row_key, self._size)
        return buckets


def _pack_tables(
    tables: Sequence[NDArray[np.int64]],
) -> list[tuple[NDArray[np.int64], list[tuple[int, int]]]]:
    """Packs several tables into the bits of few, so that each cell is read once.

    Args:
        tables: int64, (rows, buckets), each; at least 0.

    Returns:
        Each packed table, and where in its sums those of the given ones are: the first bit, and how
        many bits a sum over the rows may have.
    """
    packed: list[tuple[NDArray[np.int64], list[tuple[int, int]]]] = []
    used = _SUM_BITS
    for table in tables:
        bits = int(table.max(axis=1).sum()).bit_length()
        if not packed or used + bits > _SUM_BITS:
            packed.append((table, [(0, bits)]))
            used = bits
            continue
        before, places = packed[-1]
        packed[-1] = before | table << used, [*places, (used, bits)]
        used += bits
    return packed
