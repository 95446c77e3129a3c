"""Shares of given strings from the counts of a trie of codes, with their errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from deniable_aggregator.statistics.hashed.trie_estimates import (
    Estimates,
    PlacedStrings,
    common_strings,
    estimate,
)
from deniable_aggregator.statistics.influence import influence
from deniable_aggregator.statistics.intervals import wilson_end, z_for_alpha
from deniable_aggregator.statistics.item_shares import Allowance, IntervalBounds, ItemShares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.hashed.trie_rows import TrieRows
    from deniable_aggregator.statistics.repeated_reports import RepeatedReports
    from deniable_shared.mechanisms import Trie


@dataclass(frozen=True, eq=False, kw_only=True)
class TrieShares(ItemShares):
    """Estimates of strings, pooled over levels and rows.

    The variance at a share f is that of noise at f, and that only some of the devices are in the
    rows that are kept. Collisions are in it as they are measured.

    Attributes:
        own: float64, (items,): how much more variance a device adds to an item that it holds.
        stretch: float64, (items,): how many reports there are for one that counts for an item.
        skew: float64, (items,): the third standardised moment if nobody holds the item.
        end: int64, (items,): the level in which each ends.
        tested: float64, (items,): the sum over its cells of which `rows` has the law.
        rows: the counts.
    """

    own: NDArray[np.float64]
    stretch: NDArray[np.float64]
    skew: NDArray[np.float64]
    end: NDArray[np.int64]
    tested: NDArray[np.float64]
    rows: TrieRows

    def take(self, chosen: NDArray[np.int64]) -> Self:
        """The estimates of some of the items, in the given order."""
        names = ("own", "stretch", "skew", "end", "tested")
        columns = {name: getattr(self, name)[chosen] for name in names}
        return replace(super().take(chosen), **columns)

    def scores(self, repeats: RepeatedReports) -> NDArray[np.float64]:  # noqa: ARG002  measured
        """How surprising each string's cells would be if nobody held it, as a z-score."""
        scores = np.empty(self.end.size)
        for level in np.unique(self.end).tolist():
            at_level = self.end == level
            scores[at_level] = self.rows.law(level).scores(self.tested[at_level])
        return scores

    def variance_with(
        self, share: NDArray[np.float64], allowance: Allowance
    ) -> NDArray[np.float64]:
        """The variance of the estimates if these are the true shares.

        Args:
            share: float64, (items,), in [0, 1].
            allowance: what it allows for beside noise.
        """
        slope, curvature = self._growth(allowance)
        return np.asarray(self.null_variance + slope * share - curvature * share**2)

    variance_at = variance_with

    def limits(
        self,
        share: NDArray[np.float64],  # noqa: ARG002
        alpha: float,
        allowance: Allowance,
    ) -> IntervalBounds:
        """The ends of each estimate's interval: Wilson's.

        Counts of noise are skewed, so a high estimate is less surprising than a low one (Cornish
        and Fisher 1938).

        Args:
            share: float64, (items,): not needed, as the variance is that at each share itself.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
        """
        z, estimate = z_for_alpha(alpha), self.share
        slope, curvature = self._growth(allowance)
        skew = np.minimum(self.skew * (z**2 - 1) / (6 * z), 0.9)
        low = wilson_end(estimate, (1 + skew) ** 2 * self.null_variance, slope, curvature, -z)
        high = wilson_end(estimate, (1 - skew) ** 2 * self.null_variance, slope, curvature, z)
        return IntervalBounds(
            np.minimum(low, estimate), np.maximum(high, estimate), np.zeros(estimate.size, bool)
        )

    def sum_variance(self, repeats: RepeatedReports) -> float:
        """The variance of the sum of all estimates: different strings are in different cells.

        Args:
            repeats: extra variance because one device may have sent several reports.
        """
        share = np.clip(self.share, 0.0, 1.0)
        return float(self.variance_with(share, Allowance(self.rows.total, repeats)).sum())

    def _growth(self, allowance: Allowance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How the variance grows with the share f: by slope f - curvature f^2."""
        sampled = 1 / self.rows.total + allowance.repeats.extra
        elsewhere = 1 - allowance.population  # of a population, all rows are a sample
        curvature = sampled * (self.stretch - elsewhere)
        return self.own + curvature, curvature


def shares_of_strings(rows: TrieRows, strings: Iterable[PlacedStrings]) -> TrieShares:
    """The shares of strings.

    Args:
        strings: in portions, which are gone through twice.
    """
    explaining = common_strings(rows, strings)
    parts = [estimate(rows, chunk, explaining) for chunk in strings]
    estimates = Estimates(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    shares = TrieShares(
        share=estimates.share,
        variance=estimates.null_variance,
        null_variance=estimates.null_variance,
        influence=estimates.moved,
        own=estimates.own,
        stretch=estimates.stretch,
        skew=estimates.skew,
        end=estimates.end,
        tested=estimates.tested,
        rows=rows,
    )
    clipped = np.clip(estimates.share, 0.0, 1.0)
    return replace(shares, variance=shares.variance_with(clipped, Allowance(rows.total)))


def planted_strings(trie: Trie, reports: int, share: float) -> int:
    """How many strings of their choice forgers could have planted, with 1% of all reports.

    The hyperplane of a point holds any t - 1 chosen items, so one forged report supports so many
    strings of a level. The forgers send theirs in all levels, as honest devices do.

    It also holds 1/q of all others: if all forged reports are of few points, as many strings that
    nobody chose come along. The check `bounds` finds such reports; it does not find those whose
    points are spread over the hyperplane of one string.

    Args:
        trie: the mechanism.
        share: what each of the strings would seem to have, in (0, 1].

    Returns:
        At most so many, each with this share.
    """
    supports = [trie.support(level) for level in range(trie.levels)]
    most = max((1 - support.q) / (support.p - support.q) for support in supports)
    several = max(trie.oracle(level).t - 1 for level in range(trie.levels))
    return int(float(influence(0.0, 0.0, most, reports=reports)) * several / share)
