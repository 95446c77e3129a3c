"""Estimates of items of sets, from rows of hashed buckets.

Leaving rows out where an item shares its cell with a common one, as for strings, is biased for
sets: those who hold the item hold other common ones too, whose cells are then left out as well. So
all rows count, and what the items that were found add to the cells is taken off with a mean of 0
over the buckets. An item's bucket is uniform and independent of what devices hold, so this control
variate changes no expectation, whatever goes together; it removes most of what collisions add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, Self, cast

import numpy as np

from deniable_aggregator.counting.statistics import binomial
from deniable_aggregator.counting.statistics.binomial import SupportCounts
from deniable_aggregator.counting.statistics.influence import support_influence
from deniable_aggregator.counting.statistics.intervals import wilson_end, z_for_alpha
from deniable_aggregator.counting.statistics.shares import (
    LEAST_VARIANCE,
    Allowance,
    IntervalBounds,
    ItemShares,
)
from deniable_aggregator.counting.statistics.sketch_estimates import (
    FOUND,
    explaining,
    unlisted_shares,
)
from deniable_aggregator.counting.statistics.sketch_rows import SketchStack
from deniable_aggregator.counting.statistics.sum_law import frequencies, laws_of_frequencies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.row_counts import PackedCells
    from deniable_aggregator.counting.statistics.shares import Ends
    from deniable_aggregator.counting.statistics.sketch_rows import SketchRows
    from deniable_aggregator.counting.statistics.sum_law import SumLaw
    from deniable_shared.mechanisms import Support

    Floats = NDArray[np.float64]

ROUNDS: Final = 4
"""How often the shares of found items are estimated again, less what the others add."""

MOST_FOUND_CELLS: Final = 1 << 22
"""So many cells of found items are kept in memory at most: those of the clearest ones."""

_FINE: Final = 1 << 24
"""Cells are summed in steps of 2^-24 of a report: what a found item takes off a row of few reports
is little in each cell, and has mean 0 only if none of it is rounded away. Sums fit up to 2^38."""

_EXTREME_ROUNDS: Final = 3


class StringCells(Protocol):
    """Where strings are in the rows."""

    def sums(self, packed: PackedCells) -> list[NDArray[np.int64]]:
        """Sums over the cells of each string, one in each row: int64, (1, items), each."""

    def table_sums(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums over the cells of each string, one in each row: int64, (items,).

        Args:
            table: int64, (rows, buckets).
        """

    def buckets(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings: int64, (chosen, rows).

        Args:
            chosen: int64, (chosen,): the strings' places in the list.
        """


@dataclass(frozen=True, eq=False)
class FoundItems:
    """Items that somebody holds, and the cells without what they add.

    Attributes:
        rows: the counts.
        stack: what is usual in them.
        numbers: int64, (rows,): which rows these are; each has reports.
        lemma: with which probabilities a report supports an item, over all hash functions.
        items: int64, (found,): the places of the items in the list.
        share: float64, (found,): their shares, as taken off.
        cells: float64, (rows, buckets): the counts without what they add.
    """

    rows: SketchRows
    stack: SketchStack
    numbers: NDArray[np.int64]
    lemma: Support
    items: NDArray[np.int64]
    share: Floats
    cells: Floats

    @cached_property
    def law(self) -> SumLaw:
        """The law of the sum over the cells of an item that nobody holds."""
        cells = np.rint(self.cells).astype(np.int64)
        return laws_of_frequencies(frequencies(self.stack.coarse(cells)))[0]

    @cached_property
    def absent_variance(self) -> float:
        """The variance of the estimate of an item that nobody holds, from its uniform buckets."""
        return _variance_of_cells(self.cells / self.rows.total, self.lemma)

    @property
    def collision(self) -> float:
        """The variance of the estimate of one item for each share that collides with it, squared.

        Of a device that holds both, one bucket says both: where they share it, up to the smaller
        share was taken off too much.
        """
        return float(1 / (self.rows.rows * (self.rows.buckets - 1)))

    def beside(self, share: Floats, own: Floats) -> Floats:
        """The variance because devices hold an item together with found ones.

        Args:
            share: float64, (items,): the items' shares, in [0, 1].
            own: float64, (items,): the share of the item itself among the found ones; 0 if it is
                not found.
        """
        return self.collision * _squares_below(share, self._ordered_shares, own)

    def difference_variance(self, later: FoundItems) -> float:
        """The variance of the difference of two estimates of an item that nobody holds.

        Args:
            later: of the same version in another period.
        """
        before, after = (
            dict(zip(found.numbers.tolist(), found.cells / found.rows.total, strict=True))
            for found in (self, later)
        )
        nothing = np.zeros(self.rows.buckets)
        either = before.keys() | after.keys()
        cells = [after.get(row, nothing) - before.get(row, nothing) for row in either]
        return _variance_of_cells(np.array(cells), self.lemma)

    def changed(self, later: FoundItems, share: Floats, later_share: Floats, own: Floats) -> Floats:
        """As `beside`, of the difference of two periods.

        How many devices hold both of two items changes by no more than both shares do together, and
        by no more than the larger share of the one.

        Args:
            later: of the same version in another period.
            share: float64, (items,): the items' shares, in [0, 1].
            later_share: float64, (items,): those in the other period.
            own: float64, (items,): by how much the item's own share as a found one differs.
        """
        before, after = (
            dict(zip(found.items.tolist(), np.clip(found.share, 0.0, 1.0).tolist(), strict=True))
            for found in (self, later)
        )
        either = before.keys() | after.keys()
        partners = np.array([abs(after.get(item, 0.0) - before.get(item, 0.0)) for item in either])
        apart, most = np.abs(later_share - share), np.maximum(share, later_share)
        total = -(np.minimum(own + apart, most) ** 2)
        for place, each in enumerate(apart):
            total[place] += (np.minimum(partners + each, most[place]) ** 2).sum()
        return np.asarray(self.collision * np.maximum(total, 0.0))

    @cached_property
    def _ordered_shares(self) -> Floats:
        return np.sort(np.clip(self.share, 0.0, 1.0))


def _squares_below(limit: Floats, ordered: Floats, own: Floats) -> Floats:
    """The sum of min(limit, s)^2 over all ordered s but the own one."""
    sums = np.concatenate([[0.0], np.cumsum(ordered**2)])
    below = np.searchsorted(ordered, limit)
    total = sums[below] + (ordered.size - below) * limit**2 - np.minimum(limit, own) ** 2
    return np.asarray(np.maximum(total, 0.0))


def _variance_of_cells(cells: Floats, lemma: Support) -> float:
    gap = lemma.p - lemma.q
    return float(cells.var(axis=1).sum() / (gap * gap))


@dataclass(frozen=True, eq=False, kw_only=True)
class SetShares(ItemShares):
    """Estimates of items of sets.

    Attributes:
        found: what was found, and the cells without it.
        own: float64, (items,): the share of each item among what was found; 0 if it was not.
        unlisted: the share of the most common item that is no candidate, where it is clear.
    """

    found: FoundItems
    own: NDArray[np.float64]
    unlisted: float | None = None

    def take(self, chosen: NDArray[np.int64]) -> Self:
        """The estimates of some of the items, in the given order."""
        return replace(super().take(chosen), own=self.own[chosen])

    def variance_with(
        self, share: NDArray[np.float64], allowance: Allowance
    ) -> NDArray[np.float64]:
        """The variance of the estimates if these are the true shares.

        Args:
            share: float64, (items,), in [0, 1].
            allowance: what it allows for beside noise.
        """
        noise = self.null_variance + self._slope * share
        variance = noise + self.found.beside(share, self.own) + allowance.variance(share)
        return np.asarray(np.maximum(variance, LEAST_VARIANCE))

    variance_at = variance_with

    def common_variance(
        self, other: SetShares, share: NDArray[np.float64], later: NDArray[np.float64]
    ) -> Floats:
        """The covariance with estimates of another period of the same version.

        Rows are the same in both. So what unlisted items leave in the cells, and what was taken off
        too much of devices that hold two items, differs only as far as sets have changed: half of
        what the variance of the difference lacks to the sum of both variances.

        Args:
            other: of the same items.
            share: float64, (items,): the true shares, in [0, 1].
            later: float64, (items,): those in the other period.
        """
        counts = cast("SupportCounts", self.support_counts), other.support_counts
        if any(binomial.is_small_count(cast("SupportCounts", each), 0.05) for each in counts):
            return np.zeros(share.size)  # then intervals are exact ones, and wider
        mine, theirs = self.found, other.found
        together = mine.beside(share, self.own) + theirs.beside(later, other.own)
        changed = mine.changed(theirs, share, later, np.abs(self.own - other.own))
        apart = mine.absent_variance + theirs.absent_variance - mine.difference_variance(theirs)
        return np.asarray((apart + together - changed) / 2)

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
        sampled = 0.0
        if allowance.population:
            sampled = 1 / self.found.rows.total + allowance.repeats.extra
        ends = []
        for side in (-z, z):
            # The cells of others are not quite normal; a high estimate decides the lower end.
            stretch = (self.found.law.deviations(-side) / side) ** 2
            end = estimate
            for _ in range(_EXTREME_ROUNDS):
                beside = self.found.beside(np.clip(end, 0.0, 1.0), self.own)
                constant = stretch * self.null_variance + beside
                end = wilson_end(estimate, constant, self._slope + sampled, sampled, side)
            ends.append(end)
        low, high = ends
        return IntervalBounds(
            np.minimum(low, estimate), np.maximum(high, estimate), np.zeros(estimate.size, bool)
        )

    def _exact_limits(
        self, counted: SupportCounts, alpha: float, allowance: Allowance, exact: Ends | None
    ) -> IntervalBounds:
        """Intervals from the exact binomial law of an item's supporters.

        Combined with the variance that the measured one has beyond that law (Zou and Donner 2008).
        """
        plain = ItemShares(
            counted.support.share(counted.supporting, counted.reports),
            self.variance,
            self.null_variance,
            counted._replace(family_variance=0.0),
        )
        share = np.clip(self.share, 0.0, 1.0)
        around = plain.limits(share, alpha, allowance, exact)
        law = counted.support.variance(0.0, counted.reports)
        beyond = np.maximum(self.null_variance - law, 0.0) + self.found.beside(share, self.own)
        added = z_for_alpha(alpha) ** 2 * beyond
        below = np.sqrt((plain.share - around.low) ** 2 + added)
        above = np.sqrt((around.high - plain.share) ** 2 + added)
        return IntervalBounds(self.share - below, self.share + above, around.exact)

    @property
    def _slope(self) -> float:
        """How the variance grows with the share: holders support an item with p instead of q."""
        lemma, reports = self.found.lemma, self.found.rows.total
        return float(lemma.variance(1.0, reports) - lemma.variance(0.0, reports))


def shares_of_sets(
    rows: SketchRows, numbers: NDArray[np.int64], lemma: Support, places: StringCells
) -> SetShares:
    """The shares of items of sets.

    Args:
        rows: the counts, with the probabilities that a report supports a bucket.
        numbers: int64, (rows,): which rows these are.
        lemma: with which probabilities a report supports an item, over all hash functions.
        places: where the items are.
    """
    total, gap = rows.total, lemma.p - lemma.q
    stack = SketchStack([rows])
    ((supporting,), (capped,)), (law,) = places.sums(stack.tested), stack.laws
    scores = law.scores(capped)
    found, buckets = _explain(stack, numbers, lemma, places, supporting, scores)
    fine = np.rint(found.cells * _FINE).astype(np.int64)
    left = places.table_sums(fine)
    share = (left / (_FINE * total) - lemma.q) / gap
    own = np.zeros(share.size)
    own[found.items] = found.share
    share += own
    own = np.clip(own, 0.0, 1.0)
    absent = found.absent_variance
    null_variance = np.full(share.size, absent)
    family = max(absent - float(lemma.variance(0.0, total)), 0.0)
    estimates = SetShares(
        share=share,
        variance=null_variance,
        null_variance=null_variance,
        support_counts=SupportCounts(supporting, total, lemma, family),
        influence=np.asarray(support_influence(share, lemma, reports=total)),
        law_scores=scores,
        found=found,
        own=own,
        unlisted=unlisted_shares(stack, _unexplained(found, buckets, share))[0],
    )
    clipped = np.clip(share, 0.0, 1.0)
    return replace(estimates, variance=estimates.variance_with(clipped, Allowance(total)))


def _explain(
    stack: SketchStack,
    numbers: NDArray[np.int64],
    lemma: Support,
    places: StringCells,
    supporting: NDArray[np.int64],
    scores: Floats,
) -> tuple[FoundItems, NDArray[np.int64]]:
    """The items that are found by the test, and what they add; and their buckets: (found, rows)."""
    (rows,), items = stack.sketches, np.flatnonzero(scores > FOUND)
    most = MOST_FOUND_CELLS // rows.rows
    if items.size > most:
        items = np.sort(np.argsort(-scores, kind="stable")[:most])
    gap, buckets = lemma.p - lemma.q, places.buckets(items)
    own = np.arange(rows.rows) * rows.buckets + buckets
    share = np.asarray(lemma.share(supporting[items], rows.total))
    each = rows.reports * gap / (rows.buckets - 1)
    for turn in range(ROUNDS):
        added = np.bincount(
            own.ravel(), (share[:, None] * (rows.buckets * each)).ravel(), rows.supporting.size
        )
        added = added.reshape(rows.supporting.shape) - (share.sum() * each)[:, None]
        cells = rows.supporting - added
        if turn < ROUNDS - 1:
            left = cells.take(own).sum(axis=1)
            share = share + (left / rows.total - lemma.q) / gap
    return FoundItems(rows, stack, numbers, lemma, items, share, cells), buckets


def _unexplained(found: FoundItems, buckets: NDArray[np.int64], share: Floats) -> NDArray[np.int64]:
    """The counts without what was found, and 0 in the cells of what can be seen there."""
    rows = found.rows
    cells = np.rint(found.cells).astype(np.int64)
    detected = np.zeros(share.size, bool)
    detected[found.items] = True
    chosen = explaining(rows, share, detected)
    cells[np.arange(rows.rows), buckets[np.searchsorted(found.items, chosen)]] = 0
    return cells
