"""Estimated shares with their errors: each estimate knows its own test and its own interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from scipy import special

from deniable_aggregator.counting.statistics import binomial
from deniable_aggregator.counting.statistics.intervals import (
    RepeatedReports,
    score_limits,
    z_for_alpha,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.binomial import SupportCounts

    Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
    """The lower and the upper ends of intervals: float64, (items,), each."""


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
            `deniable_aggregator.counting.statistics.influence`.
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

    def exact_counts(self, alpha: float, allowance: Allowance) -> SupportCounts | None:
        """The counts from whose exact law about these devices intervals are made; None for none.

        Args:
            alpha: as of `limits`.
            allowance: as of `limits`.
        """
        counted = self.support_counts
        if counted is None or allowance.population or counted.sampled:
            return None
        return counted if binomial.is_small_count(counted, alpha) else None

    def limits(
        self,
        share: NDArray[np.float64],
        alpha: float,
        allowance: Allowance,
        exact: Ends | None = None,
    ) -> IntervalBounds:
        """The ends of each estimate's interval.

        Args:
            share: float64, (items,): the best estimates of the true shares, from all specs.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
            exact: the ends of the intervals of `exact_counts`, where they are known already.
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
        low, high = exact or limits(counted, alpha)
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


def limits_of_each(
    estimates: Sequence[tuple[ItemShares, Allowance]], alpha: float
) -> list[IntervalBounds]:
    """The intervals of several estimates, around each one's own shares.

    Exact ones are looked for all at once: those of few items take longer to call NumPy for.

    Args:
        estimates: with what the intervals of each allow for beside noise.
        alpha: the probability that one interval may miss, in (0, 1).
    """
    counts = [shares.exact_counts(alpha, allowance) for shares, allowance in estimates]
    small = [counted for counted in counts if counted is not None]
    ends = iter(binomial.finite_population_limits_of(small, alpha))
    return [
        shares.limits(shares.share, alpha, allowance, None if counted is None else next(ends))
        for (shares, allowance), counted in zip(estimates, counts, strict=True)
    ]


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
        self,
        share: NDArray[np.float64],
        alpha: float,
        allowance: Allowance,
        exact: Ends | None = None,
    ) -> IntervalBounds:
        """The ends of each estimate's interval: exact parts where there are few reports.

        Args:
            share: float64, (items,): the best estimates of the true shares, from all specs.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
            exact: as of `ItemShares.limits`.
        """
        normal = super().limits(share, alpha, allowance, exact)
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
