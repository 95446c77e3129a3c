"""Shares of strings in a sketch: each estimate knows its own variance and its own interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from deniable_aggregator.counting.statistics import binomial
from deniable_aggregator.counting.statistics.intervals import (
    RepeatedReports,
    wilson_end,
    z_for_alpha,
)
from deniable_aggregator.counting.statistics.shares import Allowance, IntervalBounds, ItemShares

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.binomial import SupportCounts
    from deniable_aggregator.counting.statistics.shares import Ends
    from deniable_aggregator.counting.statistics.sketch_rows import SketchRows


@dataclass(frozen=True, eq=False, kw_only=True)
class SketchShares(ItemShares):
    """Estimates of strings, each over the rows that are kept for it.

    The variance at a share f is that of the cells of an item nobody holds, which is measured and
    not modelled, and what the item's own devices add: their noise, and that only some of them are
    in the rows kept. Repeated reports are in what was measured, but for those of its own devices.

    Attributes:
        kept: float64, (items,): how many reports are in the rows kept for an item.
        rows: the counts.
        deviations: how many standard deviations from its mean the sum over the cells of an item
            that nobody holds lies where it has a score; see `SumLaw.deviations`.
        unlisted: the share of the most common string that is no candidate, where it is clear.
    """

    kept: NDArray[np.float64]
    rows: SketchRows
    deviations: Callable[[float], float]
    unlisted: float | None = None

    def take(self, chosen: NDArray[np.int64]) -> Self:
        """The estimates of some of the items, in the given order."""
        return replace(super().take(chosen), kept=self.kept[chosen])

    def null_variance_with(self, repeats: RepeatedReports) -> NDArray[np.float64]:  # noqa: ARG002
        """The variance if nobody holds the item; that of repeated reports was measured with it."""
        return self.null_variance

    def variance_with(
        self, share: NDArray[np.float64], allowance: Allowance
    ) -> NDArray[np.float64]:
        """The variance of the estimates if these are the true shares.

        Args:
            share: float64, (items,), in [0, 1].
            allowance: what it allows for beside noise.
        """
        slope, curvature = self._growth(allowance)
        return self._absent(allowance) + slope * share - curvature * share**2

    variance_at = variance_with

    def limits(
        self,
        share: NDArray[np.float64],  # noqa: ARG002
        alpha: float,
        allowance: Allowance,
        exact: Ends | None = None,
    ) -> IntervalBounds:
        """The ends of each estimate's interval: Wilson's, or exact ones for few reports.

        Args:
            share: float64, (items,): not needed, as the variance is that at each share itself.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
            exact: as of `ItemShares.limits`.
        """
        z, estimate = z_for_alpha(alpha), self.share
        counted = cast("SupportCounts", self.support_counts)
        if binomial.is_small_count(counted, alpha):
            return self._exact_limits(counted, alpha, allowance, exact)
        slope, curvature = self._growth(allowance)
        absent = self._absent(allowance)
        # The cells of others are not quite normal; a high estimate decides the lower end.
        low, high = (
            wilson_end(
                estimate,
                (self.deviations(-side) / side) ** 2 * absent,
                slope,
                curvature,
                side,
            )
            for side in (-z, z)
        )
        return IntervalBounds(
            np.minimum(low, estimate), np.maximum(high, estimate), np.zeros(estimate.size, bool)
        )

    def sum_variance(self, repeats: RepeatedReports) -> float | None:
        """The variance of the sum of all estimates; None where devices repeat permanent answers.

        Given what was counted, where one string falls says nothing of where another does. But if
        both fall into one bucket, each is moved by the other's share, unless that is so large that
        the row is left out or the other is fitted.

        Args:
            repeats: extra variance because one device may have sent several reports.
        """
        if repeats.extra and repeats.permanent is not None:
            return None
        rows, share = self.rows, np.clip(self.share, 0.0, 1.0)
        own = self.variance_with(share, Allowance(rows.total, repeats))
        beside = share[share < rows.most_beside]
        together = (beside.sum() ** 2 - (beside**2).sum()) / (rows.rows * (rows.buckets - 1))
        return float(own.sum() + together)

    def _absent(self, allowance: Allowance) -> NDArray[np.float64]:
        """The variance if nobody held the items.

        Where devices reported repeatedly, few of them may fill a cell, which is then left out and
        not measured: it is at least what the same devices in all periods would give.
        """
        repeats = allowance.repeats
        if not repeats.extra or repeats.permanent is None:
            return self.null_variance
        counted = cast("SupportCounts", self.support_counts)
        alone = counted.support.variance(0.0, counted.reports) + repeats.noise(0.0)
        return np.asarray(np.maximum(self.null_variance, alone * self.rows.total / self.kept))

    def _growth(self, allowance: Allowance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How the variance grows with the share f: by slope f - curvature f^2.

        An item's own devices support it with p instead of q; the reports of one of them may share
        permanent noise; and the share of those in the kept rows differs from that of all.
        """
        total, inner, repeats = self.rows.total, self.rows.support, allowance.repeats
        stretch = total / self.kept
        own = (1 - inner.p - inner.q) / ((inner.p - inner.q) * total)
        own += repeats.noise(1.0) - repeats.noise(0.0)
        sampled = 1 / total + repeats.extra
        elsewhere = 1 - allowance.population  # of a population, all rows are a sample
        return (own + sampled) * stretch - sampled * elsewhere, sampled * (stretch - elsewhere)

    def _exact_limits(
        self, counted: SupportCounts, alpha: float, allowance: Allowance, exact: Ends | None
    ) -> IntervalBounds:
        """Intervals from the exact binomial law of the supporters in all rows.

        Their distances from the estimate are stretched for the rows left out, and combined with the
        variance that the measured one has beyond that law (Zou and Donner 2008).
        """
        plain = ItemShares(
            counted.support.share(counted.supporting, counted.reports),
            self.variance,
            self.null_variance,
            counted._replace(family_variance=0.0),
        )
        share = np.clip(self.share, 0.0, 1.0)
        around = plain.limits(share, alpha, allowance, exact)
        stretch = self.rows.total / self.kept
        law = counted.support.variance(0.0, counted.reports) * stretch
        added = z_for_alpha(alpha) ** 2 * np.maximum(self.null_variance - law, 0.0)
        below = np.sqrt(stretch * (plain.share - around.low) ** 2 + added)
        above = np.sqrt(stretch * (around.high - plain.share) ** 2 + added)
        return IntervalBounds(self.share - below, self.share + above, around.exact)
