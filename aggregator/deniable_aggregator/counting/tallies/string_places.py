"""Where strings are in the rows of a sketch, and the sums over their cells."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.yield_points import yield_point
from deniable_shared.hashing import key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.row_counts import PackedCells

_CHUNK_ITEMS: Final = 1 << 14
"""Strings are hashed so many at a time: their words stay in the processor's cache."""

_MOST_KEPT_BYTES: Final = 8 << 20
"""The buckets of some strings are kept up to this size."""


class HashedStrings:
    """The buckets of strings in the rows of a sketch.

    Args:
        words: uint64, (items,): of the strings.
        rows: how many rows there are.
        size: how many buckets a row has.
    """

    def __init__(self, words: NDArray[np.uint64], rows: int, size: int) -> None:
        self.words, self.size = words, size
        narrow = np.min_scalar_type(size - 1)
        self._kept: NDArray[Any] | None = None
        # Many strings are in few periods: to hash them again costs less than to keep them.
        if rows * words.size * narrow.itemsize <= _MOST_KEPT_BYTES:
            self._kept = _all_buckets(words, np.arange(rows), size, narrow)

    def blocks(self, rows: NDArray[np.int64]) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
        """The buckets of some of the strings in some of the rows, block by block.

        Args:
            rows: int64, (rows,): their numbers.

        Yields:
            Which of these rows, which of the strings, and the buckets: integers, (rows, items).
        """
        items = self.words.size
        if self._kept is not None:
            step = max(1, _CHUNK_ITEMS // max(items, 1))
            for start in range(0, rows.size, step):
                yield_point()
                some = slice(start, min(start + step, rows.size))
                yield some, slice(0, items), self._kept[rows[some]]
            return
        for start in range(0, items, _CHUNK_ITEMS):
            chunk = slice(start, min(start + _CHUNK_ITEMS, items))
            for place, row in enumerate(rows.tolist()):
                yield_point()
                found = hash_cells.buckets(self.words[chunk], key(row), self.size)
                yield slice(place, place + 1), chunk, found[None]

    def buckets(self, rows: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings: int64, (rows, chosen).

        Args:
            rows: int64, (rows,): the numbers of the rows.
            chosen: int64, (chosen,): the strings' places in the list.
        """
        if self._kept is not None:
            return self._kept[rows[:, None], chosen].astype(np.int64)
        return _all_buckets(self.words[chosen], rows, self.size, np.int64)


def _all_buckets(
    words: NDArray[np.uint64], rows: NDArray[np.int64], size: int, dtype: Any
) -> NDArray[Any]:
    """The bucket of every string in every row: (rows, items).

    Word and key are exchangeable, so whichever there are fewer of are gone through.
    """
    found = np.empty((rows.size, words.size), dtype)
    keys = [key(row) for row in rows.tolist()]
    if words.size < rows.size:
        every_key = np.array(keys, np.uint64)
        for item, word in enumerate(words):
            yield_point()
            found[:, item] = hash_cells.buckets(every_key, word, size)
        return found
    for place, row_key in enumerate(keys):
        yield_point()
        found[place] = hash_cells.buckets(words, row_key, size)
    return found


@lru_cache(maxsize=16)
def hashed_strings(
    items: tuple[str, ...], salt: int, rows: int, size: int, marks: tuple[int, ...] = ()
) -> HashedStrings:
    """The periods of a series, and the versions of a metric, are asked about the same strings.

    Args:
        items: the strings.
        salt: the metric's.
        rows: how many rows there are.
        size: how many buckets a row has.
        marks: words of what no string can be, which come last.
    """
    words = np.append(hash_cells.words(items, salt), np.array(marks, np.uint64))
    return HashedStrings(words, rows, size)


class StringPlaces:
    """Where strings are in the rows of a sketch.

    Args:
        strings: hashes them.
        rows: int64, (rows,): the numbers of the rows.
    """

    def __init__(self, strings: HashedStrings, rows: NDArray[np.int64]) -> None:
        self._strings = strings
        self._rows = rows

    def sums(self, packed: PackedCells) -> list[NDArray[np.int64]]:
        """Sums over the cells of each string, one in each row: int64, (items,), each."""
        sums = np.zeros((packed.size, self._strings.words.size), np.int64)
        for rows, items, buckets in self._strings.blocks(self._rows):
            packed.add(sums[:, items], rows, buckets)
        return packed.unpack(sums)

    def table_sums(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums over the cells of each string, one in each row: int64, (items,).

        Args:
            table: int64, (rows, buckets).
        """
        sums = np.zeros(self._strings.words.size, np.int64)
        for rows, items, buckets in self._strings.blocks(self._rows):
            some = table[rows]
            first = np.arange(len(some))[:, None] * some.shape[1]
            sums[items] += some.ravel().take(first + buckets).sum(axis=0)
        return sums

    def all_buckets(self, dtype: Any) -> NDArray[Any]:
        """The buckets of all strings: (rows, items).

        Args:
            dtype: of unsigned integers that hold every bucket.
        """
        found = np.empty((self._rows.size, self._strings.words.size), dtype)
        for rows, items, buckets in self._strings.blocks(self._rows):
            found[rows, items] = buckets
        return found

    def buckets(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings: int64, (chosen, rows).

        Args:
            chosen: int64, (chosen,): the strings' places in the list.
        """
        return self._strings.buckets(self._rows, chosen).T


class RememberedPlaces:
    """Where strings are in rows of at most 256 buckets, hashed once.

    Args:
        places: hashes the strings.
    """

    def __init__(self, places: StringPlaces) -> None:
        self._buckets = places.all_buckets(np.uint8)

    def sums(self, tables: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Sums over the cells of each string, float64, (items,), of each table.

        Args:
            tables: float64, (rows, buckets), each.
        """
        return [
            sum(
                (row.take(buckets) for row, buckets in zip(table, self._buckets, strict=True)),
                np.zeros(self._buckets.shape[1]),
            )
            for table in tables
        ]

    def buckets(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings: int64, (chosen, rows).

        Args:
            chosen: int64, (chosen,): the strings' places in the list.
        """
        return self._buckets[:, chosen].T.astype(np.int64)
