"""Differences of shares within a segment between two periods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.estimation.changes.comparison import Comparison, Differences
from deniable_aggregator.estimation.changes.shares import LEAST_ERROR
from deniable_aggregator.estimation.segments.estimate import estimate_within_segment
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.words import KnownIn
    from deniable_aggregator.estimation.inputs import ChangeRequest, CollectedTallies
    from deniable_aggregator.estimation.segments.segment_estimate import SegmentEstimate
    from deniable_shared.spec import Spec


def compare_within_segment(
    before: CollectedTallies, after: CollectedTallies, segment: str, request: ChangeRequest
) -> Comparison:
    """How the shares of values among the devices of one segment differ.

    Raises:
        ParameterError: if a period does not have the segment, or so little of it that its shares
            are unknown, if no value is known in both, or if an option does not fit.
    """
    query, lists = request.query, request.lists
    versions = list(dict.fromkeys([*before.specs, *after.specs]))
    first, second = (
        _estimate_side(side, segment, request, versions, 1 - request.level)
        for side in (before, after)
    )
    known_items = [_known_of_all(estimate) for estimate in (first, second)]
    items = tuple(dict.fromkeys((*first.items, *second.items)))
    common = tuple(item for item in items if item in known_items[0] and item in known_items[1])
    if not common:
        listed = list(lists.candidates or ())
        raise ParameterError("value", "one that both periods know", listed)
    alpha = request.alpha(len(common))
    if alpha != 1 - request.level:
        first, second = (
            _estimate_side(estimate, segment, request, versions, alpha)
            for estimate in (before, after)
        )
    rows = [[side.items.index(item) for item in common] for side in (first, second)]
    assert first.size is not None
    assert second.size is not None
    return Comparison(
        common,
        _differences(first, second, *rows),
        "shares",
        query.margin,
        {item: _known_in(item, *known_items) for item in items if item not in common},
        notices=tuple(
            {notice.code: notice for notice in (*first.notices, *second.notices)}.values()
        ),
        segment=(first.size, second.size),
    )


def _known_of_all(estimate: SegmentEstimate) -> frozenset[str]:
    """The values that all versions with the segment tell from others."""
    reports = zip(estimate.items, estimate.known.tolist(), strict=True)
    return frozenset(item for item, reported in reports if reported == estimate.reports)


def _known_in(item: str, before: frozenset[str], after: frozenset[str]) -> KnownIn:
    return "before" if item in before else "after" if item in after else "neither"


def _estimate_side(
    tallies: CollectedTallies,
    segment: str,
    request: ChangeRequest,
    versions: Sequence[Spec],
    alpha: float,
) -> SegmentEstimate:
    return estimate_within_segment(
        tallies.tallies,
        segment,
        EstimateOptions(margin=request.query.margin),
        tallies.periods,
        1 - alpha,
        listed=request.lists.candidates or None,
        versions=versions,
    )


def _differences(
    first: SegmentEstimate, second: SegmentEstimate, before: list[int], after: list[int]
) -> Differences:
    """The differences of ratios; how they vary together for the same devices is not known."""
    earlier, later = first.share[before], second.share[after]
    error = np.hypot(first.standard_error[before], second.standard_error[after])
    error = np.maximum(error, LEAST_ERROR)
    return Differences(
        before=earlier,
        after=later,
        standard_error=error,
        same_devices=np.full(earlier.size, np.nan),
        # The distances of Zou and Donner (2008), as for all sums of estimates.
        low=later - earlier - np.hypot(later - second.low[after], first.high[before] - earlier),
        high=later - earlier + np.hypot(second.high[after] - later, earlier - first.low[before]),
        p_value=2 * special.ndtr(-np.abs(later - earlier) / error),
        influence=first.influence[before] + second.influence[after],
    )
