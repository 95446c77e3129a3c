"""Where strings are in the rows of a trie, and the rows of the latest totals, kept in memory."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from deniable_aggregator.kernels import trie_cells
from deniable_aggregator.statistics.hashed.trie_estimates import PlacedStrings
from deniable_aggregator.statistics.hashed.trie_rows import TrieRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.tallies.trie import TrieTally
    from deniable_shared.mechanisms import Trie
    from deniable_shared.spec import Spec

MOST_ROWS_BYTES: Final = 128 << 20
"""The rows of all totals together; those that were asked for longest ago are forgotten."""

_PORTION_CELLS: Final = 1 << 18


class StringPlaces:
    """Where strings are in a trie, in portions of a few megabytes."""

    def __init__(self, spec: Spec, items: Sequence[str]) -> None:
        self._trie, self._salt = cast("Trie", spec.mechanism), spec.salt
        pieces = [cast("tuple[int, ...]", spec.encode(item)) for item in items]
        self._end = np.fromiter((len(path) - 1 for path in pieces), np.int64, len(pieces))
        self._pieces = np.zeros((len(pieces), self._trie.levels), np.int64)
        self._pieces[np.arange(self._trie.levels) <= self._end[:, None]] = np.fromiter(
            (piece for path in pieces for piece in path), np.int64
        )

    def __iter__(self) -> Iterator[PlacedStrings]:
        rows = 1 + self._trie.rows * (self._trie.levels - 1)
        step = max(1, _PORTION_CELLS // rows)
        for start in range(0, max(self._end.size, 1), step):
            yield self._place(self._pieces[start : start + step], self._end[start : start + step])

    def _place(self, pieces: NDArray[np.int64], end: NDArray[np.int64]) -> PlacedStrings:
        trie = self._trie
        cells = [pieces[:, :1]]
        names = trie_cells.extend(trie_cells.root(self._salt, end.size), pieces[:, 0])
        for level in range(1, trie.levels):
            piece = pieces[:, level]
            cells.append(trie_cells.cells(names, piece, level, trie.rows, trie.deeper.outcomes))
            names = np.where(end >= level, trie_cells.extend(names, piece), names)
        return PlacedStrings(end, np.concatenate(cells, axis=1), names)


class KeptRows:
    """The rows of the totals that were asked about last: working them out takes a second.

    Args:
        most_bytes: how much memory they take at most.
    """

    def __init__(self, most_bytes: int = MOST_ROWS_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[bytes, bytes], TrieRows] = OrderedDict()

    def rows(self, tally: TrieTally, counts: NDArray[np.int64]) -> TrieRows:
        """The rows of a total.

        Args:
            counts: int64, (cells,).
        """
        content = hashlib.sha256(np.ascontiguousarray(counts).data, usedforsecurity=False).digest()
        name = tally.digest, content
        with self._lock:
            if name in self._held:
                self._held.move_to_end(name)
                return self._held[name]
        rows = TrieRows(
            cast("Trie", tally.spec.mechanism), partial(tally.supports_of_level, counts)
        )
        with self._lock:
            self._held[name] = rows
            size = sum(kept.nbytes for kept in self._held.values())
            while size > self._most_bytes:
                size -= self._held.popitem(last=False)[1].nbytes
        return rows


KEPT_ROWS: Final = KeptRows()
