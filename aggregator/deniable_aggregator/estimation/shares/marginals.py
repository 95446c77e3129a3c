"""The values of a metric with segments, whatever the segment: each the sum of its pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.estimation.shares.influence_of_subsets import influence_on_subset
from deniable_aggregator.estimation.shares.spec_estimates import Merged, SpecEstimate
from deniable_aggregator.estimation.shares.subset_shares import merge_items
from deniable_aggregator.tallies import ItemShares

if TYPE_CHECKING:
    from numpy.typing import NDArray


def merge_groups(part: SpecEstimate, members: NDArray[np.int64]) -> SpecEstimate:
    """The estimates of groups of a spec's items.

    Args:
        members: int64, (groups, each): the places of each group's items in `part.known`; groups do
            not overlap, and are all of one size.

    Returns:
        The estimates of the groups, at positions 0, 1, ...
    """
    totals = [merge_items(part, group)[0] for group in members]
    merged = [total.shares for total in totals]
    first = merged[0].support_counts
    counted = None
    if first is not None:
        supporting = [group.support_counts.supporting for group in merged if group.support_counts]
        counted = first._replace(supporting=np.concatenate(supporting))
    return part._replace(
        known=np.arange(len(members)),
        shares=ItemShares(
            np.concatenate([group.share for group in merged]),
            np.concatenate([group.variance for group in merged]),
            np.concatenate([group.null_variance for group in merged]),
            counted,
            influence=np.concatenate([influence_on_subset(part, group) for group in members]),
        ),
        repeats=totals[0].repeats,  # it depends on the size of a group alone
        merged=Merged(part, members),
    )
