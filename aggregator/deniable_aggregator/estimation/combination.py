"""Several specs of one metric, estimated each by itself and combined by inverse variance."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.statistics.intervals import z_for_alpha
from deniable_aggregator.statistics.item_shares import Allowance, IntervalBounds
from deniable_aggregator.statistics.repeated_reports import (
    RepeatedReports,
    shared_pairs_across_specs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.statistics.repeated_reports import Periods
    from deniable_aggregator.tallies import ItemShares
    from deniable_shared.spec import Spec


class SpecEstimate(NamedTuple):
    """The estimates of one spec; of a record that samples attributes, those of one attribute.

    Attributes:
        spec: the spec.
        counts: int64, (cells,): its tally.
        reports: how many of its reports were counted; at least 1.
        known: int64, (known,): the positions of the items that are estimated.
        shares: estimates of these items, assuming that every report is of another device.
        repeats: extra variance because one device may have sent several reports.
        periods: how many reports there are of each period, if there are several.
    """

    spec: Spec
    counts: NDArray[np.int64]
    reports: int
    known: NDArray[np.int64]
    shares: ItemShares
    repeats: RepeatedReports = RepeatedReports()
    periods: Periods | None = None


@dataclass(frozen=True)
class CombinedShares:
    """Estimates of a list of items, each from all specs whose domain has it.

    A spec's weight for an item is the inverse of the variance that its estimate would have if
    nobody held the item. This does not depend on the data, so the combination is exactly unbiased;
    weights by the variance at the estimates would favour those that happened to come out low.

    Attributes:
        share: float64, (items,).
        variance: float64, (items,).
        null_variance: float64, (items,), if nobody held the item.
        scores: float64, (items,): of the test that nobody holds it, as z-scores.
        weights: float64, (parts, items): each spec's weight; an item's sum to 1, or are NaN if no
            spec knows it.
        shared_variance: float64, (items,): variance because the same devices may have used several
            specs, one after the other.
    """

    parts: Sequence[SpecEstimate]
    margin: Margin
    share: NDArray[np.float64]
    variance: NDArray[np.float64]
    null_variance: NDArray[np.float64]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64]
    shared_variance: NDArray[np.float64]

    def variance_at(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of the estimates if these were the true shares.

        Args:
            share: float64, (items,).
        """
        held = np.clip(share, 0.0, 1.0)
        variance = np.zeros(self.share.size)
        for part, weights in zip(self.parts, self.weights, strict=True):
            mine = part.known
            own = part.shares.variance_at(held[mine])
            own = own + allowance_of(part, self.margin).variance(held[mine])
            variance[mine] += weights[mine] ** 2 * own
        return variance + self.shared_variance

    def limits(self, chosen: NDArray[np.int64], alpha: float) -> IntervalBounds:
        """Intervals for some of the items.

        Where there are several errors (of several specs, or of noise and of a hash family), the
        distances from the estimate to the end of each one's interval are combined like
        independent errors: the root of the sum of squares (Zou and Donner 2008).

        Args:
            chosen: int64, (items,): their positions.
            alpha: the probability that a single one may miss, in (0, 1).
        """
        down = z_for_alpha(alpha) ** 2 * self.shared_variance[chosen]
        up = down.copy()
        is_exact = np.zeros(chosen.size, bool)
        for part, weights in zip(self.parts, self.weights, strict=True):
            places = np.full(self.share.size, -1)
            places[part.known] = np.arange(part.known.size)
            mine = np.flatnonzero(places[chosen] >= 0)
            if not mine.size:
                continue
            shares = part.shares.take(places[chosen[mine]])
            here = chosen[mine]
            own = shares.limits(self.share[here], alpha, allowance_of(part, self.margin))
            down[mine] += (weights[here] * (shares.share - own.low)) ** 2
            up[mine] += (weights[here] * (own.high - shares.share)) ** 2
            is_exact[mine] |= own.exact
        share = self.share[chosen]
        return IntervalBounds(share - np.sqrt(down), share + np.sqrt(up), is_exact)

    def influence(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far fake reports, 1% of those of every spec, could move some of the items.

        Args:
            chosen: int64, (items,): their positions.
        """
        moved = np.zeros(self.share.size)
        for part, weights in zip(self.parts, self.weights, strict=True):
            if part.shares.influence is not None:
                moved[part.known] += weights[part.known] * part.shares.influence
        return moved[chosen]


def combine(parts: Sequence[SpecEstimate], size: int, margin: Margin) -> CombinedShares:
    """Combines the estimates of several specs.

    Args:
        parts: the estimates.
        size: how many items there are.
        margin: what variances allow for.
    """
    precision = np.zeros((len(parts), size))
    for row, part in zip(precision, parts, strict=True):
        row[part.known] = 1 / part.shares.null_variance_with(part.repeats)
    total = precision.sum(axis=0)
    known = total > 0
    weights = np.divide(precision, total, out=np.full_like(precision, np.nan), where=known)
    share = np.zeros(size)
    for row, part in zip(weights, parts, strict=True):
        share[part.known] += row[part.known] * part.shares.share
    variance, scores = np.zeros(size), np.zeros(size)
    for row, part in zip(weights, parts, strict=True):
        mine = part.known
        own = variance_of(part, part.shares, share[mine], margin)
        variance[mine] += row[mine] ** 2 * own
        # Stouffer: the squares of the roots add to 1.
        scores[mine] += np.sqrt(row[mine]) * part.shares.scores(part.repeats)
    between = np.zeros(size)
    if margin == "noise-and-sampling":
        held = np.clip(share, 0.0, 1.0)
        between = shared_sampling_factor(parts, np.nan_to_num(weights)) * held * (1 - held)
    null_variance = np.divide(1, total, out=np.full(size, np.nan), where=known)
    variance += between
    return CombinedShares(parts, margin, share, variance, null_variance, scores, weights, between)


def shared_sampling_factor(
    parts: Sequence[SpecEstimate], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much devices that used several specs, one after the other, add to the variance.

    Their permanent noise differs between specs, but their values may be the same.

    Args:
        parts: the estimates.
        weights: float64, (parts, items): each one's weight.

    Returns:
        float64, (items,): to be multiplied by f (1 - f), where f is the share.
    """
    factor = np.zeros(weights.shape[1])
    for one, other in itertools.combinations(range(len(parts)), 2):
        first, second = parts[one], parts[other]
        if first.spec == second.spec or first.periods is None or second.periods is None:
            continue
        pairs = shared_pairs_across_specs(first.periods, second.periods) / (
            first.reports * second.reports
        )
        factor += 2 * pairs * weights[one] * weights[other]
    return factor


def variance_of(
    part: SpecEstimate, shares: ItemShares, share: NDArray[np.float64], margin: Margin
) -> NDArray[np.float64]:
    """The variance of one spec's estimates.

    Args:
        part: the estimates.
        shares: those of some of its items.
        share: float64, (items,): the true shares, or the best estimates of them.
        margin: what the variance allows for; with sampling, the devices are a sample too.
    """
    held = np.clip(share, 0.0, 1.0)
    return np.asarray(shares.variance + allowance_of(part, margin).variance(held))


def allowance_of(part: SpecEstimate, margin: Margin) -> Allowance:
    """What one spec's errors allow for beside noise.

    Args:
        part: its estimates.
        margin: with sampling, the devices are a sample too.
    """
    return Allowance(part.reports, part.repeats, margin == "noise-and-sampling")
