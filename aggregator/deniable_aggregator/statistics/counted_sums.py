"""Shares that are weighted sums of a few counts, with intervals for any number of reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from scipy import special

from deniable_aggregator.statistics import binomial
from deniable_aggregator.statistics.intervals import z_for_alpha
from deniable_aggregator.statistics.item_shares import IntervalBounds, ItemShares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.statistics.item_shares import Allowance
    from deniable_aggregator.statistics.repeated_reports import RepeatedReports

_HIGHEST_SCORE: Final = 37.0
_HALVINGS: Final = 24


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedSums(ItemShares):
    """Estimates that are a constant and a weighted sum of parts of reports.

    With few reports an interval combines the exact ones of all parts: the distances from each part
    to its ends are added like errors (Zou and Donner 2008). Parts are about the population of
    reports, so the interval also covers which devices were asked for which part.

    Attributes:
        counts: int64, (items, parts): how many reports are in each part; float64 if effective.
        trials: likewise: of how many.
        weights: float64, (items, parts): of each part in the estimate; 0 for none.
        rarest: the least probability with which a report is in a part.
        exclusive: whether the parts of an item are of the same reports, each in at most one.
    """

    counts: NDArray[np.int64] | NDArray[np.float64]
    trials: NDArray[np.int64] | NDArray[np.float64]
    weights: NDArray[np.float64]
    rarest: float
    exclusive: bool

    def take(self, chosen: NDArray[np.int64]) -> Self:
        """The estimates of some of the items, in the given order."""
        return replace(
            super().take(chosen),
            counts=self.counts[chosen],
            trials=self.trials[chosen],
            weights=self.weights[chosen],
        )

    def thinned(self, factor: float) -> CountedSums:
        """The same shares from fewer reports: all variances are multiplied by the factor.

        Args:
            factor: at least 1.
        """
        return replace(self, counts=self.counts / factor, trials=self.trials / factor)

    def limits(
        self, share: NDArray[np.float64], alpha: float, allowance: Allowance
    ) -> IntervalBounds:
        """The ends of each estimate's interval: exact parts where there are few reports.

        Args:
            share: float64, (items,): the best estimates of the true shares, from all specs.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
        """
        normal = super().limits(share, alpha, allowance)
        few = self._few(alpha)
        if not few.any():
            return normal
        alphas = np.full(self.share.size, alpha)
        below, above = self._distances(alphas)
        repeated = allowance.repeats.variance(
            np.clip(share, 0.0, 1.0), population=allowance.population
        )
        added = z_for_alpha(alpha) ** 2 * repeated
        return IntervalBounds(
            np.where(few, self.share - np.sqrt(below**2 + added), normal.low),
            np.where(few, self.share + np.sqrt(above**2 + added), normal.high),
            few & (added == 0),
        )

    def scores(self, repeats: RepeatedReports) -> NDArray[np.float64]:
        """How surprising each estimate would be if nobody held the item, as a z-score.

        With few reports, of the widest interval that lies above zero.
        """
        scores = super().scores(repeats)
        few = self._few(0.05) & (self.share > 0)
        low, high = np.zeros(self.share.size), np.full(self.share.size, _HIGHEST_SCORE)
        for _ in range(_HALVINGS if few.any() else 0):
            middle = (low + high) / 2
            below, _ = self._distances(2 * special.ndtr(-middle))
            above_zero = below**2 + middle**2 * repeats.noise(0.0) < self.share**2
            low, high = np.where(above_zero, middle, low), np.where(above_zero, high, middle)
        return np.where(few, low, scores)

    def _few(self, alpha: float) -> NDArray[np.bool_]:
        """Whether some part of an item has too few reports for a normal approximation."""
        expected = np.where(self.weights != 0, self.trials, np.inf).min(axis=1) * self.rarest
        return np.asarray(expected < binomial.least_expected(alpha))

    def _distances(
        self, alphas: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How far intervals reach below and above the estimates, by alpha of each item."""
        trials = np.maximum(self.trials, 1)
        low, high = binomial.proportion_limits(self.counts, trials, alphas[:, None])
        part = self.counts / trials
        falls, rises = self.weights * (part - low), self.weights * (high - part)
        below = np.where(self.weights > 0, falls, -rises)
        above = np.where(self.weights > 0, rises, -falls)
        return self._extra_variance(below), self._extra_variance(above)

    def _extra_variance(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        squares = (distances**2).sum(axis=1)
        if self.exclusive:
            # Two parts of opposite weights: where one grows, the other shrinks.
            first, second = ((self.counts + 1) / (self.trials + 2)).T
            apart = np.sqrt(first * second / ((1 - first) * (1 - second)))
            squares = squares + 2 * np.minimum(apart, 1.0) * distances.prod(axis=1)
        return np.asarray(np.sqrt(squares))
