"""Estimates of strings from the rows of a trie of codes.

A string is estimated by all levels from the one in which it ends: in each of their rows it has a
cell of its own, or shares one by chance. Two things keep the others in a cell from being counted as
its devices. Listed strings that are common are explained: what they put into a cell is subtracted.
And rows in which a cell is much higher than the others say are left out, as in a sketch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.hashed.trie_rows import ROW_CAP
from deniable_aggregator.statistics.influence import influence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.hashed.trie_rows import TrieRows

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
