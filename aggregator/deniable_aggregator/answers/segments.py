"""How large segments are, and how far their values are from those of all devices."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from deniable_aggregator.answers.words import Count


class SegmentCloseness(Struct, kw_only=True):
    """How far the values within a segment are from those of all devices.

    What is true of nearly a whole segment is learnt of each of its devices.

    Attributes:
        name: what the segments are.
        segment: which segment.
        kind: of the distance: the total variation, or the earth mover's distance of values in an
            order, as a part of their range.
        distance: of the estimates; post-processed, so noise alone makes it more than 0.
        low: a lower limit of the true distance.
        threshold: the distance above which there is a warning.
        far: whether the lower limit is above it.
        value: the value with the largest share within the segment.
        value_low: a lower limit of its share.
        nearly_one_value: whether that is above 0.9.
        level: with which probability each of the two limits holds, for all segments at once.
        reports: how many reports these are of: those of the versions with the same values and
            segments that have the most.
        meaning: what it is.
    """

    name: str
    segment: str
    kind: Literal["earth-mover", "total-variation"]
    distance: float
    low: float
    threshold: float
    far: bool
    value: str
    value_low: float
    nearly_one_value: bool
    level: float
    reports: Count
    meaning: str
