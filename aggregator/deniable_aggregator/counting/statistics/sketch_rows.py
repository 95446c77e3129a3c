"""The cells of a sketch's rows: which are too high for an item, and what the others hold.

The law of a sum of independent draws, one from each of several known distributions.

A string that nobody holds has a uniformly random bucket in every row of a sketch (a random bit in
every cohort of RAPPOR), whatever was counted there. Given the counts, a sum over its cells is a sum
of independent draws from them, so its law is known without any model: noise, collisions with other
strings, listed or not, and repeated reports are all in the counts.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.counting.statistics.row_counts import (
    PackedCells,
    RowCounts,
    distinct_counts,
    weighted_median,
    weighted_quantile,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


LOWEST_SCORE: Final = -5.0
HIGHEST_SCORE: Final = 37.0

_TILTS: Final = np.arange(-8.25, 39.0, 0.5)
"""Saddlepoints of the table, in units of one over the sum's standard deviation; 0 is none."""

_LEAST: Final = 1e-300

_TILTED_OUTCOMES: Final = 1 << 16
"""So many outcomes are tilted at once: fewer take longer, and more leave the processor's cache."""


class SumLaw:
    """The law of a sum of draws, as a table of z-scores.

    P(sum >= x) is the saddlepoint approximation of Lugannani and Rice (1980) in the form of
    Barndorff-Nielsen, which is a z-score itself: w + log(u / w) / w. It is accurate to a few
    percent of the probability far into the tail, where sums are not normal.

    Args:
        values: float64, (outcomes,): what the draws can give: those of the first, then those of
            the next.
        weights: float64, (outcomes,): how probable each is; positive, and 1 together for a draw.
        starts: int64, (draws,): where the outcomes of each draw begin.
        step: the distance between possible sums, 1 for integers; 0 if they are not on a lattice.
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
        starts: NDArray[np.int64],
        step: float = 1.0,
    ) -> None:
        draws = np.repeat(np.arange(starts.size), np.diff(starts, append=values.size))
        means = np.add.reduceat(weights * values, starts)
        centred = values - means[draws]
        self.mean: float = float(means.sum())
        deviation = float(np.sqrt(weights @ centred**2))
        if not deviation > 0:
            # Every sum is the same, so none is surprising.
            self._deviation, self._sums, self._scores = 0.0, np.zeros(1), np.full(1, LOWEST_SCORE)
            return
        at_once = max(1, _TILTED_OUTCOMES // values.size)
        table = [
            _saddlepoints(tilts / deviation, centred, weights, draws, starts, step)
            for tilts in np.array_split(_TILTS, range(at_once, _TILTS.size, at_once))
        ]
        sums, scores = np.concatenate(table, axis=1)
        self._deviation = deviation
        self._sums = np.maximum.accumulate(sums) + self.mean
        self._scores = np.maximum.accumulate(scores)

    @classmethod
    def of_cells(cls, cells: NDArray[np.int64] | NDArray[np.float64], step: float = 1.0) -> SumLaw:
        """The law of a sum of equally probable cells, one from each row.

        Args:
            cells: int64 or float64, (rows, cells).
            step: see `SumLaw`.
        """
        ordered = np.sort(cells, axis=1)
        first = np.ones(ordered.shape, bool)
        np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
        places = np.flatnonzero(first)
        weights = np.diff(places, append=ordered.size) / ordered.shape[1]
        starts = np.searchsorted(places, np.arange(len(ordered)) * ordered.shape[1])
        return cls(ordered.ravel()[places].astype(np.float64), weights, starts, step)

    @classmethod
    def of_frequencies(cls, counts: NDArray[np.int64]) -> SumLaw:
        """The law of a sum of draws of integers.

        Args:
            counts: int64, (draws, values): how often each draw has 0, 1, 2, ...; see `frequencies`.
        """
        draws, values = np.nonzero(counts)
        weights = counts[draws, values] / counts.sum(axis=1)[draws]
        starts = np.searchsorted(draws, np.arange(len(counts)))
        return cls(values.astype(np.float64), weights, starts)

    def scores(self, sums: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
        """How surprising sums are, as z-scores: of the probability of a sum as large or larger.

        Args:
            sums: int64 or float64, (items,).

        Returns:
            float64, (items,), in [-5, 37].
        """
        scores = np.interp(sums, self._sums, self._scores)
        return np.asarray(np.clip(scores, LOWEST_SCORE, HIGHEST_SCORE))

    def deviations(self, score: float) -> float:
        """How many standard deviations from the mean the sum with a score lies.

        That is the score itself for a normal law.

        Args:
            score: between -8 and 37.
        """
        if not self._deviation:
            return score
        return float(np.interp(score, self._scores, self._sums) - self.mean) / self._deviation


def frequencies(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each row has the values 0, 1, 2, ...: int64, (rows, values).

    Args:
        cells: int64, (rows, cells), at least 0.
    """
    width = int(cells.max()) + 1
    places = cells + np.arange(len(cells))[:, None] * width
    return np.bincount(places.ravel(), minlength=len(cells) * width).reshape(len(cells), width)


def _saddlepoints(
    tilts: NDArray[np.float64],
    centred: NDArray[np.float64],
    weights: NDArray[np.float64],
    draws: NDArray[np.int64],
    starts: NDArray[np.int64],
    step: float,
) -> NDArray[np.float64]:
    """Sums, and their z-scores, at several tilts t: K'(t), and w + log(u / w) / w.

    K is the cumulant generating function of the sum about its mean, w = sign(t) sqrt(2 (t K' - K)),
    and u = sqrt(K'') (1 - exp(-t step)) / step, or sqrt(K'') t without a lattice (Daniels 1987).

    Args:
        tilts: float64, (tilts,): t, none of them 0.
        centred: float64, (outcomes,): different outcomes about their draw's mean, draw by draw.
        weights: float64, (outcomes,): their probabilities.
        draws: int64, (outcomes,): whose they are.
        starts: int64, (draws,): where each draw's begin.
        step: of the lattice.

    Returns:
        float64, (2, tilts).
    """
    exponent = tilts[:, None] * centred
    highest = np.maximum.reduceat(exponent, starts, axis=1)
    tilted = weights * np.exp(exponent - highest[:, draws])
    total = np.add.reduceat(tilted, starts, axis=1)
    first = np.add.reduceat(tilted * centred, starts, axis=1) / total
    second = np.add.reduceat(tilted * centred**2, starts, axis=1) / total - first**2
    cumulant, mean = (np.log(total) + highest).sum(axis=1), first.sum(axis=1)
    w = np.copysign(np.sqrt(np.maximum(2 * (tilts * mean - cumulant), _LEAST)), tilts)
    scale = tilts if step == 0 else -np.expm1(-tilts * step) / step
    u = scale * np.sqrt(np.maximum(second.sum(axis=1), _LEAST))
    return np.stack([mean, w + np.log(u / w) / w])


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
        # Most cells hold little beside noise, but how much depends on the number of buckets. Some
        # of the rows tell it as well as all.
        sample = np.arange(0, self.rows, max(1, self.rows // _ENOUGH_ROWS))
        row, counts, number = distinct_counts(supporting[sample])
        row = sample[row]
        usual = weighted_median(self.share(counts, reports[row]), number)
        self.usual = min(max(usual, 0.0), 1.0)
        expected, deviation = (moment[0, row] for moment in self._law(np.zeros(1)))
        lower = weighted_quantile((counts - expected) / deviation, number, _LOWER_DEVIATION)
        self._spread = max(1.0, -lower)

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
    def _cells(self) -> RowCounts:
        """What the cells count, those that nothing tells apart as one."""
        absent = np.zeros(1)
        caps = self.caps(absent, ROW_CAP)[0], self.caps(absent, TEST_CAP)[0] + 1, self._most
        return RowCounts(self.supporting, np.floor(np.max(caps, axis=0)).astype(np.int64) + 1)

    @cached_property
    def _capped(self) -> NDArray[np.int64]:
        """What a cell of each count counts for the test: int64, (rows, values), from 0 on."""
        cap = np.ceil(self.caps(np.zeros(1), TEST_CAP)).astype(np.int64).T
        return self._coarse(np.minimum(self._cells.counts, cap))

    def coarse(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts from 0 on, in steps that are small beside their noise.

        Args:
            cells: int64, (rows, buckets).
        """
        return self._in_steps(cells - cells.min(axis=1, keepdims=True))

    @cached_property
    def law(self) -> SumLaw:
        """The law of the sum of `_capped` over the rows, for a string that nobody holds."""
        return SumLaw.of_frequencies(self._cells.frequencies(self._capped))

    @cached_property
    def _kept(self) -> NDArray[np.bool_]:
        """Which counts are kept for an item that nobody holds: bool, (rows, values)."""
        cells = self._cells
        return np.asarray((cells.counts <= self.caps(np.zeros(1), ROW_CAP).T) & (cells.number > 0))

    @cached_property
    def kept_law(self) -> SumLaw:
        """The law of the sum of `_centred` over the rows, for a string that nobody holds."""
        return SumLaw.of_frequencies(self._cells.frequencies(self._coarse(self._centred)))

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
            variance=float(spread.sum()) / (self.total * self.gap) ** 2,
            own=float(np.mean(1 / np.maximum(divisor, 2))),
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
        return PackedCells(self._cells, (self._capped, self._centred, left_out))

    @cached_property
    def tested(self) -> PackedCells:
        """Of `packed` the counts, and what these count for the test."""
        return PackedCells(self._cells, (self._capped,))

    @cached_property
    def rounded(self) -> float:
        """By how much sums of what exceeds row means are too high, as these were rounded."""
        mean = self.kept_cells.mean
        return float((mean - np.rint(mean)).sum())

    @property
    def most_beside(self) -> float:
        """Rows in which another string has a larger share are left out for a string's estimate."""
        return ROW_CAP * self.cell_deviation

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
    def _most(self) -> NDArray[np.float64]:
        """The highest count of a cell beside its own that any item keeps: float64, (rows,)."""
        most = self.caps(_GRID, ROW_CAP) - _GRID[:, None] * self.reports * self.gap
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
        _, deviation = self._law(np.zeros(1))
        step = max(1, int(np.median(deviation)) // _LEVELS)
        return np.asarray(above if step == 1 else above // step)

    def _law(self, share: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of an item's cells: float64, (items, rows), each."""
        p, q = self.support.p, self.support.q
        cell_share = np.minimum(share + self.usual, 1.0)[:, None]
        variance = (1 - cell_share) * q * (1 - q) + cell_share * p * (1 - p)
        # Which of the holders are in a row is random, too.
        variance = variance + cell_share * (1 - cell_share) * self.gap**2
        return self.reports * (q + cell_share * self.gap), np.sqrt(self.reports * variance)
