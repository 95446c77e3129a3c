"""Where strings are in the rows of a sketch, and the sums over their cells."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.yield_points import without_yielding, yield_point

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.row_counts import PackedCells

_CHUNK_ITEMS: Final = 1 << 14
"""Strings are hashed so many at a time: their words stay in the processor's cache."""

_MOST_KEPT_BYTES: Final = 8 << 20
"""The buckets of some strings are kept up to this size."""


class HashedStrings:
    """The buckets of strings in the rows of sketches, of which some have more rows than others.

    Args:
        words: uint64, (items,): of the strings.
        rows: how many rows there are, so far.
        size: how many buckets a row has.
    """

    def __init__(self, words: NDArray[np.uint64], rows: int, size: int) -> None:
        self.words, self.size = words, size
        self._extending = threading.Lock()
        self._kept: NDArray[Any] | None = np.empty((0, words.size), np.min_scalar_type(size - 1))
        self.extend(rows)

    def extend(self, rows: int) -> None:
        """Hashes the strings in further rows.

        Args:
            rows: how many rows there are, from now on at least.
        """
        with without_yielding(), self._extending:
            kept = self._kept
            if kept is None or rows <= len(kept):
                return
            # Many strings are in few periods: to hash them again costs less than to keep them.
            if rows * self.words.size * kept.itemsize > _MOST_KEPT_BYTES:
                self._kept = None
                return
            further = _all_buckets(self.words, np.arange(len(kept), rows), self.size, kept.dtype)
            self._kept = np.concatenate([kept, further])

    def blocks(self, rows: NDArray[np.int64]) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
        """The buckets of some of the strings in some of the rows, block by block.

        Args:
            rows: int64, (rows,): their numbers.

        Yields:
            Which of these rows, which of the strings, and the buckets: integers, (rows, items).
        """
        items, kept = self.words.size, self._kept
        if kept is not None:
            step = max(1, _CHUNK_ITEMS // max(items, 1))
            for start in range(0, rows.size, step):
                yield_point()
                some = slice(start, min(start + step, rows.size))
                yield some, slice(0, items), kept[rows[some]]
            return
        keys = hash_cells.keys(rows)
        for start in range(0, items, _CHUNK_ITEMS):
            chunk = slice(start, min(start + _CHUNK_ITEMS, items))
            for place, key in enumerate(keys):
                yield_point()
                found = hash_cells.buckets(self.words[chunk], key, self.size)
                yield slice(place, place + 1), chunk, found[None]

    def buckets(self, rows: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings in some rows: int64, of both shapes together.

        Args:
            rows: int64: the numbers of the rows.
            chosen: int64, of a shape that fits: the strings' places in the list.
        """
        kept = self._kept
        if kept is not None:
            return kept[rows, chosen].astype(np.int64)
        return hash_cells.buckets(self.words[chosen], hash_cells.keys(rows), self.size)


def _all_buckets(
    words: NDArray[np.uint64], rows: NDArray[np.int64], size: int, dtype: Any
) -> NDArray[Any]:
    """The bucket of every string in every row: (rows, items).

    Word and key are exchangeable, so whichever there are fewer of are gone through.
    """
    found, keys = np.empty((rows.size, words.size), dtype), hash_cells.keys(rows)
    if words.size < rows.size:
        for item, word in enumerate(words):
            yield_point()
            found[:, item] = hash_cells.buckets(keys, word, size)
        return found
    for place, key in enumerate(keys):
        yield_point()
        found[place] = hash_cells.buckets(words, key, size)
    return found


def hashed_strings(
    items: tuple[str, ...], salt: int, rows: int, size: int, marks: tuple[int, ...] = ()
) -> HashedStrings:
    """The periods of a series, and the versions of a metric, are asked about the same strings.

    Versions mostly differ in how many rows they have: those of one are the first ones of another.

    Args:
        items: the strings.
        salt: the metric's.
        rows: how many rows there are.
        size: how many buckets a row has.
        marks: words of what no string can be, which come last.
    """
    strings = _remembered(items, salt, size, marks)
    strings.extend(rows)
    return strings


@lru_cache(maxsize=16)
def _remembered(
    items: tuple[str, ...], salt: int, size: int, marks: tuple[int, ...]
) -> HashedStrings:
    words = np.append(hash_cells.words(items, salt), np.array(marks, np.uint64))
    return HashedStrings(words, 0, size)


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
        """Sums over the cells of each string, one in each row: int64, (sketches, items), each."""
        sums = np.zeros((*packed.shape, self._strings.words.size), np.int64)
        for rows, items, buckets in self._strings.blocks(self._rows):
            packed.add(sums[:, :, items], rows, buckets)
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
        return self._strings.buckets(self._rows[:, None], chosen).T

    def cells(self, rows: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bucket of a string in one row, for each of several: int64, (cells,).

        Args:
            rows: int64, (cells,): the places of the rows among these.
            chosen: int64, (cells,): the strings' places in the list.
        """
        return self._strings.buckets(self._rows[rows], chosen)


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
