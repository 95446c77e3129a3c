"""Counting local hashes: every report is compared with every item, a block at a time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.kernels.bit_sums import bit_sums
from deniable_aggregator.statistics.checks import evenness_check, sum_check
from deniable_aggregator.tallies.base import tallies
from deniable_aggregator.tallies.diagnostics import SEED_BINS, SeedHistogram
from deniable_aggregator.tallies.oracle import OracleTally
from deniable_shared import hashing
from deniable_shared.errors import WireError
from deniable_shared.mechanisms.oracles.olh import SEED_BYTES, OptimizedLocalHashing, item_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks
    from deniable_aggregator.tallies.oracle import BoundedCounts

_BLOCK_CELLS = 1 << 15
"""Reports times items that are hashed together; their words stay in the second-level cache."""

_BITS_BYTES = 1 << 24
"""How many bytes of support bits are gathered before they are added up."""

_SHIFT = np.uint64(33)
_UPPER = np.uint64(32)
_GAMMA = np.uint64(hashing.GOLDEN_GAMMA)
_MIX_1 = np.uint64(hashing.MIX_1)
_MIX_2 = np.uint64(hashing.MIX_2)


@tallies(OptimizedLocalHashing)
class LocalHashingTally(OracleTally[OptimizedLocalHashing]):
    """The number of reports, then how many of them support each item.

    The items are those of the domain; the reports themselves are not kept.
    """

    def __init__(self, oracle: OptimizedLocalHashing) -> None:
        super().__init__(oracle)
        words = np.array([item_word(item) for item in range(oracle.size)], np.uint64)
        self._words = _fold(words)
        # Bucket y holds the hashes from edges[y] on, in the upper 32 bits of the word.
        edges = [-(-(y << 32) // oracle.buckets) for y in range(oracle.buckets + 1)]
        self._edges = np.array(edges, np.uint64)

    @property
    def cells(self) -> int:
        """One more than the items."""
        return 1 + self.oracle.size

    def check(self, reports: NDArray[np.void]) -> None:
        """Every bucket exists. Any seed is possible."""
        highest = int(self._parse(reports)[1].max())
        if highest >= self.oracle.buckets:
            raise WireError(f"must have a bucket below {self.oracle.buckets}, got {highest}")

    def count(
        self, groups: NDArray[np.uint16], reports: NDArray[np.void], size: int
    ) -> NDArray[np.int64]:
        """Compares every report with every item, and adds up by group."""
        width = (self.oracle.size + 7) // 8
        step = max(1, _BITS_BYTES // width)
        counts = np.zeros((size, self.cells), np.int64)
        for start in range(0, reports.size, step):
            chunk = slice(start, start + step)
            bits = self._support_bits(*self._parse(reports[chunk]))
            packed = bits.view(f"V{width}").ravel()
            counts += bit_sums(groups[chunk], packed, size)[:, : self.cells]
        return counts

    def reports(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first counter."""
        return counts[:, 0]

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items' counters."""
        return counts[:, 1:]

    def bounded_counts(self, counts: NDArray[np.int64]) -> BoundedCounts:
        """The items' counters, between the probabilities of another item and the own one."""
        return self.supporting(counts), self.oracle.support.q, self.oracle.support.p

    @cached_property
    def diagnostics(self) -> SeedHistogram:
        """How seeds are spread."""
        return SeedHistogram()

    def checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Items are as frequent as noise allows and add up, and seeds are even."""
        yield from super().checks(counts, diagnostics, has_diagnostics)
        yield sum_check(self.supporting(counts), self.reports(counts), self.oracle.support)
        ranges = f"the {SEED_BINS} ranges of seeds"
        yield evenness_check("seeds", diagnostics, ranges).only_where(has_diagnostics)

    def _parse(self, reports: NDArray[np.void]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Seeds and buckets of reports."""
        width = self.oracle.report_bytes - SEED_BYTES
        form = np.dtype([("seed", ">u4"), ("bucket", f">u{width}")])
        parsed = np.ascontiguousarray(reports).view(form)
        return parsed["seed"].astype(np.uint64), parsed["bucket"].astype(np.int64)

    def _support_bits(self, seeds: NDArray[np.uint64], buckets: NDArray[np.int64]) -> NDArray[Any]:
        """Which items each report supports, as packed bits: uint8, (reports, bytes).

        This is `hashing.bucket` with three savings. The first xor and shift commute with the xor of
        word and key, so they are done once per item and once per report. The last one does not
        touch the upper 32 bits, which alone decide. And that those lie in the reported bucket is
        one subtraction and one comparison.
        """
        keys = _fold(_mix((seeds + np.uint64(1)) * _GAMMA))[:, None]
        low = (self._edges[buckets] << _UPPER)[:, None]
        # The last bucket ends at 2^64: the width is taken before the shift.
        width = ((self._edges[buckets + 1] - self._edges[buckets]) << _UPPER)[:, None]
        step = max(1, _BLOCK_CELLS // self.oracle.size)
        state = np.empty((step, self.oracle.size), np.uint64)
        shifted, supported = np.empty_like(state), np.empty(state.shape, np.bool_)
        bits = np.empty((seeds.size, (self.oracle.size + 7) // 8), np.uint8)
        for start in range(0, seeds.size, step):
            rows = slice(start, min(start + step, seeds.size))
            count = rows.stop - start
            words, moved, supports = state[:count], shifted[:count], supported[:count]
            np.bitwise_xor(self._words, keys[rows], out=words)
            words *= _MIX_1
            np.right_shift(words, _SHIFT, out=moved)
            words ^= moved
            words *= _MIX_2
            words -= low[rows]
            np.less(words, width[rows], out=supports)
            bits[rows] = np.packbits(supports, axis=1)
        return bits


def _fold(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The first step of the finalisation; it commutes with xor."""
    return words ^ (words >> _SHIFT)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`hashing.mix` for arrays."""
    return _fold(_fold(_fold(words) * _MIX_1) * _MIX_2)
