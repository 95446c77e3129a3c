"""Limits for what a histogram holds, from raw shares of its bins; and its quantiles.

Limits for what a histogram holds, from raw shares of its bins and their covariance.

Raw shares are unbiased and nearly normal, but noisy: those of neighbouring bins of Square Wave err
in opposite directions by much more than their sum does. What is known besides is that true shares
are not negative and add up to 1. So the limits of a share are the least and the largest value that
it has in any histogram h, h >= 0 and sum 1, that the raw shares s do not contradict:

    (h - s)' A (h - s) <= (the least possible) + z^2,    A the inverse of the covariance of s.

The interval is that of a likelihood ratio test, inverted (Rust and Burrus 1972; Stark 1992). An
optimum of a Gaussian is not used as an estimate, so no bias has to be covered.

The share of several bins together is asked for after merging them to one bin. If each of them were
kept above zero by itself, the noise of many empty bins would add up to a share of their sum, and
such limits missed up to 80% of the time.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import linalg

from deniable_aggregator.counting.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_OTHERS: Final = 64
"""Of bins whose share is not asked for, neighbours are merged until so many are left.

That bounds the time. Less is then known about them, so the limits are wider, not wrong.
"""

_SUM_WEIGHT: Final = 1e3
"""How much heavier a sum other than 1 weighs than a contradiction of a raw share."""

_TINY: Final = 1e-10

MOST_CHANGES: Final = 20
"""How often each bin may become empty or be filled on the way to a limit."""


class RawHistogram:
    """Raw shares of bins: unbiased, of any sign, and nearly normal.

    Args:
        share: float64, (bins,).
        covariance: float64, (bins, bins): positive definite.
    """

    def __init__(self, share: NDArray[np.float64], covariance: NDArray[np.float64]) -> None:
        self.share = share
        self.covariance = covariance

    def limits(self, first: int, last: int, z: float) -> tuple[float, float]:
        """The lower and the upper limit of the share of some neighbouring bins together.

        Args:
            last: the one after the last; not all of the bins.
            z: how many standard errors the interval of a single normal number would extend to
                either side: 1.96 for 95%.

        Returns:
            Two numbers in [0, 1].
        """
        merged = self._merge_bins(first, last)
        return -merged.largest(-1.0, z), merged.largest(1.0, z)

    def lower_limit(self, first: int, last: int, z: float, others: int = MOST_OTHERS) -> float:
        """The lower of these limits alone.

        Args:
            first: the first of the bins.
            last: the one after the last.
            z: as above.
            others: until at most so many are left, the other bins are merged with their neighbours.
        """
        return -self._merge_bins(first, last, others).largest(-1.0, z)

    def upper_limit(self, first: int, last: int, z: float, others: int = MOST_OTHERS) -> float:
        """The upper of these limits alone; as above."""
        return self._merge_bins(first, last, others).largest(1.0, z)

    def _merge_bins(self, first: int, last: int, others: int = MOST_OTHERS) -> _Merged:
        """The histogram in which these bins are one, with its raw shares."""
        size = self.share.size
        width = max(1, -(-(first + size - last) // others))
        edges = np.array([*range(0, first, width), first, *range(last, size, width), size])
        edges = np.unique(edges)
        cumulated, covariance = self._cumulated_shares
        return _Merged(
            np.diff(cumulated[edges]),
            np.diff(np.diff(covariance[np.ix_(edges, edges)], axis=0), axis=1),
            int(np.searchsorted(edges, first)),
        )

    @cached_property
    def _cumulated_shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The shares below each edge, and their covariance."""
        covariance = np.pad(self.covariance, ((1, 0), (1, 0)))
        return (
            np.concatenate([[0.0], np.cumsum(self.share)]),
            covariance.cumsum(axis=0).cumsum(axis=1),
        )


class _Merged:
    """Histograms that raw shares do not contradict, and one bin of theirs that is asked about.

    Args:
        share: float64, (bins,).
        covariance: float64, (bins, bins).
    """

    def __init__(
        self, share: NDArray[np.float64], covariance: NDArray[np.float64], chosen: int
    ) -> None:
        size = share.size
        scale = size / np.trace(covariance)  # makes the numbers about 1, whatever the noise
        self._scale = scale
        self._covariance = covariance * scale
        self._share = share
        self._chosen = chosen
        inverse = linalg.inv(self._covariance)
        self._precision = (inverse + inverse.T) / 2
        self._held = self._closest()

    def _closest(self) -> NDArray[np.bool_]:
        """Which bins are above zero in the histogram that contradicts the raw shares least."""
        from scipy import optimize  # of few answers only, and imports for longer than all else here

        root = linalg.cholesky(self._precision)
        weight = _SUM_WEIGHT * np.sqrt(np.trace(self._precision))
        rows = np.vstack([root, np.full((1, self._share.size), weight)])
        weights, _ = optimize.nnls(rows, np.append(root @ self._share, weight))
        return np.asarray(weights > _TINY)

    def largest(self, sign: float, z: float) -> float:
        """The largest share of the bin, or with the other sign minus the least one.

        The best histogram for a reward of m per share in the bin is linear in m while the same bins
        are above zero. So m is raised from 0, from one change of these bins to the next, until the
        histogram contradicts the raw shares too much, or has everything or nothing in the bin.

        Args:
            sign: 1 or -1.
            z: see `RawHistogram.limits`.
        """
        precision, share, chosen = self._precision, self._share, self._chosen
        target, active, reward = precision @ share, self._held.copy(), 0.0
        most = np.inf
        for _ in range(MOST_CHANGES * share.size):
            inside, outside = np.flatnonzero(active), np.flatnonzero(~active)
            # Stationary where precision h - target - reward sign e_asked = multiplier, sum h = 1.
            system = np.ones((inside.size + 1, inside.size + 1))
            system[:-1, :-1] = precision[np.ix_(inside, inside)]
            system[-1, -1] = 0.0
            right = np.zeros((inside.size + 1, 2))
            right[:-1, 0], right[-1, 0], right[:-1, 1] = (
                target[inside],
                1.0,
                sign * (inside == chosen),
            )
            solved = np.linalg.solve(system, right)
            (start, speed), (base, slope) = solved[:-1].T, -solved[-1]
            apart, moving = -share, np.zeros(share.size)
            apart[inside] += start
            moving[inside] = speed
            against, change = precision @ apart, precision @ moving
            contradiction = float(apart @ against)
            if most == np.inf:
                most = contradiction + z**2 / self._scale
            # At which step is the misfit to the raw shares the largest allowed?
            square, middle = float(moving @ change), float(apart @ change)
            stop = np.inf
            if square > _TINY**2:
                remaining = middle**2 - square * (contradiction - most)
                stop = (max(remaining, 0.0) ** 0.5 - middle) / square
            # Where does a bin become empty, or an empty one start to be filled?
            emptied = _crossing(start, speed, reward)
            cost = against[outside] - base
            gain = change[outside] - sign * (outside == chosen) - slope
            filled = _crossing(cost, gain, reward)
            first_emptied, first_filled = emptied.min(), filled.min(initial=np.inf)
            reached = min(first_emptied, first_filled)
            if min(stop, reached) == np.inf:  # everything or nothing is in the bin
                return float(sign * start[inside == chosen].sum())
            if stop <= reached:
                return float(sign * (start + stop * speed)[inside == chosen].sum())
            reward = reached
            if first_emptied <= first_filled:
                active[inside[emptied.argmin()]] = False
            else:
                active[outside[filled.argmin()]] = True
        # Bins that become empty at once could go in circles: forget that shares are not negative.
        error = float(most * self._covariance[chosen, chosen]) ** 0.5
        return float(min(sign * share[chosen] + error, max(sign, 0.0)))


def _crossing(
    start: NDArray[np.float64], speed: NDArray[np.float64], earliest: float
) -> NDArray[np.float64]:
    """The time at which each number, moving at constant speed, falls below 0; infinite if never."""
    falling = speed < -_TINY
    return np.where(falling, np.maximum(-start / np.where(falling, speed, 1.0), earliest), np.inf)


_HALF = 0.5
_TAIL = 0.075
_FEW_OTHERS = 6


class BoundedValue(NamedTuple):
    """An estimate with the ends of its interval."""

    value: float
    low: float
    high: float


def normal_interval(value: float, variance: float, level: float) -> BoundedValue:
    """The normal interval of an estimate with this variance."""
    half_width = z_for_level(level) * variance**0.5
    return BoundedValue(value, value - half_width, value + half_width)


def interval_containing(value: float, low: float, high: float) -> BoundedValue:
    """An interval, widened if its estimate lies outside."""
    return BoundedValue(value, min(value, low), max(value, high))


def histogram_quantiles(histograms: NDArray[np.float64], quantile: float) -> NDArray[np.float64]:
    """The position below which a given share of each histogram lies, in widths of the range.

    Within a bin, values are taken to be spread evenly.

    Args:
        histograms: float64, (histograms, bins), each of sum 1.
        quantile: in (0, 1).
    """
    below = np.cumsum(histograms, axis=1)
    bins = histograms.shape[1]
    index = np.minimum((below < quantile).sum(axis=1), bins - 1)[:, None]
    inside = np.take_along_axis(histograms, index, axis=1)
    before = np.take_along_axis(below, index, axis=1) - inside
    part = np.clip((quantile - before) / np.where(inside > 0, inside, 1.0), 0.0, 1.0)
    return np.asarray((index + part)[:, 0] / bins)


def quantile_bins(raw: RawHistogram, quantile: float, level: float) -> tuple[int, int]:
    """The bins in which a quantile may be.

    They reach from the first bin whose share and all below it may add up to the quantile, to the
    last one for which those below it may add up to less (Woodruff 1952). Whole bins are kept, since
    nothing is known about where within a bin values are.

    The share below an edge is that of the smaller side, if the quantile lies there, merged to one
    bin; see `histogram_limits`. Outside of the tails the other side is merged to a few bins, too:
    with many bins and much noise, keeping each of them above zero made the other side too large,
    and 80% were covered. In the tails that was not seen, and there much is gained by it.

    Args:
        quantile: in (0, 1).
        level: the probability that the quantile is in one of these bins.

    Returns:
        The first of the bins, and the one after the last.
    """
    bins, z = raw.share.size, z_for_level(level)
    others = _FEW_OTHERS if _TAIL < quantile < 1 - _TAIL else MOST_OTHERS

    def most_below(edge: int) -> float:
        if quantile < _HALF:
            return raw.upper_limit(0, edge, z, others)
        return 1 - raw.lower_limit(edge, bins, z, others)

    def least_below(edge: int) -> float:
        if quantile < _HALF:
            return raw.lower_limit(0, edge, z, others)
        return 1 - raw.upper_limit(edge, bins, z, others)

    inner = range(1, bins)
    first = bisect_left(inner, quantile, key=most_below)
    last = bisect_left(inner, quantile, key=least_below)
    return min(first, last), max(first, last) + 1
