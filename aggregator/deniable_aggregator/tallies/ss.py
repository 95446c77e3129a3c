"""Counting subsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.tallies.oracle import BitsTally
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import SubsetSelection


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
