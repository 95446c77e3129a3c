"""The cells of rows by what they count: what depends on a count alone is worked out once for each.

A row has thousands of cells and tens of different counts. Numbers that follow from a cell's row and
count stand in a table of these, and a cell's are looked up where they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BLOCK_BYTES: Final = 1 << 19
"""Cells are looked up so many bytes at a time, which stay in the processor's cache."""

_MOSTLY_LOW: Final = 4
"""Where fewer than one of so many cells exceed their row's least, these alone are counted."""

_FEW_VALUES: Final = 8
"""Up to so many values are counted one after the other."""

_SUM_BITS: Final = 62

_SPARSE: Final = 4
"""Counts that are spread over more than so many times as many values as cells are sorted."""


class RowCounts:
    """What the cells of rows count.

    Attributes:
        least: int64, (rows, 1): the least count of each row.
        counts: int64, (rows, values): the counts that the cells of a row may have, ascending by 1
            from its least; a row's highest stands for all higher ones, too.
        number: int64, (rows, values): how many cells of a row have each; 0 beyond its highest.

    Args:
        cells: integers from 0 on, (rows, cells).
        alike: int64, (rows,): from which count on the cells of a row are taken to be alike.
    """

    def __init__(self, cells: NDArray[Any], alike: NDArray[np.int64]) -> None:
        self._cells = cells
        least, highest = (end.astype(np.int64) for end in (cells.min(axis=1), cells.max(axis=1)))
        self.least, self._above = least[:, None], highest - least
        highest = np.minimum(highest, alike)
        least = np.minimum(least, highest)
        # In integers as narrow as the cells are.
        narrow = [end.astype(cells.dtype)[:, None] for end in (least, highest)]
        self._values = np.minimum(cells, narrow[1])
        self._values -= narrow[0]
        self._width = int((highest - least).max(initial=0)) + 1
        self.counts = least[:, None] + np.arange(self._width)
        self.number = np.empty(self.counts.shape, np.int64)
        step = max(1, _BLOCK_BYTES // max(cells.shape[1] * cells.itemsize, 1))
        for start in range(0, len(cells), step):
            self.number[start : start + step] = _frequencies(
                self._values[start : start + step], self._width
            )

    @property
    def nbytes(self) -> int:
        """How much memory it takes, without the cells that it was made of."""
        return int(self._values.nbytes + self.counts.nbytes + self.number.nbytes)

    def sums(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the cells of each row of what a table has for their count.

        Args:
            table: float64, (rows, values).

        Returns:
            float64, (rows,).
        """
        return np.asarray((self.number * table).sum(axis=1))

    def frequencies(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many cells of each row have 0, 1, 2, ... in a table.

        Args:
            table: int64, (rows, values), from 0 on where there are cells.

        Returns:
            int64, (rows, different numbers).
        """
        known = np.where(self.number > 0, table, 0)
        width = int(known.max(initial=0)) + 1
        places = known + np.arange(len(known))[:, None] * width
        size = len(known) * width
        found = np.bincount(places.ravel(), self.number.ravel(), size)
        return found.astype(np.int64).reshape(len(known), width)


def _frequencies(values: NDArray[Any], width: int) -> NDArray[np.int64]:
    """How many cells of each row have 0, 1, 2, ...: int64, (rows, width).

    Args:
        values: integers below the width, (rows, cells).
    """
    rows, cells = values.shape
    if width <= _FEW_VALUES:
        return np.stack([_true(values == value) for value in range(width)], axis=1)
    high = np.flatnonzero(values != 0)
    if high.size * _MOSTLY_LOW > values.size:
        places = np.add(values, np.arange(rows)[:, None] * width, dtype=np.int64)
        return np.bincount(places.ravel(), minlength=rows * width).reshape(rows, width)
    places = high // cells * width + values.ravel().take(high)
    found = np.bincount(places, minlength=rows * width).reshape(rows, width)
    found[:, 0] = cells - found.sum(axis=1)
    return found


def _true(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many entries of each row are true: int64, (rows,)."""
    # Sums of narrow integers are several times as fast as those of wide ones.
    width = np.min_scalar_type(mask.shape[1])
    return np.asarray(np.add.reduce(mask.view(np.uint8), axis=1, dtype=width), np.int64)


class PackedCells:
    """Counts, and tables of them, in the bits of few integers, so that each cell is read once.

    Args:
        rows: the cells.
        tables: int64, (rows, values), each.
        starts: int64, (sketches,): the first row of each sketch, whose rows are added up.
    """

    def __init__(
        self, rows: RowCounts, tables: Sequence[NDArray[np.int64]], starts: NDArray[np.int64]
    ) -> None:
        self._rows = rows
        lengths = np.diff(starts, append=len(rows.least))
        self._sketch = np.repeat(np.arange(starts.size), lengths)

        def most_together(highest: NDArray[np.int64]) -> int:
            return int(np.add.reduceat(highest, starts).max())

        known = rows.number > 0
        lowest = [
            np.where(known, table, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
            for table in tables
        ]
        above = [np.where(known, table - low, 0) for table, low in zip(tables, lowest, strict=True)]
        most = [most_together(each) for each in (rows._above, *(t.max(axis=1) for t in above))]
        self._places: list[tuple[int, int, int]] = []
        self._tables: list[NDArray[np.int64]] = [np.zeros(rows.counts.shape, np.int64)]
        used = 0
        for place, largest in enumerate(most):
            bits = largest.bit_length()
            if used + bits > _SUM_BITS:
                self._tables.append(np.zeros(rows.counts.shape, np.int64))
                used = 0
            self._places.append((len(self._tables) - 1, used, bits))
            if place:
                self._tables[-1] |= above[place - 1] << used
            used += bits
        self._lowest = [np.add.reduceat(low, starts) for low in (rows.least, *lowest)]

    @property
    def shape(self) -> tuple[int, int]:
        """How many integers a cell has, and how many sketches there are."""
        return len(self._tables), len(self._lowest[0])

    def add(self, sums: NDArray[np.int64], rows: slice, places: NDArray[Any]) -> None:
        """Adds the cells of some rows to sums.

        Args:
            sums: int64, (integers, sketches, items); changed in place.
            rows: which rows.
            places: integers, (rows, items): the place of each item's cell in its row.
        """
        cells, width = self._rows._cells[rows], self._rows.counts.shape[1]
        numbers = np.arange(len(cells))[:, None]
        flat = places + numbers * cells.shape[1]
        where = self._rows._values[rows].ravel().take(flat) + numbers * width
        sketch = self._sketch[rows]
        starts = np.flatnonzero(np.diff(sketch, prepend=-1))
        chosen = slice(int(sketch[0]), int(sketch[-1]) + 1)
        for total, table in zip(sums, self._tables, strict=True):
            total[chosen] += _sums_by_sketch(table[rows].ravel().take(where), starts)
        # Counts have the lowest bits of the first.
        sums[0, chosen] += _sums_by_sketch(cells.ravel().take(flat), starts)
        sums[0, chosen] -= _sums_by_sketch(self._rows.least[rows], starts)

    def unpack(self, sums: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The sums of the counts, and of what each table has for them.

        Args:
            sums: int64, (integers, sketches, items), over one cell of every row.

        Returns:
            int64, (sketches, items), each.
        """
        return [
            (sums[at] >> shift & (1 << bits) - 1) + lowest
            for (at, shift, bits), lowest in zip(self._places, self._lowest, strict=True)
        ]


def _sums_by_sketch(numbers: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums over the rows of each sketch: int64, (sketches, items).

    Args:
        numbers: integers, (rows, items).
        starts: int64, (sketches,): the first row of each.
    """
    if starts.size == 1:
        return np.asarray(numbers.sum(axis=0, dtype=np.int64, keepdims=True))
    return np.asarray(np.add.reduceat(numbers, starts, axis=0, dtype=np.int64))


def distinct_counts(
    cells: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The different counts of each row: int64, (different,), the row, the count and how many.

    Args:
        cells: integers from 0 on, (rows, cells).
    """
    least = cells.min(axis=1, keepdims=True)
    values = cells - least
    width = int(values.max()) + 1
    if width > _SPARSE * cells.shape[1]:
        places = np.add(values, np.arange(len(cells))[:, None] * width, dtype=np.int64)
        found, number = np.unique(places, return_counts=True)
        row, above = np.divmod(found, width)
    else:
        table = _frequencies(values, width)
        row, above = np.nonzero(table)
        number = table[row, above]
    return row, above + least[row, 0].astype(np.int64), number


def weighted_medians(
    values: NDArray[np.float64], number: NDArray[np.int64], groups: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The median of each group of values that come several times each, as `np.median` of them.

    Args:
        values: float64, (values,).
        number: int64, (values,): how often each comes, at least once.
        groups: int64, (values,): whose each is; from 0 on, ascending, none without values.

    Returns:
        float64, (groups,).
    """
    ordered, ends, before, size = _in_order(values, number, groups)
    middle = before + np.stack([(size - 1) // 2, size // 2])
    return np.asarray(ordered[np.searchsorted(ends, middle, "right")].mean(axis=0))


def weighted_quantiles(
    values: NDArray[np.float64], number: NDArray[np.int64], groups: NDArray[np.int64], q: float
) -> NDArray[np.float64]:
    """A quantile of each group of such values, as `np.quantile` of them: float64, (groups,).

    Args:
        values: as of `weighted_medians`.
        number: likewise.
        groups: likewise.
        q: in [0, 1].
    """
    ordered, ends, before, size = _in_order(values, number, groups)
    place = (size - 1) * q
    first = place.astype(np.int64)
    both = before + np.stack([first, np.minimum(first + 1, size - 1)])
    low, high = ordered[np.searchsorted(ends, both, "right")]
    part = place - first
    apart = high - low
    return np.asarray(np.where(part < 0.5, low + apart * part, high - apart * (1 - part)))


def _in_order(
    values: NDArray[np.float64], number: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The values of each group in their order, and up to each how many there are.

    Returns:
        float64, (values,), and int64, (values,); and how many are before a group, and how many are
        in it: int64, (groups,), each.
    """
    order = np.lexsort((values, groups))
    ends = np.cumsum(number[order])
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    before = np.append(0, ends)[first]
    return values[order], ends, before, np.diff(before, append=ends[-1])
