"""Looks at all children of many prefixes, whose estimates are sums of small integers at first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.answering.discovery.levels import Level

_STEPS: Final = ((np.uint8, 4), (np.uint16, 25))
"""The integers in which cells are added, and how many are a standard error of a cell. The narrower
ones are added twice as fast."""
_MOST_TALL: Final = 1_000
"""So many cells of a level may be too tall for an integer; else wider ones are taken."""


class Scan:
    """A level's cells in small integers.

    Each is rounded, and cut at both ends of the integers of which half a column's sum fits. What is
    cut at the lower end can only seem higher. Cells that are too *tall* are few: their children are
    named in any case.

    Args:
        level: above the first. Where something is taken out of it, `refresh` is due.
    """

    def __init__(self, level: Level) -> None:
        self._level = level
        for dtype, steps in _STEPS:
            self._use(dtype, steps)
            if sum(tall.size for tall in self._tall) <= _MOST_TALL:
                break

    def _use(self, dtype: type[np.unsignedinteger[Any]], steps: int) -> None:
        level, rows = self._level, len(self._level.excess)
        self._most = np.iinfo(dtype).max // -(-rows // 2)
        self._zero = self._most // 4
        self._unit = level.deviation * level.total / math.sqrt(rows) / steps
        # The first ones follow again, so that no slice of children has to wrap around.
        again = 1 << level.bits
        self._rows = np.empty((rows, level.cells + again), dtype)
        self._tall = []
        for own, excess in zip(self._rows, level.excess, strict=True):
            rounded = self._rounded(excess)
            own[: level.cells] = np.clip(rounded, 0, self._most, out=rounded)
            self._tall.append(np.flatnonzero(excess > self._tallest))
        self._rows[:, level.cells :] = self._rows[:, :again]
        self._sums = np.empty((2, again), dtype)

    @property
    def _tallest(self) -> np.float32:
        """No excess up to this one is cut at the upper end."""
        return np.float32((self._most - self._zero) * self._unit)

    def _rounded(self, excess: NDArray[np.float32]) -> NDArray[np.float32]:
        scaled = excess / np.float32(self._unit)
        scaled += np.float32(self._zero)
        np.rint(scaled, out=scaled)
        return scaled

    def refresh(self, cells: NDArray[np.integer]) -> None:
        """Reads some cells of the level again.

        Args:
            cells: integers, (strings, rows).
        """
        for row, excess in enumerate(self._level.excess):
            changed, own = cells[:, row], self._rows[row]
            own[changed] = np.clip(self._rounded(excess[changed]), 0, self._most)
            first = changed[changed < self._sums.shape[1]]
            own[first + excess.size] = own[first]
            tall = np.union1d(self._tall[row], changed)
            self._tall[row] = tall[excess[tall] > self._tallest]

    def above(
        self, starts: NDArray[np.int64], least: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All children whose estimates are above their prefix's least, and others near it.

        Args:
            starts: int64, (prefixes, rows): the cells of their first children.
            least: float64, (prefixes,).

        Returns:
            The places of the prefixes, ascending, and the pieces, ascending for each prefix: int64,
            (children,), each child once.
        """
        size, bits = self._sums.shape[1], self._level.bits
        rows, middle = list(self._rows), (len(self._rows) + 1) // 2
        # Of all the rounding, and of halving both sums, at most so much is lost.
        cuts = least * (self._level.total / self._unit) + len(rows) * (self._zero - 0.5) - 2
        cuts = np.clip(cuts // 2 - 1, 0, np.iinfo(self._sums.dtype).max).astype(self._sums.dtype)
        keys = [np.empty(0, np.int64)]
        for number, (places, cut) in enumerate(zip(starts.tolist(), cuts, strict=True)):
            for half, sums in zip((slice(middle), slice(middle, None)), self._sums, strict=True):
                sums[:] = 0
                for own, place in zip(rows[half], places[half], strict=True):
                    sums += own[place : place + size]
            self._sums >>= 1
            sums = self._sums[0]
            sums += self._sums[1]
            keys.append((sums > cut).nonzero()[0] + (number << bits))
        children = np.concatenate(keys)
        further = self._tall_children(starts)
        places = np.searchsorted(children, further)
        is_new = np.append(children, -1)[places] != further
        children = np.insert(children, places[is_new], further[is_new])
        return children >> bits, children & (size - 1)

    def _tall_children(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those in tall cells, ascending: the prefix's place, and then the bits of the piece."""
        row = np.repeat(np.arange(len(self._tall)), [tall.size for tall in self._tall])
        pieces = (np.concatenate(self._tall) - starts[:, row]) % self._level.cells
        number, place = np.nonzero(pieces < self._sums.shape[1])
        return np.unique(number << self._level.bits | pieces[number, place])
