"""Estimates of strings from a sketch, each over the rows in which nothing else is too common.

How common a string is that nobody listed, from the cells of a sketch that no candidate explains.

A string of share f adds f to one cell of every row. Which cells these are nobody knows without the
string itself, but that every row has such a cell can be seen.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.counting.statistics.binomial import SupportCounts, supports_at
from deniable_aggregator.counting.statistics.influence import influence
from deniable_aggregator.counting.statistics.shares import Allowance
from deniable_aggregator.counting.statistics.sketch_rows import ROW_CAP
from deniable_aggregator.counting.statistics.sketches import SketchShares
from deniable_aggregator.counting.yield_points import yield_point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.sketch_rows import SketchRows, SketchStack
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


def unlisted_shares(stack: SketchStack, unexplained: NDArray[np.int64]) -> list[float | None]:
    """The share of the most common string that is no candidate, if it is clear that there is one.

    Args:
        unexplained: int64, (rows, buckets): the counts, 0 in cells of candidates that were found.

    Returns:
        Of each sketch the median over the rows of the largest cell that is not explained. None
        where too few rows have one that is more than noise, or where several strings of half of it
        may share cells.
    """
    largest = unexplained.max(axis=1)
    high = stack.sums((largest > stack.caps(_DEVIATIONS)).astype(np.int64))
    found: list[float | None] = [None] * len(stack.sketches)
    for place, rows in enumerate(stack.sketches):
        if high[place] / rows.rows < _LEAST_ROWS:
            continue
        first = int(stack.starts[place])
        shares = rows.share(largest[first : first + rows.rows], rows.reports) - stack.usual[place]
        halves = math.floor(2 / max(float(np.quantile(shares, 1 - _LEAST_ROWS)), 1e-9))
        if halves * (halves - 1) / 2 <= _MOST_COLLISIONS * rows.buckets:
            found[place] = min(float(np.median(shares)), 1.0)
    return found


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

_SMALL_CELLS: Final = 1 << 13
"""Fewer cells of the items of a sketch are judged together with those of others."""


class StringSums(NamedTuple):
    """Sums over the cells of strings, one in each row of a sketch.

    Attributes:
        supporting: int64, (sketches, items): how many reports support each.
        capped: int64, (sketches, items): what they count for the test.
        centred: int64, (sketches, items): by how much those that are kept exceed their row's mean.
        left_out: int64, (sketches, items): how many reports are in the other rows.
    """

    supporting: NDArray[np.int64]
    capped: NDArray[np.int64]
    centred: NDArray[np.int64]
    left_out: NDArray[np.int64]


class _Cells(NamedTuple):
    """The cells of some strings: of each one in every row of one sketch.

    Attributes:
        sketch: int64, (strings,): in whose rows; ascending.
        item: int64, (strings,): which string of the list.
        starts: int64, (strings,): the first cell of each.
        string: int64, (cells,): whose each cell is. Of one sketch, (strings, 1).
        rows: int64, (cells,): the row of each. Of one sketch, (1, rows), so that what follows from
            a row is not looked up for each string.
    """

    sketch: NDArray[np.int64]
    item: NDArray[np.int64]
    starts: NDArray[np.int64]
    string: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, stack: SketchStack, sketch: NDArray[np.int64], item: NDArray[np.int64]) -> _Cells:
        """All cells of some strings, each in the rows of one sketch."""
        lengths, first = stack.rows[sketch], stack.starts[sketch]
        starts, strings = np.cumsum(lengths) - lengths, np.arange(sketch.size)
        if sketch[0] == sketch[-1]:
            rows = first[0] + np.arange(lengths[0])
            return cls(sketch, item, starts, strings[:, None], rows[None])
        string = np.repeat(strings, lengths)
        return cls(sketch, item, starts, string, np.arange(string.size) + (first - starts)[string])

    def sums(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The sum over the cells of each string: (strings,).

        Args:
            numbers: of each cell.
        """
        if self.rows.ndim > 1:
            return np.asarray(numbers.sum(axis=1))
        return np.asarray(np.add.reduceat(numbers, self.starts))


def _in_chunks(
    stack: SketchStack, chosen: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Strings in sketches, so many at a time that their cells stay in the processor's cache.

    Args:
        chosen: bool, (sketches, items): which strings in which sketches.

    Yields:
        The sketch of each, ascending, and the string: int64, (some,), each.
    """
    rows = stack.rows
    small = chosen.any(axis=1) & (rows * chosen.sum(axis=1) < _SMALL_CELLS)
    sketch, item = np.nonzero(chosen & small[:, None])
    ends = np.cumsum(rows[sketch])
    cuts = np.flatnonzero(np.diff(ends // _CHUNK_CELLS)) + 1
    if sketch.size:
        yield from zip(np.split(sketch, cuts), np.split(item, cuts), strict=True)
    for place in np.flatnonzero(chosen.any(axis=1) & ~small).tolist():
        items, step = np.flatnonzero(chosen[place]), max(1, _CHUNK_CELLS // int(rows[place]))
        for start in range(0, items.size, step):
            some = items[start : start + step]
            yield np.full(some.size, place), some


def shares_of_strings(
    stack: SketchStack,
    sums: StringSums,
    lemmas: Sequence[Support],
    cells: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]],
    supported: Sequence[tuple[int, int]],
) -> list[SketchShares]:
    """The shares of strings in each sketch.

    Args:
        sums: of the strings' cells.
        lemmas: of each sketch, with which probabilities a report supports a string, over all hash
            functions.
        cells: called with rows and strings, int64, (cells,), each; returns the bucket of each
            string in its row.
        supported: of each sketch, how many buckets a report supports, at least and at most.
    """
    estimates = _estimates(stack, sums, lemmas, cells)
    scores = np.stack([law.scores(row) for law, row in zip(stack.laws, sums.capped, strict=True)])
    explained = np.zeros(scores.shape, bool)
    for place, rows in enumerate(stack.sketches):
        explained[place, explaining(rows, estimates[0][place], scores[place] > FOUND)] = True
    unexplained = stack.supporting.copy()
    for chunk in _in_chunks(stack, explained):
        mine = _Cells.of(stack, *chunk)
        unexplained[mine.rows, cells(mine.rows, mine.item[mine.string])] = 0
    unlisted = unlisted_shares(stack, unexplained)
    found = []
    for place, rows in enumerate(stack.sketches):
        lemma, total, other_cells = lemmas[place], rows.total, rows.buckets - 1
        share, variance, kept = (column[place] for column in estimates)
        # A report that supports a string does not support all others, and the other way round.
        least, most = supported[place]
        ends = -min(most, other_cells) / other_cells, 1 - max(least - 1, 0) / other_cells
        low, high = (end / rows.gap for end in ends)
        absent = float(stack.kept_cells.variance[place])
        family = max(absent - float(lemma.variance(0.0, total)), 0.0)
        moved = influence(share, low, high, reports=total, about=np.maximum(kept, 1))
        shares = SketchShares(
            share=share,
            variance=variance,
            null_variance=variance,
            support_counts=SupportCounts(sums.supporting[place], total, lemma, family),
            influence=np.asarray(moved),
            law_scores=scores[place],
            kept=kept,
            rows=rows,
            deviations=partial(_kept_deviations, stack, place),
            unlisted=unlisted[place],
        )
        clipped = np.clip(share, 0.0, 1.0)
        found.append(replace(shares, variance=shares.variance_with(clipped, Allowance(total))))
    return found


def _kept_deviations(stack: SketchStack, place: int, score: float) -> float:
    return stack.kept_laws[place].deviations(score)


def _estimates(
    stack: SketchStack,
    sums: StringSums,
    lemmas: Sequence[Support],
    cells: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Estimates from the rows that are kept for an item nobody holds, or for the item itself.

    Returns:
        Shares, their variances if nobody held the items, and how many reports were kept, float64,
        (sketches, items), each.
    """
    total, gap, absent = stack.total[:, None], stack.gap[:, None], stack.kept_cells
    deviation = np.array([rows.cell_deviation for rows in stack.sketches])[:, None]
    beside = 1 - absent.own[:, None]
    kept = (total - sums.left_out).astype(np.float64)
    part = kept / total
    share = (sums.centred - stack.rounded[:, None] * part) / np.maximum(kept, 1) / gap / beside
    variance = absent.variance[:, None] / np.maximum(part, 1 / total) / beside**2
    own = (share > _JUDGED_ABOVE * deviation) | (kept < _LEAST_KEPT * total)
    for sketch, item in _in_chunks(stack, own):
        yield_point()
        mine = _Cells.of(stack, sketch, item)
        lemma = supports_at(lemmas, sketch)
        first = lemma.share(sums.supporting[sketch, item], stack.total[sketch])
        counted = stack.supporting[mine.rows, cells(mine.rows, item[mine.string])]
        found = _judge_rows(stack, mine, counted.astype(np.int64), first)
        for column, values in zip((share, variance, kept), found, strict=True):
            column[sketch, item] = values
    return share, variance, kept


def _judge_rows(
    stack: SketchStack, mine: _Cells, cells: NDArray[np.int64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Shares from the rows in which a cell is not too high for the item's own share.

    In each of those rows the item's own cell is compared with the mean of the others that would be
    kept, if they had the item's devices on top. Its own and the others are alike but for the item's
    devices, so the variance of the others is also that of its own.

    Args:
        cells: int64, (cells,): how many reports support each.
        share: float64, (strings,): first estimates.

    Returns:
        Shares, their variances if nobody held the items, and how many reports were kept, float64,
        (strings,), each.
    """
    total, gap, rows = stack.total[mine.sketch], stack.gap[mine.sketch], stack.rows[mine.sketch]
    for _ in range(_ROUNDS):
        yield_point()
        clipped = np.clip(share, 0.0, 1.0)[mine.string]
        highest = stack.caps_at(clipped, ROW_CAP, mine.rows)
        background = stack.others(clipped, mine.rows, cells, highest)
        is_kept = (cells <= highest) & (background.number > 0)
        # Where there is nothing to compare with, an item keeps its first estimate.
        kept_reports = mine.sums(np.where(is_kept, stack.reports[mine.rows], 0))
        judged = kept_reports > 0
        kept_reports = np.where(judged, kept_reports, total)
        above = mine.sums(np.where(is_kept, cells - background.mean, 0.0))
        before, share = share, np.where(judged, above / (kept_reports * gap), share)
        if np.array_equal(share, before):
            break  # which rows are kept does not change any more
    freedom = mine.sums(np.where(is_kept, background.number - 1, 0.0))
    squares = mine.sums(np.where(is_kept, background.squares, 0.0))
    noise = supports_at([each.support for each in stack.sketches], mine.sketch)
    alone = noise.variance(0.0, 1) * gap**2 * total / rows
    spread = np.where(freedom > 0, squares / np.maximum(freedom, 1), alone)
    draws = mine.sums(np.where(is_kept, 1 + 1 / np.maximum(background.number, 1), 0.0))
    draws = np.where(judged, draws, rows)
    return share, spread * draws / (kept_reports * gap) ** 2, kept_reports
