"""Estimates of strings from a sketch, each over the rows in which nothing else is too common.

How common a string is that nobody listed, from the cells of a sketch that no candidate explains.

A string of share f adds f to one cell of every row. Which cells these are nobody knows without the
string itself, but that every row has such a cell can be seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Self, cast

import numpy as np

from deniable_aggregator.counting.statistics import binomial
from deniable_aggregator.counting.statistics.binomial import SupportCounts
from deniable_aggregator.counting.statistics.influence import influence
from deniable_aggregator.counting.statistics.intervals import (
    RepeatedReports,
    wilson_end,
    z_for_alpha,
)
from deniable_aggregator.counting.statistics.shares import Allowance, IntervalBounds, ItemShares
from deniable_aggregator.counting.statistics.sketch_rows import ROW_CAP, SketchRows
from deniable_aggregator.counting.yield_points import yield_point

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


_DEVIATIONS: Final = 5.0
"""A cell that is more standard deviations above its expectation than this is more than noise."""

_LEAST_ROWS: Final = 0.75
"""At least this part of the rows must have such a cell."""

_MOST_COLLISIONS: Final = 0.5
"""How many pairs of strings of half the share may meet in a row, on average, for a share to be told
from several smaller ones."""

_MOST_EXPLAINED: Final = 0.1
"""The candidates explain at most this part of the cells."""


def explaining(
    rows: SketchRows, share: NDArray[np.float64], detected: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The candidates whose cells are explained by them: those that are found and can be seen.

    Args:
        share: float64, (items,): estimates.
        detected: bool, (items,): which are more than chance.

    Returns:
        int64, (chosen,): their places, the most common first.
    """
    chosen = np.flatnonzero(detected & (share > rows.cell_deviation))
    most = math.floor(_MOST_EXPLAINED * rows.buckets)
    return chosen[np.argsort(-share[chosen], kind="stable")[:most]]


def unlisted_share(rows: SketchRows, unexplained: NDArray[np.int64]) -> float | None:
    """The share of the most common string that is no candidate, if it is clear that there is one.

    Args:
        unexplained: int64, (rows, buckets): the counts, 0 in cells of candidates that were found.

    Returns:
        The median over the rows of the largest cell that is not explained. None where too few rows
        have one that is more than noise, or where several strings of half of it may share cells.
    """
    largest = unexplained.max(axis=1)
    is_high = largest > rows.caps(np.zeros(1), _DEVIATIONS)[0]
    if is_high.mean() < _LEAST_ROWS:
        return None
    shares = rows.share(largest, rows.reports) - rows.usual
    halves = math.floor(2 / max(float(np.quantile(shares, 1 - _LEAST_ROWS)), 1e-9))
    if halves * (halves - 1) / 2 > _MOST_COLLISIONS * rows.buckets:
        return None
    return min(float(np.median(shares)), 1.0)


_ROUNDS: Final = 4
"""How often the rows that an item keeps are judged again by its estimate."""

_JUDGED_ABOVE: Final = 0.5
"""Of the standard deviation of a row: up to there an item keeps the rows of one nobody holds."""

_LEAST_KEPT: Final = 0.5
"""With fewer of the reports in the rows of an item nobody holds, the item judges its own."""

FOUND: Final = 4.0
"""The z-score above which a candidate is taken to explain its cells."""

_CHUNK_CELLS: Final = 1 << 16
"""So many cells of items are judged at once: they stay in the processor's cache."""


class StringSums(NamedTuple):
    """Sums over the cells of strings, one in each row.

    Attributes:
        supporting: int64, (items,): how many reports support each.
        capped: int64, (items,): what they count for the test.
        centred: int64, (items,): by how much those that are kept exceed their row's mean.
        left_out: int64, (items,): how many reports are in the other rows.
    """

    supporting: NDArray[np.int64]
    capped: NDArray[np.int64]
    centred: NDArray[np.int64]
    left_out: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SketchShares(ItemShares):
    """Estimates of strings, each over the rows that are kept for it.

    The variance at a share f is that of the cells of an item nobody holds, which is measured and
    not modelled, and what the item's own devices add: their noise, and that only some of them are
    in the rows kept. Repeated reports are in what was measured, but for those of its own devices.

    Attributes:
        kept: float64, (items,): how many reports are in the rows kept for an item.
        rows: the counts.
        unlisted: the share of the most common string that is no candidate, where it is clear.
    """

    kept: NDArray[np.float64]
    rows: SketchRows
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
    ) -> IntervalBounds:
        """The ends of each estimate's interval: Wilson's, or exact ones for few reports.

        Args:
            share: float64, (items,): not needed, as the variance is that at each share itself.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
        """
        z, estimate = z_for_alpha(alpha), self.share
        counted = cast("SupportCounts", self.support_counts)
        if binomial.is_small_count(counted, alpha):
            return self._exact_limits(counted, alpha, allowance)
        slope, curvature = self._growth(allowance)
        absent = self._absent(allowance)
        # The cells of others are not quite normal; a high estimate decides the lower end.
        low, high = (
            wilson_end(
                estimate,
                (self.rows.kept_law.deviations(-side) / side) ** 2 * absent,
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
        self, counted: SupportCounts, alpha: float, allowance: Allowance
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
        around = plain.limits(share, alpha, allowance)
        stretch = self.rows.total / self.kept
        law = counted.support.variance(0.0, counted.reports) * stretch
        added = z_for_alpha(alpha) ** 2 * np.maximum(self.null_variance - law, 0.0)
        below = np.sqrt(stretch * (plain.share - around.low) ** 2 + added)
        above = np.sqrt(stretch * (around.high - plain.share) ** 2 + added)
        return IntervalBounds(self.share - below, self.share + above, around.exact)


def shares_of_strings(
    rows: SketchRows,
    sums: StringSums,
    lemma: Support,
    buckets: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    supported: tuple[int, int],
) -> SketchShares:
    """The shares of strings.

    Args:
        sums: of the strings' cells.
        lemma: with which probabilities a report supports a string, over all hash functions.
        buckets: called with the places of some of the strings, int64, (chosen,); returns their
            bucket in each row, int64, (chosen, rows).
        supported: how many buckets a report supports, at least and at most.
    """
    # A report that supports a string does not support all others, and the other way round.
    other_cells = rows.buckets - 1
    ends = -min(supported[1], other_cells) / other_cells, 1 - max(supported[0] - 1, 0) / other_cells
    ends = ends[0] / rows.gap, ends[1] / rows.gap
    total, absent = rows.total, rows.kept_cells
    kept_reports = (total - sums.left_out).astype(np.float64)
    part = kept_reports / total
    share = (
        (sums.centred - rows.rounded * part)
        / np.maximum(kept_reports, 1)
        / rows.gap
        / (1 - absent.own)
    )
    variance = absent.variance / np.maximum(part, 1 / total) / (1 - absent.own) ** 2
    own = np.flatnonzero(
        (share > _JUDGED_ABOVE * rows.cell_deviation) | (kept_reports < _LEAST_KEPT * total)
    )
    step = max(1, _CHUNK_CELLS // rows.rows)
    for start in range(0, own.size, step):
        yield_point()
        chosen = own[start : start + step]
        cells = rows.supporting[np.arange(rows.rows), buckets(chosen)].astype(np.int64)
        first = lemma.share(sums.supporting[chosen], total)
        share[chosen], variance[chosen], kept_reports[chosen] = _judge_rows(rows, cells, first)
    scores = rows.law.scores(sums.capped)
    unexplained = rows.supporting.copy()
    unexplained[np.arange(rows.rows), buckets(explaining(rows, share, scores > FOUND))] = 0
    family = max(absent.variance - float(lemma.variance(0.0, total)), 0.0)
    shares = SketchShares(
        share=share,
        variance=variance,
        null_variance=variance,
        support_counts=SupportCounts(sums.supporting, total, lemma, family),
        influence=np.asarray(
            influence(share, *ends, reports=total, about=np.maximum(kept_reports, 1))
        ),
        law_scores=scores,
        kept=kept_reports,
        rows=rows,
        unlisted=unlisted_share(rows, unexplained),
    )
    clipped = np.clip(share, 0.0, 1.0)
    return replace(shares, variance=shares.variance_with(clipped, Allowance(total)))


def _judge_rows(
    rows: SketchRows, cells: NDArray[np.int64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Shares from the rows in which a cell is not too high for the item's own share.

    In each of those rows the item's own cell is compared with the mean of the others that would be
    kept, if they had the item's devices on top. Its own and the others are alike but for the item's
    devices, so the variance of the others is also that of its own.

    Args:
        cells: int64, (items, rows): how many reports support each.
        share: float64, (items,): first estimates.

    Returns:
        Shares, their variances if nobody held the items, and how many reports were kept, float64,
        (items,), each.
    """
    for _ in range(_ROUNDS):
        yield_point()
        clipped = np.clip(share, 0.0, 1.0)
        highest = rows.caps(clipped, ROW_CAP)
        background = rows.others(clipped, cells, highest)
        is_kept = (cells <= highest) & (background.number > 0)
        # Where there is nothing to compare with, an item keeps its first estimate.
        judged = is_kept.any(axis=1)
        kept_reports = np.where(judged, is_kept @ rows.reports, rows.total).astype(np.float64)
        above = np.where(is_kept, cells - background.mean, 0.0).sum(axis=1)
        before, share = share, np.where(judged, above / (kept_reports * rows.gap), share)
        if np.array_equal(share, before):
            break  # which rows are kept does not change any more
    freedom = np.where(is_kept, background.number - 1, 0.0).sum(axis=1)
    squares = np.where(is_kept, background.squares, 0.0).sum(axis=1)
    alone = float(rows.support.variance(0.0, 1)) * rows.gap**2 * rows.total / rows.rows
    spread = np.where(freedom > 0, squares / np.maximum(freedom, 1), alone)
    draws = np.where(is_kept, 1 + 1 / np.maximum(background.number, 1), 0.0).sum(axis=1)
    draws = np.where(judged, draws, rows.rows)
    return share, spread * draws / (kept_reports * rows.gap) ** 2, kept_reports
