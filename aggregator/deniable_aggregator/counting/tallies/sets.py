"""Counting reports on sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from deniable_aggregator.counting.statistics.checks import SliceChecks, falling_check
from deniable_aggregator.counting.tallies.base import tallies
from deniable_aggregator.counting.tallies.known_domains import KnownDomainTally
from deniable_aggregator.counting.tallies.oracle import IndexTally
from deniable_shared.mechanisms import PrivSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from deniable_shared.spec import Spec


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
class PrivSetTally(KnownDomainTally):
    """The counts of PrivSet over the metric's items.

    Args:
        spec: a set metric.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, OutcomeTally(cast("PrivSet", spec.mechanism)))
