"""How far fake reports could move the summed share of a set of items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deniable_aggregator.kernels.walsh_hadamard import walsh_hadamard
from deniable_aggregator.statistics.influence import FORGED_SHARE, subset_influence
from deniable_aggregator.tallies import oracle_tally_for
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    HadamardResponse,
    MemoizedRandomizedResponse,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
)
from deniable_shared.mechanisms.pgr import MAX_SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.estimation.combination import SpecEstimate
    from deniable_shared.mechanisms import Mechanism

ONE_ITEM = (GeneralizedRandomizedResponse, MemoizedRandomizedResponse, RandomizedResponse)


class Supported(NamedTuple):
    """How many items of a set one report can support.

    Attributes:
        least: at least; never above the truth.
        most: at most; never below it.
    """

    least: int
    most: int


def influence_on_subset(part: SpecEstimate, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The radius of the sum of some items: exact, or where that is not known an upper bound.

    Args:
        part: what a spec says.
        chosen: int64, (items,): which of its items are added.

    Returns:
        float64, (1,).
    """
    shares = part.shares.take(chosen)
    counted = shares.support_counts
    if counted is None:
        moved: Any = shares.influence
        return np.asarray(moved.sum(keepdims=True))
    ends = supported(part.spec.mechanism, chosen)
    share = shares.share.sum(keepdims=True)
    moved = subset_influence(share, counted.support, chosen.size, *ends, counted.reports)
    return np.asarray(moved)


def influence_on_ratios(
    parts: Sequence[SpecEstimate], places: Sequence[NDArray[np.int64]], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far fakes could move the shares of items among the devices that hold any of them.

    A fake supports the item or not, and as few or as many others of the set as it can. Exact for
    one spec with randomized response, unary encodings or subset selection, else an upper bound.

    Args:
        parts: what the specs say; each has counts of the support lemma.
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
        ends = supported(part.spec.mechanism, mine)
        for held in (0, 1):
            fewest, most = max(held, ends.least), min(ends.most, mine.size - 1 + held)
            for side, count in enumerate((min(fewest, most), most)):
                moved[held, side, 0] += weight * ((held - q) / (p - q) - share)
                whole = (count - mine.size * q) / (p - q) - share.sum()
                moved[held, side, 1] += weight * whole
    bottom = top.sum()
    above, below = top + FORGED_SHARE * moved[:, :, 0], bottom + FORGED_SHARE * moved[:, :, 1]
    ratio = np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf)
    return np.asarray(np.abs(ratio - top / bottom).max(axis=(0, 1)))


def supported(mechanism: Mechanism, chosen: NDArray[np.int64]) -> Supported:
    """How many of some items one report can support.

    Args:
        mechanism: made the report.
        chosen: int64, (items,): their numbers.
    """
    size = int(chosen.size)
    if isinstance(mechanism, ONE_ITEM):
        return Supported(int(size == mechanism.size), 1)
    if isinstance(mechanism, SubsetSelection):
        outside = mechanism.size - size
        return Supported(max(0, mechanism.subset - outside), min(size, mechanism.subset))
    if isinstance(mechanism, HadamardResponse):
        present = np.zeros(mechanism.order, np.int64)
        present[chosen] = 1
        most = int(np.abs(walsh_hadamard(present)[1:]).max())
        return Supported((size - most) // 2, (size + most) // 2)
    if isinstance(mechanism, ProjectiveGeometryResponse) and mechanism.outcomes <= MAX_SIZE:
        # A point is on the hyperplane of another if and only if that is on its own.
        everything = oracle_tally_for(replace(mechanism, size=mechanism.outcomes))
        points = np.zeros((1, mechanism.outcomes), np.int64)
        points[0, chosen] = 1
        found = everything.supporting(points)[0]
        return Supported(int(found.min()), int(found.max()))
    return Supported(0, size)
