"""Estimated shares with their errors: each estimate knows its own test and its own interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from deniable_aggregator.statistics import binomial
from deniable_aggregator.statistics.intervals import score_limits, z_for_alpha
from deniable_aggregator.statistics.repeated_reports import RepeatedReports

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.statistics.support_counts import SupportCounts

LEAST_VARIANCE: Final = 1e-30
"""Of rounding errors: a share of a whole domain has no noise, and its variance would be 0."""


class IntervalBounds(NamedTuple):
    """The ends of intervals.

    Attributes:
        low: float64, (items,), at most the estimate.
        high: float64, (items,), at least the estimate.
        exact: bool, (items,): whether it is, or contains, an exact binomial interval.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exact: NDArray[np.bool_]


class Allowance(NamedTuple):
    """What errors allow for beside the noise of single reports.

    Attributes:
        reports: how many reports of the spec were counted; at least 1.
        repeats: extra variance because one device may have sent several reports.
        population: whether the devices are a sample of the population that is asked about.
    """

    reports: int
    repeats: RepeatedReports = RepeatedReports()
    population: bool = False

    def variance(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance that is added.

        Args:
            share: float64, (items,): the true shares, in [0, 1].
        """
        added = self.repeats.variance(share, population=self.population)
        if self.population:
            added = added + share * (1 - share) / self.reports
        return np.asarray(added)


@dataclass(frozen=True, eq=False)
class ItemShares:
    """Unbiased estimates of items' shares among the devices that reported.

    Attributes:
        share: float64, (items,); may lie outside [0, 1].
        variance: float64, (items,): of the estimate, if the true share is the estimated one.
        null_variance: float64, (items,): of the estimate, if nobody holds the item.
        support_counts: the counts, if the estimates follow from them by the support lemma.
        influence: float64, (items,): how far forged reports could move each estimate; see
            `deniable_aggregator.statistics.influence`.
        law_scores: float64, (items,): z-scores of the test that nobody holds the item, where the
            tally itself gives their law; repeated reports are in it.
    """

    share: NDArray[np.float64]
    variance: NDArray[np.float64]
    null_variance: NDArray[np.float64]
    support_counts: SupportCounts | None = None
    influence: NDArray[np.float64] | None = None
    law_scores: NDArray[np.float64] | None = None

    def take(self, chosen: NDArray[np.int64]) -> Self:
        """The estimates of some of the items, in the given order."""
        counted = self.support_counts
        return replace(
            self,
            share=self.share[chosen],
            variance=self.variance[chosen],
            null_variance=self.null_variance[chosen],
            support_counts=(
                None if counted is None else counted._replace(supporting=counted.supporting[chosen])
            ),
            influence=None if self.influence is None else self.influence[chosen],
            law_scores=None if self.law_scores is None else self.law_scores[chosen],
        )

    def null_variance_with(self, repeats: RepeatedReports) -> NDArray[np.float64]:
        """The variance if nobody holds the item; positive, and with that of repeated reports."""
        return np.asarray(np.maximum(self.null_variance + repeats.noise(0.0), LEAST_VARIANCE))

    def variance_with(
        self, share: NDArray[np.float64], allowance: Allowance
    ) -> NDArray[np.float64]:
        """The variance of the estimates with what is allowed for.

        Args:
            share: float64, (items,), in [0, 1]: the best estimates of the true shares.
            allowance: what it allows for beside noise.
        """
        return np.asarray(self.variance + allowance.variance(share))

    def variance_at(self, share: NDArray[np.float64], allowance: Allowance) -> NDArray[np.float64]:
        """The variance of the estimates if these were the true shares, where that is known.

        Args:
            share: float64, (items,), in [0, 1].
            allowance: what it allows for beside noise.
        """
        counted = self.support_counts
        if counted is None or counted.sampled:
            return self.variance_with(share, allowance)
        noise = counted.support.variance(share, counted.reports) + counted.family_variance
        return np.asarray(noise + allowance.variance(share))

    def sum_variance(self, repeats: RepeatedReports) -> float | None:  # noqa: ARG002
        """The variance of the sum of all estimates, where it is measured; else None.

        Args:
            repeats: extra variance because one device may have sent several reports.
        """
        return None

    def scores(self, repeats: RepeatedReports) -> NDArray[np.float64]:
        """How surprising each estimate would be if nobody held the item, as a z-score.

        Args:
            repeats: extra variance because one device may have sent several reports.

        Returns:
            float64, (items,).
        """
        if self.law_scores is not None:
            return self.law_scores
        if self.support_counts is None:
            return np.asarray(self.share / np.sqrt(self.null_variance_with(repeats)))
        return binomial.null_scores(self.support_counts, repeats.noise(0.0))

    def limits(
        self, share: NDArray[np.float64], alpha: float, allowance: Allowance
    ) -> IntervalBounds:
        """The ends of each estimate's interval.

        Args:
            share: float64, (items,): the best estimates of the true shares, from all specs.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
        """
        z, counted = z_for_alpha(alpha), self.support_counts
        share = np.clip(share, 0.0, 1.0)
        # Where only a random part of the devices answered, that part is a sample of all devices.
        sampled = allowance.population or (counted is not None and counted.sampled)
        if counted is None or (counted.sampled and not binomial.is_small_count(counted, alpha)):
            width = z * np.sqrt(self.variance_with(share, allowance))
            return self._bounds_between(self.share - width, self.share + width, exact=False)
        repeats = allowance.repeats
        if not binomial.is_small_count(counted, alpha):
            low, high = score_limits(
                self.share,
                counted.reports,
                counted.support,
                z=z,
                family=counted.family_variance,
                population=sampled,
                repeats=repeats,
            )
            return self._bounds_between(low, high, exact=False)
        limits = binomial.clopper_pearson_limits if sampled else binomial.finite_population_limits
        low, high = limits(counted, alpha)
        repeated: Any = repeats.variance(share, population=allowance.population)
        added = z**2 * (counted.family_variance + repeated)
        below = np.sqrt(np.maximum(self.share - low, 0.0) ** 2 + added)
        above = np.sqrt(np.maximum(high - self.share, 0.0) ** 2 + added)
        return self._bounds_between(
            self.share - below, self.share + above, exact=not np.any(repeated)
        )

    def _bounds_between(
        self, low: NDArray[np.float64], high: NDArray[np.float64], *, exact: bool
    ) -> IntervalBounds:
        share = self.share
        return IntervalBounds(
            np.minimum(low, share), np.maximum(high, share), np.full(share.size, exact)
        )
