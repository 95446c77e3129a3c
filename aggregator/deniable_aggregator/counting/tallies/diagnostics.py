"""Counters beside a tally that make forged reports visible.

A single forged report looks like an honest one. But the noise of many honest reports has a known
distribution: how many ones a report has, which bits are ones together, which seeds are drawn. These
counters are stored after the tally's own and add up in the same way; no estimate uses them. Their
layout follows from the mechanism alone. It is part of the stored data, so it never changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.counting.statistics.checks import (
    SliceChecks,
    ones_distribution,
    pairs_check,
)
from deniable_aggregator.counting.statistics.tail_bounds import most_extreme_counts
from deniable_shared.mechanisms.oracles.olh import SEED_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support

MOST_GROUPS: Final = 64
"""Pairs are counted between at most this many runs of neighbouring bits."""

MOST_SIZES: Final = 64
SEED_BINS: Final = 64
SEED_SHIFT: Final = 26
GROUP_BYTES: Final = 2
_STEP: Final = 1 << 14
_EXACT: Final = 1 << 24
"""Integers up to this are exact in float32."""


class Diagnostics(ABC):
    """Counters of properties that do not depend on what devices hold.

    The first `report_cells` of them add up to the number of reports that were counted.

    Attributes:
        cells: how many integers there are.
        report_cells: how many of them, from the first on, add up to the number of reports.
    """

    cells: int
    report_cells: int

    @abstractmethod
    def count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Counts checked reports.

        Args:
            rows: uint8, (reports, bytes).

        Returns:
            int64, (cells,).
        """

    def reports(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many reports these counters have seen: int64, (slices,).

        Args:
            counts: int64, (slices, cells).
        """
        return np.asarray(counts[:, : self.report_cells].sum(axis=1))


class OnesHistogram(Diagnostics):
    """How many reports have how many ones, in bins of up to 64 numbers or ranges of numbers.

    Args:
        bits: how many bits a report has.
        support: with which probabilities they are ones; decides where the bins are.
        skip: how many bytes stand before the bits.
        own: how many bits may be the device's own, and so ones with probability p.
        asked: with which probability the device's own bit is among the bits at all; the least and
            the largest, where that depends on which bit it is.

    Attributes:
        first: the largest number of ones in the first bin.
        width: how many numbers of ones each bin but the two at the ends has.
    """

    def __init__(
        self,
        bits: int,
        support: Support,
        skip: int = 0,
        *,
        own: Sequence[int] = (1,),
        chances: tuple[float, ...] = (1.0,),
    ) -> None:
        self.bits = bits
        self.skip = skip
        self._law = support, tuple(own), chances
        p, q = support.p, support.q
        mean = int(p + (bits - 1) * q)
        self.width = 1 + isqrt(int(p * (1 - p) + (bits - 1) * q * (1 - q))) // 4
        self.first = max(0, mean - self.width * MOST_SIZES // 2)
        self.cells = self.report_cells = min(bits + 1, MOST_SIZES)

    def check(self, counts: NDArray[np.int64]) -> SliceChecks:
        """Whether numbers of ones are as frequent as for any values that devices may hold.

        Args:
            counts: int64, (slices, cells).
        """
        extreme = most_extreme_counts(counts, counts.sum(axis=1)[:, None], *self._bounds)
        high = self.first + extreme.place * self.width
        low = np.maximum(high - self.width + 1, 0)
        span = "{0}" if self.width == 1 else "{0} to {1}"
        finding = f"the oddest number of ones is {span}, in {{2:,}} reports"
        count = counts[np.arange(len(counts)), extreme.place]
        return SliceChecks("sizes", extreme.p, finding, (low, high, count))

    @cached_property
    def _bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lowest and the highest probability of each bin: float64, (cells,), twice."""
        support, own, chances = self._law
        bins = self.bin_of(np.arange(self.bits + 1))
        none = ones_distribution(self.bits, 0, support) if min(chances) < 1 else 0.0
        laws = [
            chance * ones_distribution(self.bits, number, support) + (1 - chance) * none
            for number in own
            for chance in chances
        ]
        binned = np.array([np.bincount(bins, law, minlength=self.cells) for law in laws])
        return binned.min(axis=0), np.minimum(binned.max(axis=0), 1.0)

    def bin_of(self, ones: NDArray[Any]) -> NDArray[np.int64]:
        """The bin of every number of ones."""
        steps = (np.asarray(ones, np.int64) - self.first + self.width - 1) // self.width
        return np.clip(steps, 0, self.cells - 1)

    def count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """One population count per report."""
        words = as_words(rows[:, self.skip : self.skip + (self.bits + 7) // 8])
        ones = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        return np.bincount(self.bin_of(ones), minlength=self.cells)


class BitPairCounters(Diagnostics):
    """For every two runs of bits, the sum over all reports of the product of their numbers of ones.

    Up to 64 bits, each bit is a run of its own; more bits are grouped into runs of whole bytes.

    Args:
        bits: how many bits a report has.

    Attributes:
        lengths: int64, (runs,): how many bits each run has.
        rows: int64, (cells,): the first run of each pair.
        columns: int64, (cells,): the second; never before the first, and where runs are single
            bits, not the same.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        single = bits <= MOST_GROUPS
        self.run_bytes = next(b for b in (1, 2, 4, 8) if (bits + 7) // 8 <= b * MOST_GROUPS)
        run = 1 if single else 8 * self.run_bytes
        starts = np.arange(0, bits, run)
        self.lengths = np.minimum(bits - starts, run)
        self.rows, self.columns = np.triu_indices(starts.size, k=1 if single else 0)
        self.cells, self.report_cells = self.rows.size, 0

    def count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """One matrix product per portion of reports, small enough to be exact in float32."""
        size, longest = self.lengths.size, int(self.lengths.max())
        step = min(_STEP, _EXACT // longest**2)
        products = np.zeros((size, size), np.int64)
        for start in range(0, len(rows), step):
            ones = self._ones(rows[start : start + step]).astype(np.float32)
            products += (ones.T @ ones).astype(np.int64)
        return products[self.rows, self.columns]

    def check(
        self,
        counts: NDArray[np.int64],
        ones: NDArray[np.int64],
        reports: NDArray[np.int64],
        support: Support,
    ) -> SliceChecks:
        """Whether bits come together as often as they must.

        Args:
            counts: int64, (slices, cells).
            ones: int64, (slices, bits): how often each bit was 1.
            reports: int64, (slices,): in how many reports; at least 1.
            support: with which probabilities bits are ones.
        """
        pairs = self.rows, self.columns
        return pairs_check(self.lengths, pairs, counts, ones, reports, support)

    def _ones(self, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """How many ones each run of each report has: uint8, (reports, runs)."""
        if self.bits <= MOST_GROUPS:
            return np.unpackbits(rows, axis=1, count=self.bits)
        padded = np.zeros((len(rows), self.lengths.size * self.run_bytes), np.uint8)
        padded[:, : rows.shape[1]] = rows
        return np.asarray(np.bitwise_count(padded.view(f"u{self.run_bytes}")))


class SeedHistogram(Diagnostics):
    """How many reports have a seed in each of 64 equal ranges."""

    cells = report_cells = SEED_BINS

    def count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The upper six bits of the seed."""
        seeds = np.ascontiguousarray(rows[:, :SEED_BYTES]).view(">u4").ravel()
        return np.bincount((seeds >> SEED_SHIFT).astype(np.int64), minlength=SEED_BINS)


class GroupHistogram(Diagnostics):
    """How many reports come from each public group of two bytes."""

    def __init__(self, groups: int) -> None:
        self.cells = self.report_cells = groups

    def count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The first two bytes."""
        groups = np.ascontiguousarray(rows[:, :GROUP_BYTES]).view(">u2").ravel()
        return np.bincount(groups.astype(np.int64), minlength=self.cells)


class CombinedDiagnostics(Diagnostics):
    """Several diagnostics of the same reports, one after the other.

    Args:
        parts: the diagnostics; the first one tells how many reports were counted.
    """

    def __init__(self, *parts: Diagnostics) -> None:
        self.parts = parts
        self.cells = sum(part.cells for part in parts)
        self.report_cells = parts[0].report_cells

    def count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Every part counts all reports."""
        return np.concatenate([part.count(rows) for part in self.parts])

    def split(self, counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The counters of each part.

        Args:
            counts: int64, (slices, cells).
        """
        edges = np.cumsum([part.cells for part in self.parts])[:-1]
        return np.split(counts, edges, axis=1)


class PerAttributeDiagnostics(Diagnostics):
    """How many reports each attribute has, then the diagnostics of each attribute's reports.

    Args:
        inner: the diagnostics of each attribute's reports, or None.
        widths: how many bytes an inner report of each attribute has.
    """

    def __init__(self, inner: Sequence[Diagnostics | None], widths: Sequence[int]) -> None:
        self.inner = inner
        self._widths = widths
        self.report_cells = len(inner)
        self.cells = self.report_cells + sum(part.cells for part in inner if part is not None)

    def split(self, counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The counters of each attribute's diagnostics, without columns where it has none.

        Args:
            counts: int64, (slices, cells).
        """
        start = self.report_cells
        for inner in self.inner:
            end = start + (0 if inner is None else inner.cells)
            yield counts[:, start:end]
            start = end

    def count(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Attributes first, then what stands in their reports."""
        counted = [np.bincount(rows[:, 0], minlength=self.report_cells)]
        for number, (inner, width) in enumerate(zip(self.inner, self._widths, strict=True)):
            if inner is not None:
                counted.append(inner.count(rows[rows[:, 0] == number, 1 : 1 + width]))
        return np.concatenate(counted)


def as_words(rows: NDArray[np.uint8]) -> NDArray[Any]:
    """The same bytes in the widest integers that they fill."""
    width = rows.shape[1]
    size = next(size for size in (8, 4, 2, 1) if width % size == 0)
    return np.ascontiguousarray(rows).view(f"u{size}")
