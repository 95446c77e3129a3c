"""Counting the reports of oracles, by group: one group for a category, one per row of a sketch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np

from deniable_aggregator.counting.kernels import bit_sums
from deniable_aggregator.counting.statistics.binomial import SupportCounts
from deniable_aggregator.counting.statistics.checks import SliceChecks, bounds_check, sum_check
from deniable_aggregator.counting.statistics.influence import support_influence
from deniable_aggregator.counting.statistics.outcomes import OutcomeCounts
from deniable_aggregator.counting.statistics.shares import ItemShares
from deniable_aggregator.counting.tallies.base import tallies
from deniable_aggregator.counting.tallies.diagnostics import (
    GROUP_BYTES,
    BitPairCounters,
    CombinedDiagnostics,
    Diagnostics,
    OnesHistogram,
)
from deniable_shared.errors import WireError
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from deniable_shared.mechanisms.oracle import BitsOracle, IndexOracle, Oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


if TYPE_CHECKING:
    BoundedCounts = tuple[NDArray[np.int64], Any, Any]
    """Counts, int64, (groups, counts), and the lowest and highest probability of each count."""

AnyOracle = TypeVar("AnyOracle", bound=Oracle)


class OracleTally(ABC, Generic[AnyOracle]):
    """Counts the reports of one oracle by group, and estimates from the counts.

    Reports are void items of the oracle's width, (reports,). Counts are int64, (groups, cells).

    Args:
        oracle: the mechanism.
    """

    def __init__(self, oracle: AnyOracle) -> None:
        self.oracle = oracle

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many integers a group has."""

    @abstractmethod
    def check(self, reports: NDArray[np.void]) -> None:
        """Refuses reports that no device can send.

        Raises:
            WireError: saying what a report must be.
        """

    @abstractmethod
    def count(
        self, groups: NDArray[np.uint16], reports: NDArray[np.void], size: int
    ) -> NDArray[np.int64]:
        """Counts reports by group.

        Args:
            groups: uint16, (reports,), each below `size`.
            reports: void, (reports,), checked; few enough to be held several times.

        Returns:
            int64, (size, cells).
        """

    @abstractmethod
    def reports(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many reports each group holds: int64, (groups,)."""

    @abstractmethod
    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of each group's reports support each item: int64, (groups, size)."""

    @abstractmethod
    def bounded_counts(self, counts: NDArray[np.int64]) -> BoundedCounts:
        """Counts whose probabilities have bounds, whatever devices hold.

        Args:
            counts: int64, (groups, cells).
        """

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """How often the counted outcomes came, for each group after the other.

        Args:
            counts: int64, (groups, cells).
        """
        bounded = self.bounded_counts(counts)[0]
        trials = np.repeat(self.reports(counts), bounded.shape[1])
        return OutcomeCounts("bits", bounded.ravel(), trials)

    @cached_property
    def diagnostics(self) -> Diagnostics | None:
        """What is counted beside the tally of a known domain; None for nothing."""
        return None

    def grouped_diagnostics(self) -> OnesHistogram | None:
        """What is counted where two bytes that name a group stand before a report, as in sketches.

        None for nothing.
        """
        return None

    def checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],  # noqa: ARG002
        has_diagnostics: NDArray[np.bool_],  # noqa: ARG002
    ) -> Iterator[SliceChecks]:
        """Whether reports look like those of honest devices: their counts, and what else is known.

        Args:
            counts: int64, (slices, cells), of at least one report each.
            diagnostics: int64, (slices, diagnostic cells): the counts of `diagnostics`.
            has_diagnostics: bool, (slices,): of which slices these are the counts of all reports.
        """
        bounded, low, high = self.bounded_counts(counts)
        yield bounds_check(bounded, self.reports(counts)[:, None], low, high)

    def support_range(self, chosen: NDArray[np.int64]) -> tuple[int, int]:
        """How many of some items one report can support: at least and at most.

        Args:
            chosen: int64, (items,): their numbers.

        Returns:
            Two bounds, which need not be reached.
        """
        return 0, int(chosen.size)

    def sum_variance(
        self,
        counts: NDArray[np.int64],  # noqa: ARG002
        chosen: NDArray[np.int64],  # noqa: ARG002
        share: float,  # noqa: ARG002
    ) -> float | None:
        """The variance of the summed estimate of some items, from the reports themselves.

        Needed where `Mechanism.pair_support` is an average over items.

        Args:
            counts: int64, (cells,), of at least one report.
            chosen: int64, (items,): their numbers.
            share: their share together, in [0, 1].

        Returns:
            None if it cannot be told.
        """
        return None

    def shares(self, counts: NDArray[np.int64]) -> ItemShares:
        """The shares of all items in one group: the support lemma.

        Args:
            counts: int64, (1, cells), of at least one report.
        """
        supporting = self.supporting(counts)[0].astype(np.float64)
        return shares_from_support(supporting, int(self.reports(counts)[0]), self.oracle)

    def shares_by_group(
        self, counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The shares of all items in each group, and their variances.

        Args:
            counts: int64, (groups, cells).

        Returns:
            float64, (groups, size), twice; the variance is infinite where a group has no reports.
        """
        reports = self.reports(counts)[:, None]
        least, support = np.maximum(reports, 1), self.oracle.support
        share = np.asarray(support.share(self.supporting(counts), least))  # type: ignore[arg-type]
        noise = support.variance(np.clip(share, 0.0, 1.0), least)  # type: ignore[arg-type]
        return share, np.where(reports > 0, noise, np.inf)


def shares_from_support(supporting: NDArray[Any], reports: int, mechanism: Any) -> ItemShares:
    """The support lemma for arrays.

    Args:
        supporting: int64 or float64, (items,): how many reports support each item.
        reports: how many there are; at least 1.
        mechanism: has the probabilities, as `Mechanism.support`.
    """
    support = mechanism.support
    share = np.asarray(support.share(supporting, reports), np.float64)
    variance = np.asarray(support.variance(np.clip(share, 0.0, 1.0), reports))
    null_variance = np.full(share.shape, support.variance(0.0, reports))
    counted = SupportCounts(np.asarray(supporting, np.int64), reports, support)
    moved = np.asarray(support_influence(share, support, reports=reports))
    return ItemShares(share, variance, null_variance, counted, influence=moved)


class IndexTally(OracleTally[IndexOracle]):
    """One counter per outcome."""

    @property
    def cells(self) -> int:
        """The number of outcomes."""
        return self.oracle.outcomes

    def check(self, reports: NDArray[np.void]) -> None:
        """Every report is the number of an outcome."""
        highest = int(_integers(reports).max())
        if highest >= self.cells:
            raise WireError(f"must be below {self.cells}, got {highest}")

    def count(
        self, groups: NDArray[np.uint16], reports: NDArray[np.void], size: int
    ) -> NDArray[np.int64]:
        """One bincount over groups and outcomes."""
        places = self.places(groups, reports) if size > 1 else _integers(reports)
        return np.bincount(places, minlength=size * self.cells).reshape(size, self.cells)

    def places(self, groups: NDArray[np.uint16], reports: NDArray[np.void]) -> NDArray[np.int64]:
        """The counter of each report: int64, (reports,), numbered over all groups.

        Args:
            groups: uint16, (reports,).
            reports: void, (reports,), checked.
        """
        return np.asarray(groups * np.int64(self.cells) + _integers(reports), np.int64)

    def supporting_few(
        self,
        groups: NDArray[np.int64],  # noqa: ARG002
        outcomes: NDArray[np.int64],  # noqa: ARG002
        size: int,  # noqa: ARG002
    ) -> NDArray[Any] | None:
        """What `supporting` works out, report by report.

        Args:
            groups: int64, (reports,): the group of each.
            outcomes: int64, (reports,).
            size: how many groups there are.

        Returns:
            Integers as narrow as they can be, (size, items); None where `supporting` is faster.
        """
        return None

    def reports(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of all counters."""
        return np.asarray(counts.sum(axis=1))

    def outcomes(self, counts: NDArray[np.int64]) -> OutcomeCounts:
        """Every report is one of them."""
        return super().outcomes(counts)._replace(kind="unordered")

    def bounded_counts(self, counts: NDArray[np.int64]) -> BoundedCounts:
        """The counters, between the bounds of their outcomes."""
        low, high = self.oracle.outcome_bounds()
        return counts, np.asarray(low), np.asarray(high)


@tallies(GeneralizedRandomizedResponse, MemoizedRandomizedResponse, RandomizedResponse)
class ItemTally(IndexTally):
    """One counter per item."""

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counters themselves."""
        return counts

    def support_range(self, chosen: NDArray[np.int64]) -> tuple[int, int]:
        """A report supports one item."""
        return int(chosen.size == self.oracle.size), 1


class SupportTally(OracleTally[AnyOracle]):
    """The number of reports, then how many of them support each item."""

    @property
    def cells(self) -> int:
        """One more than the items."""
        return 1 + self.oracle.size

    def reports(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first counter."""
        return counts[:, 0]

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items' counters."""
        return counts[:, 1:]

    def bounded_counts(self, counts: NDArray[np.int64]) -> BoundedCounts:
        """The items' counters, between the probabilities of another item and the own one."""
        return self.supporting(counts), self.oracle.support.q, self.oracle.support.p


class BitsTally(SupportTally[BitsOracle]):
    """How often each bit was 1."""

    def check(self, reports: NDArray[np.void]) -> None:
        """The places after the last item are zero."""
        unused = 8 * self.oracle.report_bytes - self.oracle.size
        if unused:
            last = reports.view(np.uint8).reshape(reports.size, -1)[:, -1]
            if (last & (1 << unused) - 1).any():
                raise WireError(f"must have zeros after its {self.oracle.size} bits")

    def count(
        self, groups: NDArray[np.uint16], reports: NDArray[np.void], size: int
    ) -> NDArray[np.int64]:
        """Column sums by group."""
        return bit_sums(groups, reports, size)[:, : self.cells]


def _integers(reports: NDArray[np.void]) -> NDArray[Any]:
    """Big-endian unsigned integers of 1 to 8 bytes."""
    width = reports.dtype.itemsize
    if width in (1, 2, 4, 8):
        return np.ascontiguousarray(reports).view(f">u{width}")
    wide = np.zeros((reports.size, 8), np.uint8)
    wide[:, -width:] = np.ascontiguousarray(reports).view(np.uint8).reshape(-1, width)
    return wide.view(">u8").ravel().astype(np.int64)


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
