"""Shares within a segment beside those of all devices, and limits of how far they are apart.

The limits are made of differences of sets of values, d(A) = P(A | segment) - P(A), each with an
interval of Fieller's kind.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.estimation.segments.parts import variance_together
from deniable_aggregator.statistics.intervals import z_for_alpha
from deniable_aggregator.statistics.ratios import fieller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.estimation.segments.parts import SegmentPart

_MOST_SETS: Final = 24
"""So many sets of values are looked at, of different sizes; others would tell little more."""


class Interval(NamedTuple):
    """The ends of an interval; infinite where it has none."""

    low: float
    high: float


class PartAndWhole:
    """Shares within a segment beside those of all devices, and limits of their differences.

    Attributes:
        values: how many values the metric has.
        size: the share of the segment.
        inside: float64, (values,): of the values within the segment, as shares of all devices.
        whole: float64, (values,): of the values, whatever the segment.
    """

    def __init__(self, parts: Sequence[SegmentPart]) -> None:
        self._parts = [part.part for part in parts]
        segments = parts[0].segments
        places = np.arange(segments.by.size * segments.of.size).reshape(segments.by.size, -1)
        self.values = segments.of.size
        self._mine = parts[0].inside
        self._others = np.delete(places, self._mine[0] // self.values, axis=0)
        reports = np.array([part.reports for part in self._parts], np.float64)
        self.reports = int(reports.sum())
        self._weights = reports / reports.sum()
        pairs = [part.shares.share for part in self._parts]
        share = np.asarray(self._weights @ np.array(pairs)).reshape(places.shape)
        self.whole = share.sum(axis=0)
        self.inside = share.ravel()[self._mine]
        self.size = float(self.inside.sum())
        self._size_variance = self._variance(self._mine)

    def least_total_variation(self, alpha: float) -> float:
        """A lower limit of the total variation: the largest of those of some sets of values.

        The sets follow from the estimates, so the intervals hold for all sets at once (Scheffe
        1953). The differences of a set and of its complement are opposite; the one without the
        first value is looked at, so these lie in as many dimensions as there are other values.

        Args:
            alpha: the probability that the limit may be too high, in (0, 1).
        """
        z = float(np.sqrt(special.chdtri(self.values - 1, alpha)))
        order = np.argsort(self.whole - self.inside / self.size, kind="stable")
        sizes = np.geomspace(1, self.values - 1, min(self.values - 1, _MOST_SETS))
        least = 0.0
        for count in sorted(set(np.rint(sizes).astype(int).tolist())):
            chosen, others = order[:count], order[count:]
            difference = self._difference(np.sort(others if 0 in chosen else chosen), z)
            least = max(least, -difference.high if 0 in chosen else difference.low)
        return least

    def least_earth_mover(self, alpha: float) -> float:
        """A lower limit of the earth mover's distance: the mean of those of its parts.

        Its parts are the differences of the shares up to each value, all but the last. Their
        intervals hold at once (Bonferroni).

        Args:
            alpha: the probability that the limit may be too high, in (0, 1).
        """
        edges = self.values - 1
        z, total = z_for_alpha(alpha / edges), 0.0
        for count in range(1, self.values):
            difference = self._difference(np.arange(count), z)
            total += max(difference.low, -difference.high, 0.0)
        return total / edges

    def least_share(self, value: int, alpha: float) -> float:
        """A lower limit of a value's share within the segment.

        Args:
            alpha: the probability that the limit may be too high, in (0, 1).
        """
        chosen = np.array([value])
        chosen_variance, other_variance = (self._variance(places) for places in self._split(chosen))
        covariance = (chosen_variance + self._size_variance - other_variance) / 2
        low = self._ratio(
            float(self.inside[value]), chosen_variance, covariance, z_for_alpha(2 * alpha)
        ).low
        return max(low, 0.0)

    def _difference(self, chosen: NDArray[np.int64], z: float) -> Interval:
        """The interval of P(A | segment) - P(A), where it contains z standard errors.

        With the shares X of A and Z of its complement within the segment, Y of A outside of it and
        S = X + Z, that is X / S - (X + Y). At a difference d, X - (d + X + Y) S has the mean 0, and
        its noise is (1 - S) dX - S dY - (d + X + Y) dS: so X / S is bounded as of Fieller, with the
        first two as the noise of X.
        """
        mine, others = self._split(chosen)
        out = self._others[:, chosen].ravel()
        x, y = self._variance(mine), self._variance(out)
        xy = (self._variance(np.concatenate([mine, out])) - x - y) / 2
        xs = (x + self._size_variance - self._variance(others)) / 2
        everything = np.concatenate([self._mine, out])
        ys = (self._variance(everything) - self._size_variance - y) / 2
        s = self.size
        own = (1 - s) ** 2 * x - 2 * s * (1 - s) * xy + s**2 * y
        ratio = self._ratio(float(self.inside[chosen].sum()), own, (1 - s) * xs - s * ys, z)
        whole = float(self.whole[chosen].sum())
        return Interval(ratio.low - whole, ratio.high - whole)

    def _split(self, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of the segment with some values, and with all others."""
        return self._mine[chosen], np.delete(self._mine, chosen)

    def _ratio(self, top: float, own: float, covariance: float, z: float) -> Interval:
        """Fieller's interval of a ratio to the segment's share; all numbers where it has no end.

        Args:
            top: the numerator.
            own: its variance.
            covariance: its covariance with the segment's share.
            z: half of the interval's width, in standard errors.
        """
        low, high = map(float, fieller(top, self.size, own, covariance, self._size_variance, z))
        return Interval(-np.inf, np.inf) if math.isnan(low) else Interval(low, high)

    def _variance(self, chosen: NDArray[np.int64]) -> float:
        """The variance of the share of some pairs together, over all versions."""
        variances = [variance_together(part, np.sort(chosen), "noise") for part in self._parts]
        return float(self._weights**2 @ np.array(variances))
