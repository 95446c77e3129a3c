"""Estimates of strings from the rows of a trie of codes, and the shares of given strings.

Estimates of strings from the rows of a trie of codes.

A string is estimated by all levels from the one in which it ends: in each of their rows it has a
cell of its own, or shares one by chance. Two things keep the others in a cell from being counted as
its devices. Listed strings that are common are explained: what they put into a cell is subtracted.
And rows in which a cell is much higher than the others say are left out, as in a sketch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from deniable_aggregator.counting.statistics.influence import influence
from deniable_aggregator.counting.statistics.intervals import (
    RepeatedReports,
    wilson_end,
    z_for_alpha,
)
from deniable_aggregator.counting.statistics.shares import Allowance, IntervalBounds, ItemShares
from deniable_aggregator.counting.statistics.trie_rows import ROW_CAP, TrieRows
from deniable_aggregator.counting.yield_points import yield_point

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.shares import Ends
    from deniable_shared.mechanisms import Trie


_ROUNDS: Final = 3
"""How often the rows that a string keeps are judged again by its estimate."""

_EXPLAINED_DEVIATIONS: Final = 6.0
"""Strings so many standard errors above 0 are taken to explain their cells."""

_MOST_EXPLAINING: Final = 512
"""At most so many do, the most common ones."""

_EXPLAINING_ROUNDS: Final = 3

_CELL_BITS: Final = 32


class PlacedStrings(NamedTuple):
    """Where strings are.

    Attributes:
        end: int64, (strings,): the level in which each ends.
        cells: int64, (strings, rows): its cell in every row of all levels; below its end that of
            its beginning.
        names: uint64, (strings,): the fingerprint of all its pieces, the same for strings that
            reports do not tell apart.
    """

    end: NDArray[np.int64]
    cells: NDArray[np.int64]
    names: NDArray[np.uint64]

    def take(self, chosen: NDArray[np.int64]) -> PlacedStrings:
        """Some of the strings."""
        return PlacedStrings(self.end[chosen], self.cells[chosen], self.names[chosen])


class Explaining(NamedTuple):
    """Common strings, and their shares.

    Attributes:
        places: where they are; each once.
        share: float64, (strings,).
    """

    places: PlacedStrings
    share: NDArray[np.float64]


class Estimates(NamedTuple):
    """What is known of strings: float64, (strings,) each; the names are those of `TrieShares`.

    Attributes:
        share: the estimate.
        null_variance: of the estimate, if nobody holds the string; infinite without reports.
        own: see `TrieShares`.
        stretch: likewise.
        skew: likewise.
        end: int64: the level in which each ends.
        tested: see `TrieShares`.
        moved: how far forged reports could have moved the estimate.
    """

    share: NDArray[np.float64]
    null_variance: NDArray[np.float64]
    own: NDArray[np.float64]
    stretch: NDArray[np.float64]
    skew: NDArray[np.float64]
    end: NDArray[np.int64]
    tested: NDArray[np.float64]
    moved: NDArray[np.float64]


def common_strings(rows: TrieRows, strings: Iterable[PlacedStrings]) -> Explaining | None:
    """The common strings, each with a share that is corrected for those of the others.

    Args:
        strings: in portions.

    Returns:
        None if none is common.
    """
    common = []
    for chunk in strings:
        yield_point()
        first = estimate(rows, chunk, None)
        detected = np.flatnonzero(
            first.share > _EXPLAINED_DEVIATIONS * np.sqrt(first.null_variance)
        )
        common.append((*chunk.take(detected), first.share[detected]))
    *columns, share = (np.concatenate(column) for column in zip(*common, strict=True))
    single = np.unique(columns[-1], return_index=True)[1]
    chosen = single[np.argsort(-share[single], kind="stable")[:_MOST_EXPLAINING]]
    if not chosen.size:
        return None
    places = PlacedStrings(*columns).take(chosen)
    explaining = Explaining(places, np.clip(share[chosen], 0.0, 1.0))
    for _ in range(_EXPLAINING_ROUNDS):
        refined = estimate(rows, places, explaining)
        explaining = Explaining(places, np.clip(refined.share, 0.0, 1.0))
    return explaining


def estimate(rows: TrieRows, strings: PlacedStrings, explaining: Explaining | None) -> Estimates:
    """Estimates strings.

    Args:
        explaining: whose devices are subtracted first; a string's own are not.
    """
    columns = rows.columns
    gap = columns.p - columns.q
    counts = _counts(rows, strings)
    beside, other_share = _explained_shares(strings, explaining, columns.reports.size)
    # The expected count of a string that nobody holds, and how much it grows with its share.
    remaining = columns.shared * (1 - other_share)[:, None]
    absent = columns.reports * (columns.q + gap * (beside + remaining))
    slope = columns.reports * gap * (1 - columns.shared)
    counted = (columns.level >= strings.end[:, None]) & (columns.reports > 0)
    share, is_kept = _judge_rows(rows, counts, absent, slope, counted)
    gain = np.where(is_kept, columns.gain * slope, 0.0)
    information = gain.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(information[:, None] > 0, gain / information[:, None], 0.0)
        per_report = np.where(is_kept, part**2 / columns.reports, 0.0)
        noise = columns.q + columns.shared * gap
        alone = noise * (1 - noise) / (gap * (1 - columns.shared)) ** 2
        null = (per_report * alone * columns.spread).sum(axis=1)
        third = ((per_report * alone) ** 1.5 * _skews(noise, columns.reports)).sum(axis=1)
        skew = np.where(null > 0, third / null**1.5, 0.0)
    null = np.where(information > 0, null, np.inf)
    own = (per_report * (1 - columns.p - columns.q) / gap).sum(axis=1)
    stretch = per_report.sum(axis=1) * rows.total
    moved = _influence(rows, share, information)
    free = counts - columns.reports * gap * beside
    weights = np.where(columns.level > 0, 1.0, rows.part_of_first)
    tested = np.where(counted, np.minimum(free, rows.caps) * weights, 0.0).sum(axis=1)
    return Estimates(share, null, own, stretch, skew, strings.end, tested, moved)


def _counts(rows: TrieRows, strings: PlacedStrings) -> NDArray[np.float64]:
    """How many reports support each string's cells: float64, (strings, rows)."""
    counts, start = np.empty(strings.cells.shape), 0
    for supporting in rows.supporting:
        for row in supporting:
            counts[:, start] = row[strings.cells[:, start]]
            start += 1
    return counts


def _explained_shares(
    strings: PlacedStrings, explaining: Explaining | None, rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of all other explained strings in each cell, and the share of all together.

    Returns:
        float64, (strings, rows) and (strings,).
    """
    if explaining is None:
        return np.zeros((strings.end.size, rows)), np.zeros(strings.end.size)
    order = np.argsort(explaining.places.names)
    names = explaining.places.names[order]
    place = np.minimum(np.searchsorted(names, strings.names), names.size - 1)
    own = np.where(names[place] == strings.names, explaining.share[order][place], 0.0)
    shift = np.arange(rows) << _CELL_BITS
    cells, where = np.unique(explaining.places.cells + shift, return_inverse=True)
    cell_shares = np.bincount(where.ravel(), np.repeat(explaining.share, rows))
    mine = strings.cells + shift
    place = np.minimum(np.searchsorted(cells, mine), cells.size - 1)
    beside = np.where(cells[place] == mine, cell_shares[place] - own[:, None], 0.0)
    return np.maximum(beside, 0.0), explaining.share.sum() - own


def _judge_rows(
    rows: TrieRows,
    counts: NDArray[np.float64],
    absent: NDArray[np.float64],
    slope: NDArray[np.float64],
    counted: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Shares from the rows whose cells are not too high for them, and which rows these are."""
    columns = rows.columns
    weights = np.where(counted, columns.gain * slope, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        single = np.where(counted, (counts - absent) / slope, 0.0)
    share = _medians(single, weights)
    is_kept = counted
    for _ in range(_ROUNDS):
        expected = absent + slope * np.clip(share, 0.0, 1.0)[:, None]
        chance = np.clip(expected / np.maximum(columns.reports, 1), 0.0, 1.0)
        deviation = np.sqrt(expected * (1 - chance) * columns.spread)
        skew = (ROW_CAP**2 - 1) / 6 * (1 - 2 * chance)
        highest = expected + ROW_CAP * deviation + np.maximum(skew, 0.0)
        # Nobody else is in the cells of the first level.
        is_kept = counted & ((counts <= highest) | (columns.level == 0))
        own = np.where(is_kept, weights, 0.0)
        share = (own * single).sum(axis=1) / np.maximum(own.sum(axis=1), 1e-300)
    return share, is_kept


def _medians(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted median of each row: float64, (items,)."""
    order = np.argsort(values, axis=1)
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    middle = (sums < sums[:, -1:] / 2).sum(axis=1)
    place = np.take_along_axis(order, np.minimum(middle, values.shape[1] - 1)[:, None], axis=1)
    return np.asarray(np.take_along_axis(values, place, axis=1)[:, 0])


def _influence(
    rows: TrieRows, share: NDArray[np.float64], information: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far forged reports could have moved each estimate: float64, (strings,).

    All of them are of the level in which a report counts most.
    """
    columns, moved = rows.columns, np.zeros(share.size)
    for row in {0, columns.level.size - 1}:
        gap = (columns.p[row] - columns.q[row]) * (1 - columns.shared[row])
        absent = columns.q[row] + columns.shared[row] * (columns.p[row] - columns.q[row])
        about = information / (columns.gain[row] * gap)
        ends = -absent / gap, (1 - absent) / gap
        moved = np.maximum(moved, influence(share, *ends, reports=rows.total, about=about))
    return moved


def _skews(q: NDArray[np.float64], reports: NDArray[np.float64]) -> NDArray[np.float64]:
    """The third standardised moment of binomial counts."""
    return np.asarray((1 - 2 * q) / np.sqrt(np.maximum(reports, 1) * q * (1 - q)))


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
        exact: Ends | None = None,  # noqa: ARG002
    ) -> IntervalBounds:
        """The ends of each estimate's interval: Wilson's.

        Counts of noise are skewed, so a high estimate is less surprising than a low one (Cornish
        and Fisher 1938).

        Args:
            share: float64, (items,): not needed, as the variance is that at each share itself.
            alpha: the probability that one interval may miss, in (0, 1).
            allowance: what they allow for beside noise.
            exact: not needed, as there are no exact ones.
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
