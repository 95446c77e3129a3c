"""Shares of several versions of a metric, combined."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.answering.estimation.domains import SpecEstimate, allowance_of, variance_of
from deniable_aggregator.counting.statistics.influence import FORGED_SHARE, concentrate
from deniable_aggregator.counting.statistics.intervals import shared_pairs_across_specs, z_for_alpha
from deniable_aggregator.counting.statistics.set_estimates import SetShares
from deniable_aggregator.counting.statistics.shares import IntervalBounds, limits_of_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin, VersionId


def shared_collisions(
    parts: Sequence[SpecEstimate], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The covariance of sketches of several versions: they have the same hash family.

    Their common rows have the same collisions, whose error does not average out over versions. Of
    two versions it is at most the smaller one's.
    """
    total = np.zeros(weights.shape[1])
    family = np.zeros_like(weights)
    for row, part in zip(family, parts, strict=True):
        counted = part.shares.support_counts
        if counted is not None and counted.family_variance > 0:
            # Of what is measured for an item nobody holds, noise and collisions have fixed parts.
            noise = counted.support.variance(0.0, counted.reports)
            collisions = counted.family_variance / (noise + counted.family_variance)
            row[part.known] = part.shares.null_variance * collisions
    for first, second in itertools.combinations(np.flatnonzero(family.any(axis=1)), 2):
        together = np.minimum(family[first], family[second])
        total += 2 * together * weights[first] * weights[second]
    return total


def variance_between(
    parts: Sequence[SpecEstimate],
    weights: NDArray[np.float64],
    reports: NDArray[np.int64],
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What sampling devices adds to the sampling within each version; see `CombinedShares.between`.

    An estimate is the average over all reports, so its error is that of their deviations from the
    share: each one's variance in a version is f_s (1 - f_s) + (f_s - f)^2, of which a version's own
    variance has the first term.
    """
    total = np.zeros(share.size)
    deviations = []
    for row, part in zip(weights, parts, strict=True):
        apart, spread, weight = np.zeros(share.size), np.zeros(share.size), row.copy()
        weight[part.impossible] = part.reports / reports[part.impossible]
        apart[part.impossible] = share[part.impossible]
        shares = part.shares.share
        apart[part.known] = shares - share[part.known]
        spread[part.known] = np.clip(shares, 0.0, 1.0) * (1 - np.clip(shares, 0.0, 1.0))
        total += weight**2 * (1 / part.reports + part.repeats.extra) * apart**2
        deviations.append(weight * np.sqrt(spread + apart**2))
    for first, second in itertools.combinations(range(len(parts)), 2):
        total += (
            2
            * shared_pairs_fraction(parts[first], parts[second])
            * (deviations[first] * deviations[second])
        )
    return total


def shared_pairs_fraction(first: SpecEstimate, second: SpecEstimate) -> float:
    """Which part of all pairs of reports of two versions may be of one device, at most.

    Their permanent noise differs between versions, but their values may be the same.
    """
    if first.spec == second.spec or first.periods is None or second.periods is None:
        return 0.0
    pairs = shared_pairs_across_specs(first.periods, second.periods)
    return pairs / (first.reports * second.reports)


if TYPE_CHECKING:
    VersionIds = tuple[VersionId, ...] | None
    """The ids of some versions of a metric; None for all."""


@dataclass(frozen=True)
class CombinedShares:
    """Estimates of a list of items, each over the reports of all versions that know it.

    A version's weight for an item is its part of these reports, so the estimate is the average over
    them, whatever the devices of each version hold (a stratified estimate, Cochran 1977, ch. 5). A
    version none of whose reports can be about the item counts with 0, and without an error.

    Attributes:
        share: float64, (items,).
        variance: float64, (items,).
        null_variance: float64, (items,), if nobody held the item.
        scores: float64, (items,): of the test that nobody holds it, as z-scores.
        weights: float64, (parts, items): the weight of each estimate; 0 where there is none.
        reports: int64, (items,): over how many reports an item is known; 0 if no version knows it.
        between: float64, (items,): variance because versions differ and the devices are a sample,
            because one device may have used several versions, one after the other, and because
            sketches of several versions have the same collisions.
    """

    parts: Sequence[SpecEstimate]
    margin: Margin
    share: NDArray[np.float64]
    variance: NDArray[np.float64]
    null_variance: NDArray[np.float64]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64]
    reports: NDArray[np.int64]
    between: NDArray[np.float64]

    @cached_property
    def total(self) -> int:
        """How many reports all versions have."""
        return sum({part.spec: part.reports for part in self.parts}.values())

    def versions_of(self, chosen: NDArray[np.int64]) -> list[VersionIds]:
        """Over which versions' reports some of the items are known.

        Args:
            chosen: int64, (items,): their positions.

        Returns:
            For each item the versions' ids; None where it is known over all reports.
        """
        if (self.reports[chosen] == self.total).all():
            return [None] * chosen.size
        knows = {part.spec: np.zeros(self.reports.size, bool) for part in self.parts}
        for part in self.parts:
            knows[part.spec][part.known] = True
            knows[part.spec][part.impossible] = True
        ids = [spec.digest.hex() for spec in knows]
        table = np.array([row[chosen] for row in knows.values()]).T.tolist()
        names = {is_known: tuple(compress(ids, is_known)) for is_known in set(map(tuple, table))}
        return [None if all(is_known) else names[tuple(is_known)] for is_known in table]

    def variance_at(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of the estimates if these were the true shares.

        Args:
            share: float64, (items,): all versions are assumed to be off by the same.
        """
        moved, variance = share - self.share, self.between.copy()
        for part, weights in zip(self.parts, self.weights, strict=True):
            mine = part.known
            shares = np.clip(part.shares.share + moved[mine], 0.0, 1.0)
            own = part.shares.variance_at(shares, allowance_of(part, self.margin))
            variance[mine] += weights[mine] ** 2 * own
        return variance

    def limits(self, chosen: NDArray[np.int64], alpha: float) -> IntervalBounds:
        """Intervals for some of the items.

        Where there are several errors (of several versions, or of noise and of a hash family), the
        distances from the estimate to the end of each one's interval are combined like
        independent errors: the root of the sum of squares (Zou and Donner 2008).

        Args:
            chosen: int64, (items,): their positions.
            alpha: the probability that a single one may miss, in (0, 1).
        """
        down = z_for_alpha(alpha) ** 2 * self.between[chosen]
        up = down.copy()
        is_exact = np.zeros(chosen.size, bool)
        estimates, factors, places = [], [], []
        for part, weights in zip(self.parts, self.weights, strict=True):
            position = np.full(self.share.size, -1)
            position[part.known] = np.arange(part.known.size)
            mine = np.flatnonzero(position[chosen] >= 0)
            if mine.size:
                shares = part.shares.take(position[chosen[mine]])
                estimates.append((shares, allowance_of(part, self.margin)))
                factors.append(weights[chosen[mine]])
                places.append(mine)
        ends = limits_of_each(estimates, alpha)
        for (shares, _), own, weight, mine in zip(estimates, ends, factors, places, strict=True):
            down[mine] += (weight * (shares.share - own.low)) ** 2
            up[mine] += (weight * (own.high - shares.share)) ** 2
            is_exact[mine] |= own.exact
        share = self.share[chosen]
        return IntervalBounds(share - np.sqrt(down), share + np.sqrt(up), is_exact)

    def fixed_covariance(
        self,
        later: CombinedShares,
        chosen: NDArray[np.int64],
        before: NDArray[np.float64],
        after: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """The covariance with another period through what is the same in both, whoever reports.

        Args:
            later: of the other period.
            chosen: int64, (items,): the positions of some of the items.
            before: float64, (items,): their true shares.
            after: float64, (items,): those in the other period.
        """
        total = np.zeros(chosen.size)
        for (mine, weight), (theirs, factor) in itertools.product(
            zip(self.parts, self.weights, strict=True),
            zip(later.parts, later.weights, strict=True),
        ):
            first, second = mine.shares, theirs.shares
            if mine.spec != theirs.spec or not isinstance(first, SetShares):
                continue
            assert isinstance(second, SetShares)
            own = np.searchsorted(mine.known, chosen).clip(max=mine.known.size - 1)
            is_known = mine.known[own] == chosen
            shares, others = first.take(own[is_known]), second.take(own[is_known])
            ends = (np.clip(column[is_known], 0.0, 1.0) for column in (before, after))
            weights = (weight * factor)[chosen[is_known]]
            total[is_known] += weights * shares.common_variance(others, *ends)
        return total

    def possible(self, chosen: NDArray[np.int64], alpha: float) -> IntervalBounds:
        """Between which shares of all reports some of the items can lie, known or not.

        From none of the reports that may be about an item to all of them: at least those where it
        is known to be, at most also all that are counted as the `other` of a version that does not
        list it, and all of a version that says nothing about it. Each end has its error.

        Args:
            chosen: int64, (items,): their positions.
            alpha: the probability that the range may miss, in (0, 1).
        """
        total, z = self.total, z_for_alpha(alpha)
        fraction, own = self.reports[chosen] / total, self.limits(chosen, alpha)
        covered, least = fraction.copy(), fraction * self.share[chosen]
        # Of a sample, also how many of its devices know the item is chance.
        chance = z**2 * fraction * (1 - fraction) / total * (self.margin == "noise-and-sampling")
        down = (fraction * (self.share[chosen] - own.low)) ** 2 + chance
        most, up = least.copy(), (fraction * (own.high - self.share[chosen])) ** 2 + chance
        for part in self.parts:
            weight = part.reports / total
            for ends, share, error, side in (
                (part.inside, most, up, 1),
                (part.least, least, down, -1),
            ):
                mine, holders = self._holders(part.hidden, ends, chosen)
                if not mine.size:  # said once of a spec, which may have many attributes
                    continue
                limits = self.limits(holders, alpha)
                share[mine] += weight * self.share[holders]
                reach = limits.high if side > 0 else limits.low
                error[mine] += (weight * (reach - self.share[holders])) ** 2
                if side > 0:
                    covered[mine] += weight
        low, high = least - np.sqrt(down), most + np.sqrt(up) + (1 - covered)
        return IntervalBounds(
            np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), np.zeros(chosen.size, bool)
        )

    def _holders(
        self, hidden: NDArray[np.int64], holders: NDArray[np.int64], chosen: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the chosen items are held by an estimated one, and by which."""
        holder_of = np.full(self.share.size, -1)
        holder_of[hidden[: holders.size]] = holders
        mine = np.flatnonzero(holder_of[chosen] >= 0)
        mine = mine[self.reports[holder_of[chosen[mine]]] > 0]
        return mine, holder_of[chosen[mine]]

    def influence(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far fake reports, 1% of all, could move some of the items: at most.

        All fakes claim to be of the version in which one report moves the average most.

        Args:
            chosen: int64, (items,): their positions.
        """
        moved = np.zeros(self.share.size)
        for part in self.parts:
            mine = part.known
            if part.shares.influence is not None:
                apart = np.abs(part.shares.share - self.share[mine])
                moved[mine] = np.maximum(moved[mine], part.shares.influence + FORGED_SHARE * apart)
        return np.asarray(concentrate(moved, self.reports, self.total)[chosen])


def combine(parts: Sequence[SpecEstimate], size: int, margin: Margin) -> CombinedShares:
    """Combines the estimates of several versions.

    Args:
        margin: what variances allow for.
    """
    reports = np.zeros(size, np.int64)
    for part in parts:
        reports[part.known] += part.reports
        reports[part.impossible] += part.reports
    weights, share = np.zeros((len(parts), size)), np.zeros(size)
    for row, part in zip(weights, parts, strict=True):
        row[part.known] = part.reports / reports[part.known]
        share[part.known] += row[part.known] * part.shares.share
    variance, null_variance, scores = np.zeros(size), np.zeros(size), np.zeros(size)
    for row, part in zip(weights, parts, strict=True):
        mine, shares = part.known, part.shares
        variance[mine] += row[mine] ** 2 * variance_of(part, shares, shares.share, margin)
        own = row[mine] ** 2 * shares.null_variance_with(part.repeats)
        null_variance[mine] += own
        # Stouffer: weighted like the estimates, so that what is detected is also large.
        scores[mine] += np.sqrt(own) * shares.scores(part.repeats)
    collisions = shared_collisions(parts, weights)
    null_variance += collisions
    scores = np.divide(
        scores, np.sqrt(null_variance), out=np.full(size, -np.inf), where=null_variance > 0
    )
    between = np.zeros(size)
    if margin == "noise-and-sampling":
        between = variance_between(parts, weights, reports, share)
    between += collisions
    variance += between
    return CombinedShares(
        parts, margin, share, variance, null_variance, scores, weights, reports, between
    )
