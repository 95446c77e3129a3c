"""The cells of the rows of sketches: which are too high for an item, and what the others hold."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.counting.statistics.binomial import supports_at
from deniable_aggregator.counting.statistics.row_counts import (
    PackedCells,
    RowCounts,
    distinct_counts,
    weighted_medians,
    weighted_quantiles,
)
from deniable_aggregator.counting.statistics.sum_law import laws_of_frequencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.sum_law import SumLaw
    from deniable_shared.mechanisms import Support


TEST_CAP: Final = 3.0
"""Cells count for the test at most so many standard deviations above what an absent item has."""

ROW_CAP: Final = 4.5
"""A row is left out of an estimate where it is so many standard deviations above the item's."""

_LEVELS: Final = 16
"""How finely the test counts, per standard deviation of a cell: rounding costs 1/3,000 of it."""

_LOWER_DEVIATION: Final = 0.1587
"""The part of a normal law that is more than one standard deviation below its centre."""

_ENOUGH_ROWS: Final = 64

_GRID: Final = np.linspace(0.0, 1.0, 33) ** 2


class OtherCells(NamedTuple):
    """The cells beside an item's own that would be kept, if they had the item's devices on top.

    Attributes:
        number: float64, (cells,): how many there are.
        mean: float64, (cells,): how many reports support them on average.
        squares: float64, (cells,): the sum of their squared deviations from that.
    """

    number: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]


class KeptCells(NamedTuple):
    """What is kept for an item that nobody holds.

    Attributes:
        mean: float64, (rows,): how many reports support a kept cell on average.
        variance: float64, (sketches,): of an estimate over all rows, about these means.
        own: float64, (sketches,): which part of a row's mean is an item's own cell, on average.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    own: NDArray[np.float64]


class SketchRows:
    """The counts of a sketch, row by row.

    Attributes:
        total: how many reports all rows have.
        rows: how many rows there are.
        buckets: how many cells each has.
        gap: how much more probably a report supports its own bucket than another.

    Args:
        reports: int64, (rows,): each at least 1.
        supporting: integers of any width, (rows, buckets): how many reports of a row support a
            bucket.
        support: of the oracle inside: with which probabilities a report supports a bucket.
    """

    def __init__(
        self, reports: NDArray[np.int64], supporting: NDArray[Any], support: Support
    ) -> None:
        self.reports, self.supporting, self.support = reports, supporting, support
        self.total = int(reports.sum())
        self.rows, self.buckets = supporting.shape
        self.gap = support.p - support.q

    def share(self, supporting: Any, reports: Any) -> Any:
        """The share that some reports say of a bucket, by the support lemma.

        Args:
            supporting: how many of them support it; a number or an array.
            reports: how many there are, likewise.
        """
        return (supporting / reports - self.support.q) / self.gap

    @property
    def most_beside(self) -> float:
        """Rows in which another string has a larger share are left out for a string's estimate."""
        return ROW_CAP * self.cell_deviation

    @property
    def cell_deviation(self) -> float:
        """The standard deviation of the share that one row says of an item nobody holds."""
        return float(np.sqrt(self.support.variance(0.0, 1) * self.rows / self.total))


class SketchStack:
    """What is usual in the rows of one sketch, or of several: worked out for all of them at once.

    A string that nobody holds has a uniformly random cell in every row, independently of the counts
    (see `sum_law`). A few cells hold a very common string, listed or
    not, and would dominate every sum: for the test they are capped, and for the estimate of an item
    they are left out.

    Few reports take longer to call NumPy for than to look at, so sketches of few reports, such as
    those of the versions of a metric, stand in one table, the rows of one after those of another.

    Attributes:
        sketches: each with the same number of buckets.
        total: int64, (sketches,): how many reports each has.
        rows: int64, (sketches,): how many rows each has.
        starts: int64, (sketches,): the first row of each.
        sketch: int64, (rows,): whose each row is.
        reports: int64, (rows,): each at least 1.
        supporting: integers, (rows, buckets): how many reports of a row support a bucket.
        usual: float64, (sketches,): the share of the devices that most cells hold at least.
    """

    def __init__(self, sketches: Sequence[SketchRows]) -> None:
        self.sketches = tuple(sketches)
        self.total, self.rows = (
            np.array([getattr(sketch, name) for sketch in sketches]) for name in ("total", "rows")
        )
        self.starts = np.cumsum(self.rows) - self.rows
        self.sketch = np.repeat(np.arange(self.rows.size), self.rows)
        self.reports, self.supporting = sketches[0].reports, sketches[0].supporting
        if len(sketches) > 1:
            self.reports, self.supporting = (
                np.concatenate([getattr(sketch, name) for sketch in sketches])
                for name in ("reports", "supporting")
            )
        support = supports_at([sketch.support for sketch in sketches], self.sketch)
        self._p, self._q, self._gap = support.p, support.q, support.p - support.q
        # Most cells hold little beside noise, but how much depends on the number of buckets. Some
        # of the rows tell it as well as all.
        sample = np.concatenate(
            [
                np.arange(start, start + rows, max(1, rows // _ENOUGH_ROWS))
                for start, rows in zip(self.starts.tolist(), self.rows.tolist(), strict=True)
            ]
        )
        row, counts, number = distinct_counts(self.supporting[sample])
        row = sample[row]
        of = self.sketch[row]
        shares = (counts / self.reports[row] - self._q[row]) / self._gap[row]
        self.usual = np.clip(weighted_medians(shares, number, of), 0.0, 1.0)
        expected, deviation = self._absent_law
        away = (counts - expected[row]) / deviation[row]
        self._spread = np.maximum(1.0, -weighted_quantiles(away, number, of, _LOWER_DEVIATION))

    @property
    def gap(self) -> NDArray[np.float64]:
        """The `SketchRows.gap` of each sketch: float64, (sketches,)."""
        return np.asarray(self._gap[self.starts])

    def caps(self, deviations: float) -> NDArray[np.float64]:
        """The highest count that a cell of an item nobody holds may have: float64, (rows,).

        Args:
            deviations: as of `caps_at`.
        """
        return self._caps(self._absent_law, deviations, slice(None))

    def caps_at(
        self, share: NDArray[np.float64], deviations: float, rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The highest count that a cell of an item may have.

        Args:
            share: float64, (cells,): the item's share, in [0, 1].
            deviations: how many standard deviations above its mean it lies; the term after it
                allows for the skewness of small counts (Cornish and Fisher 1938).
            rows: int64, (cells,): the row of each cell.
        """
        return self._caps(self._law(share, rows), deviations, rows)

    def _caps(
        self, law: tuple[NDArray[np.float64], NDArray[np.float64]], deviations: float, rows: Any
    ) -> NDArray[np.float64]:
        expected, deviation = law
        skew = (deviations**2 - 1) / 6 * (1 - 2 * expected / self.reports[rows])
        spread = self._spread[self.sketch[rows]]
        return np.asarray(expected + deviations * spread * deviation + skew)

    def sums(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The sum over the rows of each sketch: (sketches,), or (sketches, ...).

        Args:
            numbers: (rows,), or (rows, ...).
        """
        return np.asarray(np.add.reduceat(numbers, self.starts, axis=0))

    @cached_property
    def _cells(self) -> RowCounts:
        """What the cells count, those that nothing tells apart as one."""
        caps = self.caps(ROW_CAP), self.caps(TEST_CAP) + 1, self._most
        return RowCounts(self.supporting, np.floor(np.max(caps, axis=0)).astype(np.int64) + 1)

    @cached_property
    def _capped(self) -> NDArray[np.int64]:
        """What a cell of each count counts for the test: int64, (rows, values), from 0 on."""
        cap = np.ceil(self.caps(TEST_CAP)).astype(np.int64)[:, None]
        return self._coarse(np.minimum(self._cells.counts, cap))

    def coarse(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts from 0 on, in steps that are small beside their noise.

        Args:
            cells: int64, (rows, buckets).
        """
        return self._in_steps(cells - cells.min(axis=1, keepdims=True))

    @cached_property
    def laws(self) -> list[SumLaw]:
        """Of each sketch the law of the sum of `_capped`, for a string that nobody holds."""
        return laws_of_frequencies(self._cells.frequencies(self._capped), self.starts)

    @cached_property
    def _kept(self) -> NDArray[np.bool_]:
        """Which counts are kept for an item that nobody holds: bool, (rows, values)."""
        cells = self._cells
        return np.asarray((cells.counts <= self.caps(ROW_CAP)[:, None]) & (cells.number > 0))

    @cached_property
    def kept_laws(self) -> list[SumLaw]:
        """Of each sketch the law of the sum of `_centred`, for a string that nobody holds."""
        return laws_of_frequencies(
            self._cells.frequencies(self._coarse(self._centred)), self.starts
        )

    @cached_property
    def kept_cells(self) -> KeptCells:
        """What is kept for an item that nobody holds."""
        cells = self._cells
        kept = np.where(self._kept, cells.number, 0)
        number = kept.sum(axis=1)
        divisor = np.maximum(number, 1)
        mean = (kept * cells.counts).sum(axis=1) / divisor
        deviations = np.where(self._kept, cells.counts - mean[:, None], 0.0)
        spread = cells.sums(deviations**2) / divisor
        return KeptCells(
            mean=mean,
            variance=self.sums(spread) / (self.total * self.gap) ** 2,
            own=self.sums(1 / np.maximum(divisor, 2)) / self.rows,
        )

    @cached_property
    def _centred(self) -> NDArray[np.int64]:
        """By how much kept counts exceed their row's mean, rounded; 0 elsewhere: (rows, values)."""
        usual = np.rint(self.kept_cells.mean).astype(np.int64)
        return np.where(self._kept, self._cells.counts - usual[:, None], 0)

    @cached_property
    def packed(self) -> PackedCells:
        """What is added up over a string's cells.

        Their counts; what these count for the test; by how much they exceed their row's mean, where
        they are kept; and where they are not, how many reports their row has.
        """
        left_out = np.where(self._kept, 0, self.reports[:, None])
        return PackedCells(self._cells, (self._capped, self._centred, left_out), self.starts)

    @cached_property
    def tested(self) -> PackedCells:
        """Of `packed` the counts, and what these count for the test."""
        return PackedCells(self._cells, (self._capped,), self.starts)

    @cached_property
    def rounded(self) -> NDArray[np.float64]:
        """By how much sums of what exceeds row means are too high, as these were rounded."""
        mean = self.kept_cells.mean
        return self.sums(mean - np.rint(mean))

    def others(
        self,
        share: NDArray[np.float64],
        rows: NDArray[np.int64],
        cells: NDArray[np.int64],
        highest: NDArray[np.float64],
    ) -> OtherCells:
        """The cells that would be kept for items, beside their own.

        Args:
            share: float64, (cells,): the share of the item whose cell it is, in [0, 1].
            rows: int64, (cells,): the row of each cell.
            cells: int64, (cells,): what it counts.
            highest: float64, (cells,): up to where a cell is kept for the item.
        """
        least, sums = self._cumulated_counts
        width, least = sums.shape[2], least[rows]
        limit = np.floor(highest - share * self.reports[rows] * self._gap[rows]).astype(np.int64)
        ends = np.clip(limit - least + 1, 0, width - 1)
        number, first, second = (column[rows, ends] for column in sums)
        own = np.where(cells <= limit, cells - least, 0)
        number = number - (cells <= limit)
        first, second = first - own, second - own**2
        mean = first / np.maximum(number, 1)
        return OtherCells(number, mean + least, np.maximum(second - number * mean**2, 0.0))

    @cached_property
    def _most(self) -> NDArray[np.float64]:
        """The highest count of a cell beside its own that any item keeps: float64, (rows,)."""
        grid = _GRID[:, None]
        most = self._caps(self._law(grid, slice(None)), ROW_CAP, slice(None))
        most -= grid * self.reports * self._gap
        return np.asarray(most.max(axis=0))

    @cached_property
    def _cumulated_counts(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The least count of each row; and numbers and sums of lower counts, up to their squares.

        Counts are above the least, so that sums of squares keep their digits: (3, rows, values).
        """
        cells = self._cells
        # Cells above the highest cap of all items count as that cap plus one.
        beyond = np.floor(self._most).astype(np.int64)[:, None] - cells.least + 1
        above = cells.frequencies(np.minimum(cells.counts - cells.least, beyond))
        values = np.arange(above.shape[1], dtype=np.float64)
        sums = np.stack([np.cumsum(above * values**power, axis=1) for power in range(3)])
        return cells.least[:, 0], np.pad(sums, ((0, 0), (0, 0), (1, 0)))

    def _coarse(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of counts, see `coarse`."""
        known = np.where(self._cells.number > 0, numbers, np.iinfo(np.int64).max)
        return self._in_steps(numbers - known.min(axis=1, keepdims=True))

    def _in_steps(self, above: NDArray[np.int64]) -> NDArray[np.int64]:
        deviation = self._absent_law[1]
        middle = weighted_medians(deviation, np.ones(deviation.size, np.int64), self.sketch)
        steps = np.maximum(1, middle.astype(np.int64) // _LEVELS)
        return above if (steps == 1).all() else above // steps[self.sketch][:, None]

    @cached_property
    def _absent_law(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the cells of an item nobody holds: float64, (rows,)."""
        return self._law(np.zeros(self.sketch.size), slice(None))

    def _law(
        self, share: NDArray[np.float64], rows: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of an item's cells: float64, of the shares' shape, each."""
        p, q, reports = self._p[rows], self._q[rows], self.reports[rows]
        cell_share = np.minimum(share + self.usual[self.sketch[rows]], 1.0)
        variance = (1 - cell_share) * q * (1 - q) + cell_share * p * (1 - p)
        # Which of the holders are in a row is random, too.
        variance = variance + cell_share * (1 - cell_share) * self._gap[rows] ** 2
        return reports * (q + cell_share * self._gap[rows]), np.sqrt(reports * variance)
