"""From the prefixes of one level to their most likely children in the next: a beam search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.discovery.automaton import ENDED, IMPOSSIBLE
from deniable_aggregator.answering.discovery.pieces import (
    PieceDecoder,
    Prefixes,
    least_shares,
    log_odds,
)
from deniable_aggregator.answering.discovery.scanning import Scan
from deniable_aggregator.counting import hash_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.discovery.levels import Level


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
_SOON_BITS: Final = 8
"""Of every prefix all children are looked at that end a string within so many bits."""
_OWED_BITS: Final = 18
"""And all whose part of the error rate is at least 2^-18 of what the level's prefixes share."""
_MOST_ENDING: Final = 1 << 17
"""So many of these are kept at most."""
_PORTION: Final = 1 << 12
"""Of so many nodes the children are listed at a time."""
_LN2: Final = math.log(2)

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
        followed: of how many prefixes, the likeliest, all children are looked at.

    Attributes:
        prefixes: the parents, the likeliest first.
        least: float64, (prefixes,): `likely` passed children with lower estimates by.
        soon: int64, (prefixes,): all children are looked at that end within so many bits.
    """

    def __init__(
        self, level: Level, prefixes: Prefixes, decoder: PieceDecoder, followed: int
    ) -> None:
        self._level, self._decoder = level, decoder
        order = np.argsort(-prefixes.log_likely, kind="stable")
        self.prefixes = prefixes.take(order)
        self._followed = min(followed, len(prefixes))
        self.least = np.full(len(prefixes), np.inf)
        owed = self.prefixes.log_likely - np.logaddexp.reduce(self.prefixes.log_likely)
        soon = np.maximum(np.floor(owed / _LN2).astype(np.int64) + _OWED_BITS, _SOON_BITS)
        self.soon = np.minimum(soon, level.bits)
        self._places = hash_cells.places(
            self.prefixes.fingerprints, level.number, level.reports.size, level.cells
        )
        self._scan = Scan(level)

    def likely(self, most: int) -> Children:
        """The children with the best odds, at most so many, of which strings exist."""
        pool = _Pool(2 * most, most, _LEAST_ODDS)
        for start in range(0, self._followed, _BLOCK):
            block = slice(start, min(start + _BLOCK, self._followed))
            chosen = np.arange(len(self.prefixes))[block]
            least = least_shares(self.prefixes.take(block), self._level, pool.least)
            parents, pieces, shares = self._above(chosen, least)
            pool.add(parents, pieces, shares, log_odds(self.prefixes, parents, shares, self._level))
        best = pool.best()
        followed = slice(self._followed)
        self.least[followed] = least_shares(self.prefixes.take(followed), self._level, pool.least)
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
            cells = self.cells(sure.parents, sure.pieces)
            self._level.explain(cells, sure.shares)
            self._scan.refresh(cells)
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
        for start in range(0, self._followed, _BLOCK):
            block = slice(start, min(start + _BLOCK, self._followed))
            chosen = np.arange(len(self.prefixes))[block]
            cut = max(SURE_Z * level.deviation, ECHO * largest)
            # A child's share is at most its parent's, give or take the errors of both, and the
            # parent of so heavy a child is likely.
            largest_parents = self.prefixes.shares[block] + 5 * self.prefixes.deviations[block]
            likely = self.prefixes.log_likely[block] > _LIKELY
            chosen = chosen[likely & (largest_parents > cut - 5 * level.deviation)]
            prefixes = self._above(chosen, np.full(chosen.size, max(cut, pool.least)))
            if prefixes[0].size:
                largest = max(largest, float(prefixes[2].max()))
                pool.add(*prefixes, prefixes[2])
        parents, pieces, shares, _ = pool.best()
        is_large = shares > ECHO * largest
        children = self._make_children(
            parents[is_large], pieces[is_large], shares[is_large], shares[is_large]
        )
        return children, max(SURE_Z * level.deviation, ECHO * largest, pool.least)

    def ending_soon(self) -> Children:
        """The children that end a string within few bits, whatever their estimate: see `soon`.

        If there are very many, those that are likelier by this level alone.
        """
        parts = [
            self._ending(np.flatnonzero(self.soon == bits), bits)
            for bits in np.unique(self.soon).tolist()
        ]
        parents, pieces, used = map(np.concatenate, zip(*parts, strict=True))
        shares = self.estimates(parents, pieces)
        if parents.size > _MOST_ENDING:
            above = np.maximum(shares / self._level.deviation, 0.0)
            score = above**2 / 2 + self.prefixes.log_likely[parents] - _LN2 * used
            best = np.argpartition(-score, _MOST_ENDING)[:_MOST_ENDING]
            parents, pieces, used, shares = parents[best], pieces[best], used[best], shares[best]
        return Children(
            parents,
            pieces,
            np.full(parents.size, ENDED, np.int32),
            used,
            shares,
            log_odds(self.prefixes, parents, shares, self._level),
        )

    def _ending(
        self, chosen: NDArray[np.int64], bits: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Parents, pieces and used bits of the children of some prefixes that end within bits.

        Many prefixes lead to one node, of which they are listed once.
        """
        nodes, node = np.unique(self.prefixes.nodes[chosen], return_inverse=True)
        parts = []
        for start in range(0, nodes.size, _PORTION):
            reached, used = self._decoder.children(nodes[start : start + _PORTION], bits)
            own, numbers = np.nonzero(reached == ENDED)
            parts.append((own + start, numbers, used[own, numbers].astype(np.int64)))
        of_node, numbers, used_bits = map(np.concatenate, zip(*parts, strict=True))
        counts = np.bincount(of_node, minlength=nodes.size)
        starts = (np.cumsum(counts) - counts)[node]
        own_counts = counts[node]
        within = np.arange(own_counts.sum())
        within -= np.repeat(np.cumsum(own_counts) - own_counts, own_counts)
        listed = within + np.repeat(starts, own_counts)
        pieces = numbers[listed] << (self._level.bits - bits)
        return np.repeat(chosen, own_counts), pieces, used_bits[listed]

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
        self, chosen: NDArray[np.int64], least: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The children of some prefixes whose estimates are above each prefix's least."""
        numbers, pieces = self._scan.above(self._places[chosen], least)
        parents = chosen[numbers]
        shares = self.estimates(parents, pieces)
        above = shares > least[numbers]
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
