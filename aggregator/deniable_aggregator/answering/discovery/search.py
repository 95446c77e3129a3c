"""From the prefixes of one level to their most likely children in the next: a beam search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answering.discovery.automaton import ENDED, IMPOSSIBLE
from deniable_aggregator.answering.discovery.pieces import (
    PieceDecoder,
    Prefixes,
    least_shares,
    log_odds,
)
from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.statistics.binomial import log_probabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms.base import Support


_UNITS: Final = 100
"""So many units of `Level.rounded` are a standard error: the rounding of 16 rows adds one."""


class Level:
    """The devices that seem to be in each cell, above what cells have by chance.

    A report supports the cell of its device with probability p, and any other with q. The excess of
    a cell, (supporting - reports q) / (p - q), has the number of devices in the cell as its mean
    and, where nobody is, the variance reports q (1 - q) / (p - q)^2.

    Args:
        number: of the level, from 0.
        support: p and q of the level.
        reports: int64, (rows,).
        supporting: int64, (rows, cells).

    Attributes:
        reports: float64, (rows,).
        total: all reports of the level.
        p: probability that a report supports the cell of its device.
        q: the probability that it supports any other.
        spread: by which factor the cells vary more than noise makes them, if notably; else 1.
        variance: of an estimated share where nobody is, times the reports.
        cells: in a row.
    """

    def __init__(
        self,
        number: int,
        bits: int,
        support: Support,
        reports: NDArray[np.int64],
        supporting: NDArray[np.int64],
    ) -> None:
        self.number = number
        self.bits = bits
        self.cells = supporting.shape[1]
        self.reports = reports.astype(np.float64)
        self.total = float(reports.sum())
        self.p, self.q = support.p, support.q
        self.spread = _spread(reports, supporting, self.q)
        self.variance = self.spread**2 * self.q * (1 - self.q) / (self.p - self.q) ** 2
        self._excess = np.empty(supporting.shape, np.float32)
        for row, supported in enumerate(supporting):
            self._excess[row] = (supported - self.reports[row] * self.q) / (self.p - self.q)

    @property
    def weight(self) -> float:
        """The inverse variance of an estimated share where nobody is; 0 without reports."""
        return self.total / self.variance

    @property
    def deviation(self) -> float:
        """The standard error of an estimated share where nobody is; infinite without reports."""
        return self.weight**-0.5 if self.total else np.inf

    def estimates(self, cells: NDArray[np.integer]) -> NDArray[np.float64]:
        """Estimated shares of what is in these cells and not explained yet; 0 without reports.

        Args:
            cells: integers, (strings, rows).

        Returns:
            float64, (strings,).
        """
        sums = np.zeros(len(cells))
        for row, excess in enumerate(self._excess):  # a row stays in the cache
            sums += excess.take(cells[:, row])
        return np.asarray(sums / max(self.total, 1.0))

    def rounded(self) -> tuple[NDArray[np.int16], float]:
        """The excess of all cells in small integers, to scan many cells quickly.

        Returns:
            int16, (rows, cells and the first ones again, so that no slice of children has to wrap
            around): what is beyond the range of a sum over the rows is clipped. The unit in
            devices, a hundredth of the standard error of a sum.
        """
        unit = self.deviation * self.total / _UNITS
        most = np.iinfo(np.int16).max // len(self._excess)
        wrapped = 1 << self.bits
        rounded = np.empty((len(self._excess), self.cells + wrapped), np.int16)
        for row, excess in enumerate(self._excess):
            scaled = excess / np.float32(unit)
            np.rint(scaled, out=scaled)
            rounded[row, : self.cells] = np.clip(scaled, -most, most, out=scaled)
        rounded[:, self.cells :] = rounded[:, :wrapped]
        return rounded, unit

    def first_row(self) -> NDArray[np.float64]:
        """Estimated shares of all cells of a level of one row: float64, (cells,)."""
        return np.asarray(self._excess[0].astype(np.float64) / max(self.total, 1.0))

    def explain(self, cells: NDArray[np.integer], shares: NDArray[np.float64]) -> None:
        """Takes out what strings of these shares put into their cells.

        Args:
            cells: integers, (strings, rows).
            shares: float64, (strings,); negative ones put something back.
        """
        for row, reports in enumerate(self.reports.tolist()):
            devices: Any = (shares * reports).astype(np.float32)
            np.subtract.at(self._excess[row], cells[:, row], devices)


NOTABLE_SPREAD: Final = 1.02
"""A smaller factor is not told from that of honest reports."""
_ENOUGH_CELLS: Final = 20_000
"""Of fewer cells the spread is not known as well as that."""
_TAIL: Final = float(special.ndtr(-1))
_NEVER_BEYOND: Final = 12
"""A binomial count is no more standard deviations, and one, from its mean."""


def _spread(reports: NDArray[np.int64], supporting: NDArray[np.int64], q: float) -> float:
    """How much farther apart the cells of rows are than those that nobody is in, if notably; or 1.

    Between the quantiles that are one standard deviation from the mean of a normal law are two of
    them. Cells that devices are in are too few to move these; forged reports move all cells. Both
    are interpolated, the counts' and the binomial law's, so that the steps of either do not matter.

    Args:
        reports: int64, (rows,).
        supporting: int64, (rows, cells).
    """
    if supporting.size < _ENOUGH_CELLS:
        return 1.0
    seen, law = 0.0, 0.0
    for row, count in zip(supporting, reports.tolist(), strict=True):
        mean = count * q
        reach = _NEVER_BEYOND * (math.sqrt(mean) + 1)
        first, last = max(0, int(mean - reach)), min(count, int(mean + reach))
        counts = np.arange(first, last + 1)
        likely = np.exp(log_probabilities(counts, count, q))
        found = np.bincount(np.clip(row, first, last) - first, minlength=counts.size)
        law += _quantile_distance(likely) ** 2
        seen += _quantile_distance(found / found.sum()) ** 2
    spread = math.sqrt(seen / law)
    return spread if spread > NOTABLE_SPREAD else 1.0


def _quantile_distance(probabilities: NDArray[np.float64]) -> float:
    """Between the quantiles of `_TAIL` and 1 - `_TAIL` of consecutive integers."""
    cumulative = np.concatenate([[0.0], np.cumsum(probabilities)])
    low, high = np.interp([_TAIL, 1 - _TAIL], cumulative, np.arange(cumulative.size))
    return float(high - low)


SURE_Z: Final = 6.5
"""Children above so many standard errors are taken out of a level before the others are ranked."""

ECHO: Final = 0.2
"""What a heavy string puts into the cells of others by a collision is below this part of it.
In one of 16 rows a collision shows a sixteenth; in three at once, 3/16."""

_LIKELY: Final = math.log(0.01)
"""The parents of very heavy children are at least so likely."""
_LEAST_ODDS: Final = -12.0
"""Children with a smaller logarithm of the odds are not followed: with few reports there are
millions of them, and among a million reports none of the best is."""
_ROUNDS: Final = 8
"""How often the heaviest children are taken out of a level; each time the largest that is left is
a fifth of the one before, so this is enough for shares of 1 among errors of a millionth."""
_BLOCK: Final = 64
"""So many prefixes are read between two looks at what a child needs to be among the best."""
_ROUNDING: Final = 4
"""So many units of `Level.rounded` may be lost by rounding."""
_HIGHEST: Final = 30_000
"""No cut is above so many units: sums are clipped there."""

Rounded = tuple["NDArray[np.int16]", float]
"""See `Level.rounded`."""
_Columns = tuple[
    "NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"
]
"""Parents, pieces, shares, and what orders them."""


class Children(NamedTuple):
    """Children of prefixes.

    Attributes:
        parents: int64, (children,): the places of their prefixes.
        pieces: int64, (children,): the piece of the level.
        nodes: int32, (children,): where it leads.
        used: int64, (children,): how many bits of the piece are code, the others being padding.
        shares: float64, (children,): the level's estimate.
        log_odds: float64, (children,): that devices hold strings that begin so.
    """

    parents: NDArray[np.int64]
    pieces: NDArray[np.int64]
    nodes: NDArray[np.int32]
    used: NDArray[np.int64]
    shares: NDArray[np.float64]
    log_odds: NDArray[np.float64]


class LevelSearch:
    """Finds the children of prefixes in one level.

    Args:
        level: the reports; what is explained of it is taken out.
        decoder: knows which pieces strings can have.

    Attributes:
        prefixes: the parents, the likeliest first.
        least: float64, (prefixes,): `likely` passed children with lower estimates by.
    """

    def __init__(self, level: Level, prefixes: Prefixes, decoder: PieceDecoder) -> None:
        self._level, self._decoder = level, decoder
        order = np.argsort(-prefixes.log_likely, kind="stable")
        self.prefixes = prefixes.take(order)
        self.least = np.full(len(prefixes), -np.inf)
        self._places = hash_cells.places(
            self.prefixes.fingerprints, level.number, level.reports.size, level.cells
        )

    def likely(self, most: int) -> Children:
        """The children with the best odds, at most so many, of which strings exist."""
        pool = _Pool(2 * most, most, _LEAST_ODDS)
        rounded = self._level.rounded()
        for start in range(0, len(self.prefixes), _BLOCK):
            block = slice(start, start + _BLOCK)
            chosen = np.arange(len(self.prefixes))[block]
            least = least_shares(self.prefixes.take(block), self._level, pool.least)
            parents, pieces, shares = self._above(rounded, chosen, least)
            pool.add(parents, pieces, shares, log_odds(self.prefixes, parents, shares, self._level))
        best = pool.best()
        self.least = least_shares(self.prefixes, self._level, pool.least)
        return self._make_children(*best)

    def take_out_sure(self, most: int) -> list[Children]:
        """Takes the heaviest children out of the level, at most so many at a time.

        What they put into the cells of others is gone then, so that lighter ones can be told from
        it.

        Returns:
            What was taken out each time, the heaviest first.
        """
        certain = []
        for _ in range(_ROUNDS):
            sure, least = self._sure(most)
            if not sure.pieces.size:
                break
            self._level.explain(self.cells(sure.parents, sure.pieces), sure.shares)
            certain.append(sure)
            if least <= SURE_Z * self._level.deviation:  # all of them
                break
        return certain

    def _sure(self, most: int) -> tuple[Children, float]:
        """The heaviest children, and a share above which all are among them.

        They end at a part of the largest that no collision can have.
        """
        level = self._level
        pool = _Pool(2 * most, most, 0.0)
        largest = 0.0
        rounded = level.rounded()
        for start in range(0, len(self.prefixes), _BLOCK):
            block = slice(start, start + _BLOCK)
            chosen = np.arange(len(self.prefixes))[block]
            cut = max(SURE_Z * level.deviation, ECHO * largest)
            # A child's share is at most its parent's, give or take the errors of both, and the
            # parent of so heavy a child is likely.
            largest_parents = self.prefixes.shares[block] + 5 * self.prefixes.deviations[block]
            likely = self.prefixes.log_likely[block] > _LIKELY
            chosen = chosen[likely & (largest_parents > cut - 5 * level.deviation)]
            prefixes = self._above(rounded, chosen, np.full(chosen.size, max(cut, pool.least)))
            if prefixes[0].size:
                largest = max(largest, float(prefixes[2].max()))
                pool.add(*prefixes, prefixes[2])
        parents, pieces, shares, _ = pool.best()
        is_large = shares > ECHO * largest
        children = self._make_children(
            parents[is_large], pieces[is_large], shares[is_large], shares[is_large]
        )
        return children, max(SURE_Z * level.deviation, ECHO * largest, pool.least)

    def ending_soon(self, bits: int) -> Children:
        """All children that end a string within so few bits, whatever their estimate."""
        nodes, used = self._decoder.children(self.prefixes.nodes, bits)
        parents, numbers = np.nonzero(nodes == ENDED)
        pieces = numbers.astype(np.int64) << (self._level.bits - bits)
        shares = self.estimates(parents, pieces)
        return Children(
            parents,
            pieces,
            nodes[parents, numbers],
            used[parents, numbers].astype(np.int64),
            shares,
            log_odds(self.prefixes, parents, shares, self._level),
        )

    def cells(self, parents: NDArray[np.int64], pieces: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64, (children, rows)."""
        cells = np.empty((self._places.shape[1], parents.size), np.int64).T
        for row in range(self._places.shape[1]):
            cells[:, row] = self._places[:, row].take(parents)
        cells += pieces[:, None]
        np.subtract(cells, self._level.cells, out=cells, where=cells >= self._level.cells)
        return cells

    def estimates(
        self, parents: NDArray[np.int64], pieces: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """float64, (children,)."""
        return self._level.estimates(self.cells(parents, pieces))

    def _above(
        self, rounded: Rounded, chosen: NDArray[np.int64], least: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The children of some prefixes whose estimates are above each prefix's least."""
        excess, unit = rounded
        cuts = np.minimum(np.floor(least * self._level.total / unit) - _ROUNDING, _HIGHEST)
        columns = []
        size = 1 << self._level.bits
        sums = np.zeros(size, np.int16)
        rows = list(excess)
        for places, cut in zip(self._places[chosen].tolist(), cuts.astype(np.int16), strict=True):
            sums[:] = 0
            for own, place in zip(rows, places, strict=True):
                sums += own[place : place + size]
            columns.append((sums > cut).nonzero()[0])
        parents = np.repeat(chosen, [pieces.size for pieces in columns])
        pieces = np.concatenate([np.empty(0, np.int64), *columns])
        shares = self.estimates(parents, pieces)
        above = shares > np.repeat(least, [pieces.size for pieces in columns])
        return parents[above], pieces[above], shares[above]

    def _make_children(
        self,
        parents: NDArray[np.int64],
        pieces: NDArray[np.int64],
        shares: NDArray[np.float64],
        odds: NDArray[np.float64],
    ) -> Children:
        nodes, used = self._decoder.follow(self.prefixes.nodes[parents], pieces, self._level.bits)
        children = Children(parents, pieces, nodes, used.astype(np.int64), shares, odds)
        return take_children(children, nodes != IMPOSSIBLE)


def take_children(children: Children, chosen: NDArray[Any]) -> Children:
    """The chosen ones: by a mask or by places."""
    return Children(*(column[chosen] for column in children))


def join_children(
    certain: Sequence[Children], uncertain: Sequence[Children], bits: int
) -> tuple[Children, NDArray[np.float64]]:
    """Each child once.

    Args:
        certain: those that were taken out of the level, with the share that was.
        uncertain: those that were not.

    Returns:
        The children, and how much of each was taken out: float64, (children,).
    """
    parts = [*certain, *uncertain]
    everything = Children(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    out = np.zeros(everything.pieces.size)
    explained = np.concatenate([np.empty(0), *(part.shares for part in certain)])
    out[: explained.size] = explained
    key = everything.parents << bits | everything.pieces
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return take_children(everything, first), np.bincount(place, out, first.size).astype(np.float64)


class _Pool:
    """Keeps the best of many, and knows what a further one needs to be among them.

    Args:
        room: how many are gathered before all but the best are dropped.
        least: what is not above this is never kept.
    """

    def __init__(self, room: int, most: int, least: float) -> None:
        self._room, self._most = room, most
        nothing = np.empty(0, np.int64)
        self._parts: list[_Columns] = [(nothing, nothing, np.empty(0), np.empty(0))]
        self._count = 0
        self.least = least

    def add(self, *columns: *_Columns) -> None:
        """Adds some; the last column says how good they are."""
        is_above = columns[-1] > self.least
        parents, pieces, shares, values = columns
        self._parts.append(
            (parents[is_above], pieces[is_above], shares[is_above], values[is_above])
        )
        self._count += int(is_above.sum())
        if self._count > self._room:
            self.best()

    def best(self) -> _Columns:
        """The best, in no order."""
        parents, pieces, shares, values = map(np.concatenate, zip(*self._parts, strict=True))
        if values.size > self._most:
            best = np.argpartition(-values, self._most)[: self._most]
            parents, pieces, shares, values = (
                parents[best],
                pieces[best],
                shares[best],
                values[best],
            )
            self.least = float(values.min())
        columns = parents, pieces, shares, values
        self._parts, self._count = [columns], values.size
        return columns
