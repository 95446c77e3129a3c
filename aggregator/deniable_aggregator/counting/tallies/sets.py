"""Counting reports on sets."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from deniable_aggregator.counting.statistics.checks import SliceChecks, falling_check
from deniable_aggregator.counting.tallies.base import ShareTally, tallies
from deniable_aggregator.counting.tallies.known_domains import KnownDomainTally
from deniable_aggregator.counting.tallies.oracle import IndexTally, shares_from_support
from deniable_shared.mechanisms import PrivSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deniable_aggregator.counting.statistics.shares import ItemShares
    from deniable_shared.spec import Spec


class MeanItems(NamedTuple):
    """The mean number of items of a device, of those that a report covers.

    Attributes:
        mean: unbiased.
        variance: of a random sample of devices.
        low: the least that one report can contribute.
        high: the most.
    """

    mean: float
    variance: float
    low: float
    high: float


class SetSizes(NamedTuple):
    """What reports tell of the sizes of sets.

    Attributes:
        most: how many items a report covers.
        items: how many items a device has; None if reports do not tell.
        empty: the share of empty sets, as of one item; likewise.
        above: the share of sets with more items than a report covers, as of one item, or of none
            where there can be no such set; likewise.
    """

    most: int
    items: MeanItems | None
    empty: ItemShares | None
    above: ItemShares | None


class SetTally(ShareTally):
    """A tally of sets: items overlap, and sets have sizes."""

    @abstractmethod
    def sizes(self, counts: NDArray[np.int64]) -> SetSizes:
        """What the reports tell of the sizes of sets.

        Args:
            counts: int64, (cells,), of at least one report.
        """


class OutcomeTally(IndexTally):
    """One counter per outcome of PrivSet: the items, the marker, and the fillers.

    Args:
        mechanism: as an oracle over its items.
    """

    def __init__(self, mechanism: PrivSet) -> None:
        super().__init__(cast("Any", mechanism))
        self._mechanism = mechanism

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items' counters."""
        return counts[:, : self._mechanism.size]

    def support_range(self, chosen: NDArray[np.int64]) -> tuple[int, int]:  # noqa: ARG002
        """A report supports at most one item."""
        return 0, 1

    def checks(
        self,
        counts: NDArray[np.int64],
        diagnostics: NDArray[np.int64],
        has_diagnostics: NDArray[np.bool_],
    ) -> Iterator[SliceChecks]:
        """Outcomes are as frequent as noise allows, and fillers come in their order."""
        yield from super().checks(counts, diagnostics, has_diagnostics)
        fillers = counts[:, self._mechanism.first_filler :]
        if fillers.shape[1] > 1:
            yield falling_check("fillers", fillers, "sizes")


@tallies(PrivSet)
class PrivSetTally(KnownDomainTally, SetTally):
    """The counts of PrivSet over the metric's items.

    Args:
        spec: a set metric.
    """

    def __init__(self, spec: Spec) -> None:
        self._mechanism = cast("PrivSet", spec.mechanism)
        super().__init__(spec, OutcomeTally(self._mechanism))

    def sizes(self, counts: NDArray[np.int64]) -> SetSizes:
        """From the fillers and the marker, which are counted like items.

        A report names a filler with probability m q + k (p - q), where k fillers are held.
        """
        mechanism, reports = self._mechanism, self.reports(counts)
        support, most = mechanism.support, mechanism.most
        shares = shares_from_support(counts, reports, mechanism)
        gap, named = support.p - support.q, float(counts[mechanism.first_filler :].sum()) / reports
        mean = most - (named - most * support.q) / gap
        ends = (most - (end - most * support.q) / gap for end in (1.0, 0.0))
        marker = [] if mechanism.marker is None else [mechanism.marker]
        return SetSizes(
            most,
            MeanItems(mean, named * (1 - named) / (reports * gap**2), *ends),
            shares.take(np.array([mechanism.outcomes - 1])),
            shares.take(np.array(marker, np.int64)),
        )
