"""Estimated shares with their variances, and the counts that they were estimated from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


class SupportCounts(NamedTuple):
    """The counts behind estimates of the support lemma, for exact intervals and tests.

    Attributes:
        supporting: int64, (items,): how many reports support each item.
        reports: how many reports there are.
        support: with which probabilities a report supports an item.
        family_variance: what the choice of a hash family adds to the variance of the noise.
        sampled: whether the reports are those of some of the devices, drawn at random.
    """

    supporting: NDArray[np.int64]
    reports: int
    support: Support
    family_variance: float = 0.0
    sampled: bool = False


class ItemShares(NamedTuple):
    """Unbiased estimates of items' shares among the devices that reported.

    Attributes:
        share: float64, (items,); may lie outside [0, 1].
        variance: float64, (items,): of the estimate, if the true share is the estimated one.
        null_variance: float64, (items,): of the estimate, if nobody holds the item.
        support_counts: the counts, if the estimates follow from them by the support lemma.
        covariance: float64, (items, items), where it is known only as a matrix.
        influence: float64, (items,): how far forged reports could move each estimate; see
            `deniable_aggregator.statistics.influence`.
    """

    share: NDArray[np.float64]
    variance: NDArray[np.float64]
    null_variance: NDArray[np.float64]
    support_counts: SupportCounts | None = None
    covariance: NDArray[np.float64] | None = None
    influence: NDArray[np.float64] | None = None

    def take(self, chosen: NDArray[np.int64]) -> ItemShares:
        """The estimates of some of the items, in the given order."""
        counted, covariance = self.support_counts, self.covariance
        return ItemShares(
            self.share[chosen],
            self.variance[chosen],
            self.null_variance[chosen],
            None if counted is None else counted._replace(supporting=counted.supporting[chosen]),
            None if covariance is None else covariance[np.ix_(chosen, chosen)],
            None if self.influence is None else self.influence[chosen],
        )
