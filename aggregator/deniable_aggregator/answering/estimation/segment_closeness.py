"""How far the values within a segment are from those of all devices: t-closeness.

Shares within a segment beside those of all devices, and limits of how far they are apart.

The limits are made of differences of sets of values, d(A) = P(A | segment) - P(A), each with an
interval of Fieller's kind.

What is true of nearly a whole segment is learnt of each of its devices, whatever epsilon is:
whoever knows that a device is in the segment can guess its value. A segment is t-close if its
distribution is within a distance t of the whole (Li, Li and Venkatasubramanian 2007).

A distance of noisy estimates is too large on average, so a warning needs a lower limit. There is
one of the distance, and one of the most common value's share: either holds for every segment of the
metric at once (Bonferroni), and not both together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answering.estimation.segment_parts import (
    parts_of_segments,
    parts_with,
    variance_together,
)
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.measured import SegmentCloseness
from deniable_aggregator.counting.statistics.consistency import (
    earth_mover,
    norm_sub,
    total_variation,
)
from deniable_aggregator.counting.statistics.intervals import fieller, z_for_alpha
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.segment_parts import SegmentPart, Tallies
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_shared.segments import Segments


_MOST_SETS: Final = 24
"""So many sets of values are looked at, of different sizes; others would tell little more."""


class Interval(NamedTuple):
    """The ends of an interval; infinite where it has none."""

    low: float
    high: float


class PartAndWhole:
    """Shares within a segment beside those of all devices, and limits of their differences.

    Attributes:
        values: how many values the metric has.
        size: the share of the segment.
        inside: float64, (values,): of the values within the segment, as shares of all devices.
        whole: float64, (values,): of the values, whatever the segment.
    """

    def __init__(self, parts: Sequence[SegmentPart]) -> None:
        self._parts = [part.part for part in parts]
        segments = parts[0].segments
        places = np.arange(segments.by.size * segments.of.size).reshape(segments.by.size, -1)
        self.values = segments.of.size
        self._mine = parts[0].inside
        self._others = np.delete(places, self._mine[0] // self.values, axis=0)
        reports = np.array([part.reports for part in self._parts], np.float64)
        self.reports = int(reports.sum())
        self._weights = reports / reports.sum()
        pairs = [part.shares.share for part in self._parts]
        share = np.asarray(self._weights @ np.array(pairs)).reshape(places.shape)
        self.whole = share.sum(axis=0)
        self.inside = share.ravel()[self._mine]
        self.size = float(self.inside.sum())
        self._size_variance = self._variance(self._mine)

    def least_total_variation(self, alpha: float) -> float:
        """A lower limit of the total variation: the largest of those of some sets of values.

        The sets follow from the estimates, so the intervals hold for all sets at once (Scheffe
        1953). The differences of a set and of its complement are opposite; the one without the
        first value is looked at, so these lie in as many dimensions as there are other values.

        Args:
            alpha: the probability that the limit may be too high, in (0, 1).
        """
        z = float(np.sqrt(special.chdtri(self.values - 1, alpha)))
        order = np.argsort(self.whole - self.inside / self.size, kind="stable")
        sizes = np.geomspace(1, self.values - 1, min(self.values - 1, _MOST_SETS))
        least = 0.0
        for count in sorted(set(np.rint(sizes).astype(int).tolist())):
            chosen, others = order[:count], order[count:]
            difference = self._difference(np.sort(others if 0 in chosen else chosen), z)
            least = max(least, -difference.high if 0 in chosen else difference.low)
        return least

    def least_earth_mover(self, alpha: float) -> float:
        """A lower limit of the earth mover's distance: the mean of those of its parts.

        Its parts are the differences of the shares up to each value, all but the last. Their
        intervals hold at once (Bonferroni).

        Args:
            alpha: the probability that the limit may be too high, in (0, 1).
        """
        edges = self.values - 1
        z, total = z_for_alpha(alpha / edges), 0.0
        for count in range(1, self.values):
            difference = self._difference(np.arange(count), z)
            total += max(difference.low, -difference.high, 0.0)
        return total / edges

    def least_share(self, value: int, alpha: float) -> float:
        """A lower limit of a value's share within the segment.

        Args:
            alpha: the probability that the limit may be too high, in (0, 1).
        """
        chosen = np.array([value])
        chosen_variance, other_variance = (self._variance(places) for places in self._split(chosen))
        covariance = (chosen_variance + self._size_variance - other_variance) / 2
        low = self._ratio(
            float(self.inside[value]), chosen_variance, covariance, z_for_alpha(2 * alpha)
        ).low
        return max(low, 0.0)

    def _difference(self, chosen: NDArray[np.int64], z: float) -> Interval:
        """The interval of P(A | segment) - P(A), where it contains z standard errors.

        With the shares X of A and Z of its complement within the segment, Y of A outside of it and
        S = X + Z, that is X / S - (X + Y). At a difference d, X - (d + X + Y) S has the mean 0, and
        its noise is (1 - S) dX - S dY - (d + X + Y) dS: so X / S is bounded as of Fieller, with the
        first two as the noise of X.
        """
        mine, others = self._split(chosen)
        out = self._others[:, chosen].ravel()
        x, y = self._variance(mine), self._variance(out)
        xy = (self._variance(np.concatenate([mine, out])) - x - y) / 2
        xs = (x + self._size_variance - self._variance(others)) / 2
        everything = np.concatenate([self._mine, out])
        ys = (self._variance(everything) - self._size_variance - y) / 2
        s = self.size
        own = (1 - s) ** 2 * x - 2 * s * (1 - s) * xy + s**2 * y
        ratio = self._ratio(float(self.inside[chosen].sum()), own, (1 - s) * xs - s * ys, z)
        whole = float(self.whole[chosen].sum())
        return Interval(ratio.low - whole, ratio.high - whole)

    def _split(self, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of the segment with some values, and with all others."""
        return self._mine[chosen], np.delete(self._mine, chosen)

    def _ratio(self, top: float, own: float, covariance: float, z: float) -> Interval:
        """Fieller's interval of a ratio to the segment's share; all numbers where it has no end.

        Args:
            top: the numerator.
            own: its variance.
            covariance: its covariance with the segment's share.
            z: half of the interval's width, in standard errors.
        """
        low, high = map(float, fieller(top, self.size, own, covariance, self._size_variance, z))
        return Interval(-np.inf, np.inf) if math.isnan(low) else Interval(low, high)

    def _variance(self, chosen: NDArray[np.int64]) -> float:
        """The variance of the share of some pairs together, over all versions."""
        variances = [variance_together(part, np.sort(chosen), "noise") for part in self._parts]
        return float(self._weights**2 @ np.array(variances))


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
