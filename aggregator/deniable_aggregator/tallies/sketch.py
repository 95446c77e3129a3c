"""Count-mean sketches: estimates for any list of strings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.kernels import hashing
from deniable_aggregator.statistics.hashed.sketch_rows import SketchRows
from deniable_aggregator.statistics.hashed.sketch_shares import StringSums, shares_of_strings
from deniable_aggregator.tallies.base import oracle_tally_for, tallies
from deniable_aggregator.tallies.grouped import GroupedTally
from deniable_shared.hashing import key
from deniable_shared.mechanisms import Sketch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_aggregator.statistics.hashed.sketch_shares import SketchShares
    from deniable_aggregator.tallies.diagnostics import OnesHistogram
    from deniable_shared.spec import Spec

_CHUNK_ITEMS = 1 << 15
_SUM_BITS = 62


@tallies(Sketch)
class SketchTally(GroupedTally):
    """An oracle's counts for every row; the share of any string can be estimated from them."""

    def __init__(self, spec: Spec) -> None:
        self._mechanism = cast("Sketch", spec.mechanism)
        super().__init__(spec, self._mechanism.rows, oracle_tally_for(self._mechanism.inner))

    @cached_property
    def diagnostics(self) -> OnesHistogram | None:
        """Those of the inner oracle's reports."""
        return self._oracle.grouped_diagnostics()

    def _checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Rows are as common as they are drawn, and in each all counts are within bounds."""
        yield from self._group_checks(counts, "rows of the sketch")
        if self.diagnostics is not None:
            yield self.diagnostics.check(diagnostics).only_where(has_diagnostics)

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> SketchShares:
        """The shares of any strings; cost grows linearly with candidates times rows."""
        rows = self._counts_by_group(counts)
        reports = self._oracle.reports(rows)
        filled = np.flatnonzero(reports)
        sketch = SketchRows(
            reports[filled],
            self._oracle.supporting(rows[filled]),
            self._mechanism.inner.support,
        )
        places = _Places(hashing.words(items, self.spec.salt), filled, self._mechanism.buckets)
        left_out = np.where(sketch.kept, 0, sketch.reports[:, None])
        tables = sketch.supporting, sketch.capped, sketch.centred, left_out
        return shares_of_strings(
            sketch,
            StringSums(*places.sums(tables)),
            self._mechanism.support,
            places.buckets,
            self._oracle.support_range(np.arange(self._mechanism.buckets)),
        )


class _Places:
    """Where strings are in the rows of a sketch.

    Args:
        words: uint64, (items,): of the strings.
        rows: int64, (rows,): the numbers of the rows.
        size: how many buckets a row has.
    """

    def __init__(self, words: NDArray[np.uint64], rows: NDArray[np.int64], size: int) -> None:
        self._words, self._size = words, size
        self._keys = [key(row) for row in rows.tolist()]

    def sums(self, tables: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """Sums over the cells of each string, one in each row.

        Args:
            tables: int64, (rows, buckets), each.

        Returns:
            int64, (items,), of each table.
        """
        least = [table.min(axis=1, keepdims=True) for table in tables]
        packed = _pack_tables([table - low for table, low in zip(tables, least, strict=True)])
        sums = [np.zeros(self._words.size, np.int64) for _ in packed]
        for start in range(0, self._words.size, _CHUNK_ITEMS):
            chunk = slice(start, start + _CHUNK_ITEMS)
            words = self._words[chunk]
            for row, row_key in enumerate(self._keys):
                buckets = hashing.buckets(words, row_key, self._size)
                for total, (table, _) in zip(sums, packed, strict=True):
                    total[chunk] += table[row].take(buckets)
        unpacked = [
            total >> shift & (1 << bits) - 1
            for total, (_, places) in zip(sums, packed, strict=True)
            for shift, bits in places
        ]
        return [above + low.sum() for above, low in zip(unpacked, least, strict=True)]

    def buckets(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings: int64, (chosen, rows).

        Args:
            chosen: int64, (chosen,): the strings' places in the list.
        """
        buckets = np.empty((chosen.size, len(self._keys)), np.int64)
        for row, row_key in enumerate(self._keys):
            buckets[:, row] = hashing.buckets(self._words[chosen], row_key, self._size)
        return buckets


def _pack_tables(
    tables: Sequence[NDArray[np.int64]],
) -> list[tuple[NDArray[np.int64], list[tuple[int, int]]]]:
    """Packs several tables into the bits of few, so that each cell is read once.

    Args:
        tables: int64, (rows, buckets), each; at least 0.

    Returns:
        Each packed table, and where in its sums those of the given ones are: the first bit, and how
        many bits a sum over the rows may have.
    """
    packed: list[tuple[NDArray[np.int64], list[tuple[int, int]]]] = []
    used = _SUM_BITS
    for table in tables:
        bits = int(table.max(axis=1).sum()).bit_length()
        if not packed or used + bits > _SUM_BITS:
            packed.append((table, [(0, bits)]))
            used = bits
            continue
        before, places = packed[-1]
        packed[-1] = before | table << used, [*places, (used, bits)]
        used += bits
    return packed
