"""Tallies of oracles whose reports are one bit per item."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.statistics.checks import sum_check
from deniable_aggregator.tallies.base import tallies
from deniable_aggregator.tallies.diagnostics import (
    GROUP_BYTES,
    BitPairCounters,
    CombinedDiagnostics,
    OnesHistogram,
)
from deniable_aggregator.tallies.oracle import BitsTally
from deniable_shared.errors import WireError
from deniable_shared.mechanisms import (
    MemoizedUnaryEncoding,
    OptimizedUnaryEncoding,
    SubsetSelection,
    SymmetricUnaryEncoding,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deniable_aggregator.statistics.checks import SliceChecks


@tallies(MemoizedUnaryEncoding, OptimizedUnaryEncoding, SymmetricUnaryEncoding)
class UnaryTally(BitsTally):
    """The number of reports, then how often each bit was 1; the bits are independent."""

    @cached_property
    def diagnostics(self) -> CombinedDiagnostics:
        """How many ones reports have, and which come together."""
        histogram = OnesHistogram(self.oracle.size, self.oracle.support)
        return CombinedDiagnostics(histogram, BitPairCounters(self.oracle.size))

    def grouped_diagnostics(self) -> OnesHistogram:
        """How many ones reports have."""
        return OnesHistogram(self.oracle.size, self.oracle.support, skip=GROUP_BYTES)

    def checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Bits are as frequent as noise allows, add up, and are independent."""
        yield from super().checks(counts, diagnostics, has_diagnostics)
        ones, reports = self.supporting(counts), self.reports(counts)
        yield sum_check(ones, reports, self.oracle.support)
        histogram, pairs = cast("tuple[OnesHistogram, BitPairCounters]", self.diagnostics.parts)
        of_histogram, of_pairs = self.diagnostics.split(diagnostics)
        yield histogram.check(of_histogram).only_where(has_diagnostics)
        yield pairs.check(of_pairs, ones, reports, self.oracle.support).only_where(has_diagnostics)


@tallies(SubsetSelection)
class SubsetTally(BitsTally):
    """The number of reports, then how many of their subsets hold each item."""

    def check(self, reports: NDArray[np.void]) -> None:
        """Every report is a subset of the right number of items."""
        super().check(reports)
        subset = cast("SubsetSelection", self.oracle).subset
        sizes = np.bitwise_count(reports.view(np.uint8)).reshape(reports.size, -1).sum(axis=1)
        wrong = sizes[sizes != subset]
        if wrong.size:
            raise WireError(f"must have {subset} bits set, got {wrong[0]}")

    def support_range(self, chosen: NDArray[np.int64]) -> tuple[int, int]:
        """A subset holds at least what the items outside of the chosen ones leave over."""
        oracle = cast("SubsetSelection", self.oracle)
        outside = oracle.size - chosen.size
        return max(0, oracle.subset - outside), min(chosen.size, oracle.subset)
