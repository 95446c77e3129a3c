"""How far the values within a segment are from those of all devices: t-closeness.

What is true of nearly a whole segment is learnt of each of its devices, whatever epsilon is:
whoever knows that a device is in the segment can guess its value. A segment is t-close if its
distribution is within a distance t of the whole (Li, Li and Venkatasubramanian 2007).

A distance of noisy estimates is too large on average, so a warning needs a lower limit. There is
one of the distance, and one of the most common value's share: either holds for every segment of the
metric at once (Bonferroni), and not both together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.segments import SegmentCloseness
from deniable_aggregator.estimation.segments.part_and_whole import PartAndWhole
from deniable_aggregator.estimation.segments.parts import parts_of_segments, parts_with
from deniable_aggregator.statistics.consistency import norm_sub
from deniable_aggregator.statistics.distances import earth_mover, total_variation
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.estimation.segments.parts import SegmentPart, Tallies
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_shared.segments import Segments

LEVEL: Final = 0.95
"""Of either lower limit, for all segments together."""

THRESHOLD: Final = 0.5
"""The distance above which there is a warning, unless another is asked for."""

NEARLY_ALL: Final = 0.9
"""The share of a segment above which one value is warned of."""

MOST_ORDERED: Final = 256
"""An earth mover's distance of more values would take seconds."""


def segment_closeness(
    tallies: Tallies,
    segment: str,
    periods: PeriodsBySpec,
    *,
    ordered: bool = False,
    threshold: float = THRESHOLD,
) -> SegmentCloseness | None:
    """How far the values within a segment are from those of all devices that reported.

    Args:
        periods: how many reports there are of each period, by the specs' digests.
        ordered: whether the values are in an order: then it is the earth mover's distance.
        threshold: the distance above which there is a warning, in [0, 1].

    Returns:
        None where no version has the segment. Of several versions, those with the same values and
        segments that have the most reports together.

    Raises:
        ParameterError: if the covariances of a mechanism's estimates are not known, or too many
            values are said to be in an order.
    """
    parts = _most_reported(tallies, segment, periods)
    if not parts:
        return None
    segments = parts[0].segments
    if ordered and segments.of.size > MOST_ORDERED:
        limit = f"left out for a metric of more than {MOST_ORDERED} values"
        raise ParameterError("ordered", limit, segments.of.size)
    comparison = PartAndWhole(parts)
    alpha = (1 - LEVEL) / segments.by.size
    inside, whole = norm_sub(np.array([comparison.inside / comparison.size, comparison.whole]))
    distance = float((earth_mover if ordered else total_variation)(inside[None], whole[None])[0])
    low = (
        comparison.least_earth_mover(alpha) if ordered else comparison.least_total_variation(alpha)
    )
    low = min(low, distance)  # shares beyond 0 or 1 may put it above what is possible
    largest = int(np.argmax(inside))
    value_low = min(
        comparison.least_share(largest, alpha / comparison.values), float(inside[largest])
    )
    return SegmentCloseness(
        name=segments.by.name,
        segment=segment,
        kind="earth-mover" if ordered else "total-variation",
        distance=distance,
        low=low,
        threshold=threshold,
        far=low > threshold,
        value=segments.of.domain[largest],
        value_low=value_low,
        nearly_one_value=value_low > NEARLY_ALL,
        level=LEVEL,
        reports=comparison.reports,
        meaning=_meaning(segments.by.size, ordered=ordered),
    )


def closeness_notices(closeness: SegmentCloseness) -> Iterator[Notice]:
    """The warnings about a segment that tells too much of its devices."""
    segment = f"{closeness.name}={closeness.segment}"
    if closeness.nearly_one_value:
        percent = math.floor(100 * closeness.value_low)
        message = (
            f"at least {percent}% of {segment} hold {closeness.value}: whoever knows "
            "that a device is in this segment nearly knows its value, whatever epsilon is."
        )
        yield Notice("segment_nearly_one_value", "warning", message)
    if closeness.far:
        low = math.floor(100 * closeness.low) / 100
        message = (
            f"the values within {segment} are at least {low:.2f} from those of all devices, "
            f"above {closeness.threshold:g}. What is true of nearly a whole segment is learnt of "
            "each of its devices, whatever epsilon is."
        )
        yield Notice("segment_far_from_whole", "warning", message)


def _meaning(segments: int, *, ordered: bool) -> str:
    kind = (
        "the earth mover's distance in the order of the registry, as a part of the range"
        if ordered
        else "the total variation, the part of the segment that would have to hold another value"
    )
    return (
        f"how far the values within the segment are from those of all devices that reported: {kind}"
        f"; 0 if they are alike. Either lower limit holds for all {segments} segments at once with "
        f"probability {LEVEL:g}. The distance itself is post-processed: noise tends to enlarge it."
    )


def _most_reported(tallies: Tallies, segment: str, periods: PeriodsBySpec) -> list[SegmentPart]:
    """The versions with the same values and segments that have the most reports together."""
    groups: dict[Segments, list[SegmentPart]] = {}
    for part in parts_of_segments(tallies, "noise", periods):
        if part.spec.segments is not None:
            for segment_part in parts_with([part], part.spec.segments.by.name, segment):
                groups.setdefault(part.spec.segments, []).append(segment_part)
    return max(
        groups.values(), key=lambda group: sum(entry.part.reports for entry in group), default=[]
    )
