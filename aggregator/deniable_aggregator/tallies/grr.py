"""Counting generalized randomized response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.tallies.base import Shares, Tally
from deniable_aggregator.tallies.known import positions, supported_shares
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_CHUNK_REPORTS = 1 << 20


class GeneralizedRandomizedResponseTally(Tally):
    """One counter per item."""

    @property
    def cells(self) -> int:
        """The size of the domain."""
        return len(self.spec.values)

    def check(self, payload: bytes) -> None:
        """Every report is an index into the domain."""
        self._check_width(payload)
        highest = int(self._indices(payload).max())
        if highest >= self.cells:
            raise WireError(
                f"a report of {self.spec.name} must be below {self.cells}, got {highest}"
            )

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts every index, a bounded number of reports at a time."""
        self.check(payload)
        indices = self._indices(payload)
        counts = np.zeros(self.cells, np.int64)
        for start in range(0, indices.size, _CHUNK_REPORTS):
            counts += np.bincount(indices[start : start + _CHUNK_REPORTS], minlength=self.cells)
        return counts

    def reports(self, counts: NDArray[np.int64]) -> int:
        """The sum of all counters."""
        return int(counts.sum())

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> Shares:
        """The shares of some of the items."""
        supporting = counts[positions(items, self.spec.values, self.spec.name)]
        return supported_shares(supporting, self.reports(counts), self.spec.mechanism.support)

    def _indices(self, payload: bytes) -> NDArray[Any]:
        return np.frombuffer(payload, np.uint8 if self._width == 1 else np.dtype(">u2"))
