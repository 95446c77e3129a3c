"""Shares of several values together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from deniable_aggregator.answering.estimation.combination import combine
from deniable_aggregator.answering.estimation.domains import NOWHERE, SpecEstimate
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.influence import subset_influence
from deniable_aggregator.counting.statistics.shares import LEAST_VARIANCE, CountedSums
from deniable_aggregator.counting.tallies import (
    ItemShares,
    SupportCounts,
    all_counters,
    oracle_tally_for,
)
from deniable_shared.mechanisms import Mechanism, Oracle, PairSupport, Support
from deniable_shared.mechanisms.base import MUTUALLY_EXCLUSIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.combination import VersionIds
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.counting.statistics.intervals import RepeatedReports


def influence_on_subset(part: SpecEstimate, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far fakes could move the share of some items together: exact, or an upper bound.

    Args:
        chosen: int64, (items,): which of its items are added.

    Returns:
        float64, (1,).
    """
    if part.merged is not None:
        return influence_on_subset(part.merged.part, part.merged.members[chosen].ravel())
    shares = part.shares.take(chosen)
    counted = shares.support_counts
    if counted is None:
        moved: Any = shares.influence
        return np.asarray(moved.sum(keepdims=True))
    ends = support_range(part.spec.mechanism, chosen)
    share = shares.share.sum(keepdims=True)
    moved = subset_influence(share, counted.support, chosen.size, *ends, counted.reports)
    return np.asarray(moved)


def support_range(mechanism: Mechanism, chosen: NDArray[np.int64]) -> tuple[int, int]:
    """How many of some items one report can support: at least and at most.

    Args:
        chosen: int64, (items,): their numbers.
    """
    if isinstance(mechanism, Oracle):
        return oracle_tally_for(mechanism).support_range(chosen)
    return 0, int(chosen.size)


@dataclass(frozen=True)
class SubsetShare:
    """The share of the devices that hold any of some items.

    Attributes:
        share: unbiased; may lie outside [0, 1].
        low: lower end of its interval.
        high: upper end.
        exact: whether the interval is an exact binomial one.
        covariance: what is known of how the items' estimates vary together.
        influence: how far 1% of fake reports could move the share.
        reports: over how many reports it is known.
        versions: over which versions' reports; None for all.
        possible: between which ends the share of all reports can lie, where these are more.
    """

    items: tuple[str, ...]
    share: float
    standard_error: float
    low: float
    high: float
    exact: bool
    covariance: str
    influence: float
    reports: int
    versions: VersionIds
    possible: tuple[float, float] | None

    def measured(
        self, measure: Literal["combined", "rest"], period: int, adjusted: float | None
    ) -> Measured:
        """The share as a number of an answer.

        Args:
            measure: whether it was asked for, or is what some versions do not tell apart.
            period: the place of its period in the answer.
            adjusted: the post-processed share, or None.
        """
        low, high = self.possible or (None, None)
        return Measured(
            measure=measure,
            value=" + ".join(self.items),
            values=self.items,
            period=period,
            estimate=self.share,
            standard_error=self.standard_error,
            low=self.low,
            high=self.high,
            told=self.low > 0,
            reports=None if self.possible is None else self.reports,
            versions=self.versions,
            shift_if_fake=self.influence,
            method="exact" if self.exact else "normal",
            possible_low=low,
            possible_high=high,
            adjusted=adjusted,
        )

    def meaning(self, devices: str, level: float) -> str:
        """What it is, in words.

        Args:
            level: of its interval, in (0, 1).
        """
        return (
            f"the share of all of these values together among {devices}; the interval is of "
            f"level {level:g} for values chosen before looking; covariances of the values: "
            f"{self.covariance}"
        )


def estimate_subset_share(
    parts: Sequence[SpecEstimate],
    positions: Sequence[int],
    items: Sequence[str],
    margin: Margin,
    alpha: float,
) -> SubsetShare | None:
    """Estimates the share of some items together, over the reports of all specs that know it.

    Args:
        positions: which of their items are added; all different.
        items: the names of these items.
        alpha: the probability that the interval may miss, in (0, 1).

    Returns:
        None if no spec knows it.
    """
    notes: list[str] = []
    sums, size = [], 1
    for part in parts:
        sums += _merge_positions(part, frozenset(positions), size, notes)
        size += 2
    combined = combine(sums, size, margin)
    if not combined.reports[0]:
        return None
    whole = np.zeros(1, np.int64)
    limits, possible = combined.limits(whole, alpha), combined.possible(whole, alpha)
    return SubsetShare(
        items=tuple(items),
        share=float(combined.share[0]),
        standard_error=float(np.sqrt(combined.variance[0])),
        low=float(limits.low[0]),
        high=float(limits.high[0]),
        exact=bool(limits.exact[0]),
        covariance="; ".join(dict.fromkeys(notes)) or "there are none",
        influence=float(combined.influence(whole)[0]),
        reports=int(combined.reports[0]),
        versions=combined.versions_of(whole)[0],
        possible=(
            None
            if combined.reports[0] == combined.total
            else (float(possible.low[0]), float(possible.high[0]))
        ),
    )


def _merge_positions(
    part: SpecEstimate, positions: frozenset[int], free: int, notes: list[str]
) -> list[SpecEstimate]:
    """A spec's estimate of some items together, as item 0 of a domain.

    Where one of the spec's items holds some of these but also others, only the least and the most
    that they can be are known: these are items `free` and `free + 1`.
    """
    place = {position: at for at, position in enumerate(part.known.tolist())}
    inside = dict(zip(part.hidden.tolist(), part.inside.tolist(), strict=True))
    possible = positions - set(part.impossible.tolist())
    holders = {inside[position] for position in possible if position in inside}
    known_places = {position for position in possible if position in place}
    if not (possible <= known_places | inside.keys() and holders <= place.keys()):
        return [_nothing(part)]
    cut = {holder for inner, holder in inside.items() if inner not in positions} & holders
    least = known_places | (holders - cut)

    def merged(items: set[int], position: int) -> list[SpecEstimate]:
        if not items:
            return []
        chosen = np.array(sorted(place[item] for item in items), np.int64)
        total, note = merge_items(part, chosen)
        notes.append(note)
        shares = replace(total.shares, influence=influence_on_subset(part, chosen))
        return [_nothing(total)._replace(known=np.array([position]), shares=shares)]

    if not cut:
        return merged(least, 0) or [_nothing(part)._replace(impossible=np.zeros(1, np.int64))]
    unsure = _nothing(part)._replace(hidden=np.zeros(1, np.int64), inside=np.array([free + 1]))
    if least:
        unsure = unsure._replace(least=np.array([free]))
    return [unsure, *merged(least, free), *merged(least | cut, free + 1)]


def _nothing(part: SpecEstimate) -> SpecEstimate:
    """A spec's number of reports, and nothing else of it."""
    nothing = part._replace(known=NOWHERE, shares=part.shares.take(NOWHERE))
    return nothing._replace(impossible=NOWHERE, hidden=NOWHERE, inside=NOWHERE)


def merge_items(part: SpecEstimate, chosen: NDArray[np.int64]) -> tuple[SpecEstimate, str]:
    """Merges some items of a spec into a single one: the estimate of their share together.

    Args:
        chosen: int64, (items,): their places in `part.known`.

    Returns:
        The estimate of the merged item, and in words what is known of the covariances.
    """
    if part.merged is not None:
        return merge_items(part.merged.part, part.merged.members[chosen].ravel())
    first_place = np.zeros(1, np.int64)
    shares_chosen = part.shares.take(chosen)
    if chosen.size == 1:
        return part._replace(known=first_place, shares=shares_chosen), "there are none"
    measured = shares_chosen.sum_variance(part.repeats)
    if measured is not None:
        variance = np.array([measured])
        shares = ItemShares(shares_chosen.share.sum(keepdims=True), variance, variance)
        repeats = part.repeats._replace(permanent=None)  # they are in what was measured
        total = part._replace(known=first_place, shares=shares, repeats=repeats)
        return total, "from the reports themselves"
    shares, note = _sum(part, chosen)
    total = part._replace(known=first_place, shares=shares)
    return _with_repeats(total, part.repeats, chosen.size), note


def _sum(part: SpecEstimate, chosen: NDArray[np.int64]) -> tuple[ItemShares, str]:
    """The merged estimate, without the variance of repeated reports; see `merge_items`."""
    mechanism, shares = part.spec.mechanism, part.shares.take(chosen)
    share = shares.share.sum(keepdims=True)
    clipped = np.clip(share, 0.0, 1.0)
    counted, pairs = shares.support_counts, mechanism.pair_support()
    if counted is None or pairs is None:
        return _with_largest_error(share, shares)
    size, support = chosen.size, counted.support
    null_variance, variance = (
        _sum_variance(probability, size, support, pairs, counted.reports)
        + size * counted.family_variance
        for probability in (np.zeros(1), clipped)
    )
    if pairs.averaged:
        tally = oracle_tally_for(cast("Oracle", mechanism))
        sum_variance = tally.sum_variance(all_counters(part.counts), chosen, float(clipped[0]))
        if sum_variance is None:
            return _with_largest_error(share, shares)
        # A few reports may agree by chance: one more has the variance of a random set of items.
        sum_variance += (float(variance[0]) - sum_variance) / counted.reports
        total = ItemShares(share, np.array([sum_variance]), null_variance)
        least = float(variance[0])  # few reports may show too small a variance
        return _with_effective_counts(total, counted, size, least), "from the reports themselves"
    single: SupportCounts | None = None
    if pairs == MUTUALLY_EXCLUSIVE and size < getattr(mechanism, "size", 0):
        # A report supports at most one of the items, so the supporters of any can be added up.
        either = Support(support.p + (size - 1) * support.q, size * support.q)
        single = SupportCounts(counted.supporting.sum(keepdims=True), counted.reports, either)
    total = ItemShares(share, variance, null_variance, single)
    return total if single else _with_effective_counts(total, counted, size, 0.0), "exact"


def _with_effective_counts(
    total: ItemShares, counted: SupportCounts, size: int, least: float
) -> CountedSums:
    """The merged estimate with the effective number of its supporters, for few reports.

    A report supports several of the items, so their supporters together are no binomial count of
    `size` trials a report. They are taken for one of as many trials as give their variance about
    the population (Korn and Graubard 1998).

    Args:
        least: the variance is taken for no less where there are few reports.
    """
    p, q = counted.support.p, counted.support.q
    supported, weight = counted.supporting.sum() / (counted.reports * size), size / (p - q)
    clipped = float(np.clip(total.share[0], 0.0, 1.0))
    expected = q + clipped / weight
    variance = max(float(total.variance[0]), least) + clipped * (1 - clipped) / counted.reports
    trials = weight**2 * expected * (1 - expected) / max(variance, LEAST_VARIANCE)
    return CountedSums(
        total.share,
        total.variance,
        total.null_variance,
        counts=np.array([[supported * trials]]),
        trials=np.array([[trials]]),
        weights=np.array([[weight]]),
        rarest=q,
        exclusive=False,
    )


def _with_repeats(total: SpecEstimate, repeats: RepeatedReports, size: int) -> SpecEstimate:
    """The merged estimate with the extra variance because of permanent noise."""
    mechanism, permanent = total.spec.mechanism, repeats.permanent
    pairs = mechanism.permanent_pair_support()
    if permanent is None or pairs is None:
        return total
    if total.shares.support_counts is not None:
        either = Support(permanent.p + (size - 1) * permanent.q, size * permanent.q)
        return total._replace(repeats=repeats._replace(permanent=either))
    clipped = np.clip(total.shares.share, 0.0, 1.0)
    null_variance, variance = (
        before + repeats.extra * _sum_variance(probability, size, permanent, pairs, 1)
        for before, probability in (
            (total.shares.null_variance, np.zeros(1)),
            (total.shares.variance, clipped),
        )
    )
    shares = replace(total.shares, variance=variance, null_variance=null_variance)
    if isinstance(shares, CountedSums):
        shares = shares.thinned(float(variance[0] / total.shares.variance[0]))
    return total._replace(shares=shares, repeats=repeats._replace(permanent=None))


def _with_largest_error(share: NDArray[np.float64], shares: ItemShares) -> tuple[ItemShares, str]:
    """The merged estimate with the largest error that any covariances could give."""
    variance, null_variance = (
        np.sqrt(variance).sum(keepdims=True) ** 2
        for variance in (shares.variance, shares.null_variance)
    )
    note = "not known in closed form; the error is the largest that any could give"
    return ItemShares(share, variance, null_variance), note


def _sum_variance(share: Any, size: int, support: Support, pairs: PairSupport, reports: int) -> Any:
    """The variance of the summed estimates of items that together have the share `share`.

    The sum of all variances and covariances of the numbers of supporters, over (n (p - q))^2.

    Args:
        share: the true share of all of them, in [0, 1]; a float or float64 array.
        size: how many items are summed, at least 1.
        support: with which probabilities a report supports one item.
        pairs: with which it supports two.
        reports: how many there are, at least 1.
    """
    p, q = support.p, support.q
    own = p * (1 - p) + (size - 1) * (q * (1 - q) + 2 * (pairs.own - p * q))
    own += (size - 1) * (size - 2) * (pairs.other - q * q)
    absent = size * q * (1 - q) + size * (size - 1) * (pairs.other - q * q)
    return np.maximum(share * own + (1 - share) * absent, 0.0) / (reports * (p - q) ** 2)
