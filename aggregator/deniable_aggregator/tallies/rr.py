"""Counting binary randomized response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.tallies.base import Shares, Tally
from deniable_aggregator.tallies.known import positions, supported_shares
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class RandomizedResponseTally(Tally):
    """Two counters: reports of false, reports of true. The one item is ``true``."""

    @property
    def cells(self) -> int:
        """Two."""
        return 2

    def check(self, payload: bytes) -> None:
        """Every report is 0 or 1."""
        self._check_width(payload)
        if np.frombuffer(payload, np.uint8).max() > 1:
            raise WireError(f"a report of {self.spec.name} must be 0 or 1")

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Counts both answers."""
        self.check(payload)
        true = int(np.count_nonzero(np.frombuffer(payload, np.uint8)))
        return np.array([len(payload) - true, true], np.int64)

    def reports(self, counts: NDArray[np.int64]) -> int:
        """The sum of both counters."""
        return int(counts.sum())

    def shares(self, counts: NDArray[np.int64], items: Sequence[str]) -> Shares:
        """The share of devices whose flag is true."""
        positions(items, ("true",), self.spec.name)
        supporting = np.repeat(counts[1:], len(items))
        return supported_shares(supporting, self.reports(counts), self.spec.mechanism.support)
