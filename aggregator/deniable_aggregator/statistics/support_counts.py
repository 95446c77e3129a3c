"""The counts that shares are estimated from, where they follow from counts of supporters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


class SupportCounts(NamedTuple):
    """The counts behind estimates of the support lemma, for exact intervals and tests.

    Attributes:
        supporting: int64, (items,): how many reports support each item.
        support: with which probabilities a report supports an item.
        family_variance: what the choice of a hash family adds to the variance of the noise.
        sampled: whether the reports are those of some of the devices, drawn at random.
    """

    supporting: NDArray[np.int64]
    reports: int
    support: Support
    family_variance: float = 0.0
    sampled: bool = False
