"""How far fake reports could move the share of several items together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.statistics.influence import subset_influence
from deniable_aggregator.tallies import oracle_tally_for
from deniable_shared.mechanisms import Oracle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.estimation.shares.spec_estimates import SpecEstimate
    from deniable_shared.mechanisms import Mechanism


def influence_on_subset(part: SpecEstimate, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far fakes could move the share of some items together: exact, or an upper bound.

    Args:
        chosen: int64, (items,): which of its items are added.

    Returns:
        float64, (1,).
    """
    if part.merged is not None:
        return influence_on_subset(part.merged.part, part.merged.members[chosen].ravel())
    shares = part.shares.take(chosen)
    counted = shares.support_counts
    if counted is None:
        moved: Any = shares.influence
        return np.asarray(moved.sum(keepdims=True))
    ends = support_range(part.spec.mechanism, chosen)
    share = shares.share.sum(keepdims=True)
    moved = subset_influence(share, counted.support, chosen.size, *ends, counted.reports)
    return np.asarray(moved)


def support_range(mechanism: Mechanism, chosen: NDArray[np.int64]) -> tuple[int, int]:
    """How many of some items one report can support: at least and at most.

    Args:
        chosen: int64, (items,): their numbers.
    """
    if isinstance(mechanism, Oracle):
        return oracle_tally_for(mechanism).support_range(chosen)
    return 0, int(chosen.size)
