"""What stands in the aggregator."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from deniable_aggregator.counting.kernels import walsh_hadamard
from deniable_aggregator.counting.tallies.base import tallies
from deniable_aggregator.counting.tallies.oracle import IndexTally
from tests.privacy.throwaway.mechanism import CopiedHadamardResponse

if TYPE_CHECKING:
    from numpy.typing import NDArray


@tallies(CopiedHadamardResponse)
class CopiedHadamardResponseTally(IndexTally):
    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        order = cast("CopiedHadamardResponse", self.oracle).order
        signs = np.zeros((len(counts), order), np.int64)
        signs[:, 1:] = counts[:, 0::2] - counts[:, 1::2]
        agreed = walsh_hadamard(signs)[:, : self.oracle.size]
        return (self.reports(counts)[:, None] + agreed) >> 1
