"""How far fake reports could move the share of several items together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.statistics.influence import FORGED_SHARE, subset_influence
from deniable_aggregator.tallies import oracle_tally_for
from deniable_shared.mechanisms import Oracle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.estimation.combination import SpecEstimate
    from deniable_shared.mechanisms import Mechanism


def influence_on_subset(part: SpecEstimate, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far fakes could move the share of some items together: exact, or an upper bound.

    Args:
        part: the estimates of a spec.
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
    ends = _support_range(part.spec.mechanism, chosen)
    share = shares.share.sum(keepdims=True)
    moved = subset_influence(share, counted.support, chosen.size, *ends, counted.reports)
    return np.asarray(moved)


def influence_on_ratios(
    parts: Sequence[SpecEstimate], places: Sequence[NDArray[np.int64]], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far fakes could move the shares of items among the devices that hold any of them.

    Tries fakes that support the item or not, and as few or as many of the other items as one
    report can. Exact for one spec with randomized response, unary encodings or subset selection,
    else an upper bound.

    Args:
        parts: the estimates of each spec, from counts of supporting reports.
        places: for each of them int64, (items,): which of its items make up the set.
        weights: float64, (parts,): they add up to 1.

    Returns:
        float64, (items,); infinite where fakes could leave nothing to divide by.
    """
    top = np.zeros(places[0].size)
    moved = np.zeros((2, 2, 2, places[0].size))  # item held or not, few or many; item, set
    for part, mine, weight in zip(parts, places, weights.tolist(), strict=True):
        share = part.shares.share[mine]
        top += weight * share
        counted: Any = part.shares.support_counts
        p, q = counted.support.p, counted.support.q
        least, at_most = _support_range(part.spec.mechanism, mine)
        for held in (0, 1):
            fewest, most = max(held, least), min(at_most, mine.size - 1 + held)
            for side, count in enumerate((min(fewest, most), most)):
                moved[held, side, 0] += weight * ((held - q) / (p - q) - share)
                whole = (count - mine.size * q) / (p - q) - share.sum()
                moved[held, side, 1] += weight * whole
    bottom = top.sum()
    above, below = top + FORGED_SHARE * moved[:, :, 0], bottom + FORGED_SHARE * moved[:, :, 1]
    ratio = np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf)
    return np.asarray(np.abs(ratio - top / bottom).max(axis=(0, 1)))


def _support_range(mechanism: Mechanism, chosen: NDArray[np.int64]) -> tuple[int, int]:
    """How many of some items one report can support: at least and at most.

    Args:
        mechanism: made the report.
        chosen: int64, (items,): their numbers.
    """
    if isinstance(mechanism, Oracle):
        return oracle_tally_for(mechanism).support_range(chosen)
    return 0, int(chosen.size)
