"""The cells of a sketch's rows: which are too high for an item, and what the others hold."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.hashed.sum_law import SumLaw, frequencies

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        number: float64, (items, rows): how many there are.
        mean: float64, (items, rows): how many reports support them on average.
        squares: float64, (items, rows): the sum of their squared deviations from that.
    """

    number: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]


class KeptCells(NamedTuple):
    """What is kept for an item that nobody holds.

    Attributes:
        mean: float64, (rows,): how many reports support a kept cell on average.
        variance: of an estimate over all rows, about these means.
        own: which part of a row's mean is an item's own cell, on average.
    """

    mean: NDArray[np.float64]
    variance: float
    own: float


class SketchRows:
    """The counts of a sketch, row by row.

    A string that nobody holds has a uniformly random cell in every row, independently of the counts
    (see `sum_law`). A few cells hold a very common string, listed or
    not, and would dominate every sum: for the test they are capped, and for the estimate of an item
    they are left out.

    Attributes:
        usual: the share of the devices that most cells hold at least.
        gap: how much more probably a report supports its own bucket than another.

    Args:
        reports: int64, (rows,): each at least 1.
        supporting: int64, (rows, buckets): how many reports of a row support a bucket.
        support: of the oracle inside: with which probabilities a report supports a bucket.
    """

    def __init__(
        self, reports: NDArray[np.int64], supporting: NDArray[np.int64], support: Support
    ) -> None:
        self.reports, self.supporting, self.support = reports, supporting, support
        self.total = int(reports.sum())
        self.rows, self.buckets = supporting.shape
        self.gap = support.p - support.q
        # Most cells hold little beside noise, but how much depends on the number of buckets. Some
        # of the rows tell it as well as all.
        sample = slice(None, None, max(1, self.rows // _ENOUGH_ROWS))
        usual = float(np.median(self.share(supporting[sample], reports[sample, None])))
        self.usual = min(max(usual, 0.0), 1.0)
        expected, deviation = (moment[0, sample, None] for moment in self._law(np.zeros(1)))
        lower = np.quantile((supporting[sample] - expected) / deviation, _LOWER_DEVIATION)
        self._spread = max(1.0, -float(lower))

    def share(self, supporting: Any, reports: Any) -> Any:
        """The share that some reports say of a bucket, by the support lemma.

        Args:
            supporting: how many of them support it; a number or an array.
            reports: how many there are, likewise.
        """
        return (supporting / reports - self.support.q) / self.gap

    def caps(self, share: NDArray[np.float64], deviations: float) -> NDArray[np.float64]:
        """The highest count that a cell of an item may have.

        Args:
            share: float64, (items,): the items' shares, in [0, 1].
            deviations: how many standard deviations above its mean it lies; the term after it
                allows for the skewness of small counts (Cornish and Fisher 1938).

        Returns:
            float64, (items, rows).
        """
        expected, deviation = self._law(share)
        skew = (deviations**2 - 1) / 6 * (1 - 2 * expected / self.reports)
        return np.asarray(expected + deviations * self._spread * deviation + skew)

    @cached_property
    def capped(self) -> NDArray[np.int64]:
        """What each cell counts for the test: int64, (rows, buckets), from 0 on."""
        cap = np.ceil(self.caps(np.zeros(1), TEST_CAP)).astype(np.int64).T
        return self._coarse(np.minimum(self.supporting, cap))

    @cached_property
    def law(self) -> SumLaw:
        """The law of the sum of `capped` over the rows, for a string that nobody holds."""
        return SumLaw.of_frequencies(frequencies(self.capped))

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Which cells are kept for an item that nobody holds: bool, (rows, buckets)."""
        return np.asarray(self.supporting <= self.caps(np.zeros(1), ROW_CAP).T)

    @cached_property
    def kept_law(self) -> SumLaw:
        """The law of the sum of `centred` over the rows, for a string that nobody holds."""
        return SumLaw.of_frequencies(frequencies(self._coarse(self.centred)))

    @cached_property
    def kept_cells(self) -> KeptCells:
        """What is kept for an item that nobody holds."""
        number = self.kept.sum(axis=1)
        divisor = np.maximum(number, 1)
        mean = np.where(self.kept, self.supporting, 0).sum(axis=1) / divisor
        deviations = np.where(self.kept, self.supporting - mean[:, None], 0.0)
        spread = (deviations**2).sum(axis=1) / divisor
        return KeptCells(
            mean=mean,
            variance=float(spread.sum()) / (self.total * self.gap) ** 2,
            own=float(np.mean(1 / np.maximum(divisor, 2))),
        )

    @cached_property
    def centred(self) -> NDArray[np.int64]:
        """By how much kept cells exceed their row's mean, rounded; 0 elsewhere: (rows, buckets)."""
        usual = np.rint(self.kept_cells.mean).astype(np.int64)
        return np.where(self.kept, self.supporting - usual[:, None], 0)

    @cached_property
    def rounded(self) -> float:
        """By how much the sum of `centred` over all rows is too high, as row means were rounded."""
        mean = self.kept_cells.mean
        return float((mean - np.rint(mean)).sum())

    @property
    def cell_deviation(self) -> float:
        """The standard deviation of the share that one row says of an item nobody holds."""
        return float(np.sqrt(self.support.variance(0.0, 1) * self.rows / self.total))

    def others(
        self, share: NDArray[np.float64], cells: NDArray[np.int64], highest: NDArray[np.float64]
    ) -> OtherCells:
        """The cells that would be kept for items, beside their own.

        Args:
            share: float64, (items,): the items' shares, in [0, 1].
            cells: int64, (items, rows): their own cells.
            highest: float64, (items, rows): up to where a cell is kept for them.
        """
        least, sums = self._cumulated_counts
        width, rows = sums.shape[2], np.arange(self.rows)
        limit = np.floor(highest - share[:, None] * self.reports * self.gap).astype(np.int64)
        ends = np.clip(limit - least + 1, 0, width - 1)
        number, first, second = (column[rows, ends] for column in sums)
        own = np.where(cells <= limit, cells - least, 0)
        number = number - (cells <= limit)
        first, second = first - own, second - own**2
        mean = first / np.maximum(number, 1)
        return OtherCells(number, mean + least, np.maximum(second - number * mean**2, 0.0))

    @cached_property
    def _cumulated_counts(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The least count of each row; and numbers and sums of lower counts, up to their squares.

        Counts are above the least, so that sums of squares keep their digits: (3, rows, values).
        """
        least = self.supporting.min(axis=1)
        most = self.caps(_GRID, ROW_CAP) - _GRID[:, None] * self.reports * self.gap
        # Cells above the highest cap of all items count as that cap plus one.
        beyond = np.floor(most.max(axis=0)).astype(np.int64) - least + 1
        cells = frequencies(np.minimum(self.supporting - least[:, None], beyond[:, None]))
        values = np.arange(cells.shape[1], dtype=np.float64)
        sums = np.stack([np.cumsum(cells * values**power, axis=1) for power in range(3)])
        return least, np.pad(sums, ((0, 0), (0, 0), (1, 0)))

    def _coarse(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts from 0 on, in steps that are small beside their noise."""
        _, deviation = self._law(np.zeros(1))
        step = max(1, int(np.median(deviation)) // _LEVELS)
        above = cells - cells.min(axis=1, keepdims=True)
        return np.asarray(above if step == 1 else above // step)

    def _law(self, share: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of an item's cells: float64, (items, rows), each."""
        p, q = self.support.p, self.support.q
        cell_share = np.minimum(share + self.usual, 1.0)[:, None]
        variance = (1 - cell_share) * q * (1 - q) + cell_share * p * (1 - p)
        # Which of the holders are in a row is random, too.
        variance = variance + cell_share * (1 - cell_share) * self.gap**2
        return self.reports * (q + cell_share * self.gap), np.sqrt(self.reports * variance)
