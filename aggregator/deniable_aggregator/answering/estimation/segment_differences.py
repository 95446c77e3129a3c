"""Differences between two segments of the same reports: shares within them are not independent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answering.estimation.changes import SAMPLED, Comparison, Differences
from deniable_aggregator.answering.estimation.combination import shared_pairs_fraction
from deniable_aggregator.answering.estimation.inputs import UnknownNameError
from deniable_aggregator.answering.estimation.segment_parts import (
    parts_of_segments,
    parts_with,
    ratio_moments,
    segment_moments,
    values_in_segment,
    variance_together,
)
from deniable_aggregator.answering.estimation.share_changes import (
    LEAST_ERROR,
    estimate_side,
    known_of_all,
)
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.telling.wording import counted
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
    from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
    from deniable_aggregator.answering.estimation.segment_parts import (
        RatioMoments,
        SegmentMoments,
    )
    from deniable_shared.spec import Spec


def with_both_segments(tallies: CollectedTallies, segments: Sequence[str]) -> CollectedTallies:
    """The counts of the versions that have two segments of one kind.

    Args:
        segments: the two.

    Raises:
        ParameterError: if there are none.
    """
    declared = {
        spec.digest: spec.segments.by.values for spec in tallies.specs if spec.segments is not None
    }
    metric = tallies.specs[0].name
    if not declared:
        raise ParameterError("segment", f"left out, as {metric} has none", segments[0])
    names = list(dict.fromkeys(name for values in declared.values() for name in values))
    for segment in segments:
        if segment not in names:
            raise UnknownNameError("segment", metric, names, segment)
    both = tallies.only({digest for digest in declared if set(segments) <= {*declared[digest]}})
    if not both.tallies:
        raise ParameterError("segment", "two that one version has", list(segments))
    return both


def compare_segments(
    tallies: CollectedTallies, segments: tuple[str, str], request: ChangeRequest
) -> Comparison:
    """How the shares of values differ between the devices of two segments, second minus first.

    Both are ratios of estimates of the same reports. With r = v / s of each segment, by the delta
    method Cov(r1, r2) = (C(v1, v2) - r2 C(v1, s2) - r1 C(s1, v2) + r1 r2 C(s1, s2)) / (s1 s2), and
    intervals have the distances of Zou and Donner (2008) for correlated estimates. The test takes
    the errors at the share of both segments together: then v - r s has mean 0, as in Fieller's
    interval, so that it errs as often as it says also where a segment is small.

    Args:
        tallies: what was counted of versions that have both, see `with_both_segments`.
        segments: the two.

    Raises:
        ParameterError: if there is so little of one that its shares are unknown, or if an option
            does not fit.
    """
    versions = tallies.specs
    alpha = 1 - request.level
    sides = [estimate_side(tallies, each, request, versions, alpha) for each in segments]
    known = [known_of_all(side) for side in sides]
    items = tuple(item for item in sides[0].items if item in known[0] & known[1])
    if not items:
        listed = list(request.lists.candidates or ())
        raise ParameterError("value", "one that all versions know", listed)
    if request.alpha(len(items)) != alpha:
        alpha = request.alpha(len(items))
        sides = [estimate_side(tallies, each, request, versions, alpha) for each in segments]
    sizes = sides[0].size, sides[1].size
    assert sizes[0] is not None
    assert sizes[1] is not None
    return Comparison(
        items,
        _differences(sides, items, _joint(tallies, segments, items)),
        "shares",
        {item: "neither" for side in sides for item in side.items if item not in items},
        notices=tuple({notice.code: notice for side in sides for notice in side.notices}.values()),
        segment=(sizes[0], sizes[1]),
    )


def without_notice(spec: Spec, reports: int, segments: Sequence[str]) -> Iterator[Notice]:
    """A note about reports of versions that do not have both segments, if there are any.

    Args:
        spec: a version that has.
        reports: how many.
        segments: the two.
    """
    if reports:
        message = (
            f"{counted(reports, 'report')} of {spec.name} are left out: of versions without "
            f"{segments[0]} or {segments[1]}"
        )
        yield Notice("reports_left_out", "note", message)


class _Joint(NamedTuple):
    """How the shares of a value in both segments vary, and vary together.

    Attributes:
        first: of the first segment.
        second: of the second.
        covariances: of value and value, value and size, size and value, and size and size.
    """

    first: RatioMoments
    second: RatioMoments
    covariances: tuple[float, float, float, float]

    def error_at(self, shares: tuple[float, float]) -> float:
        """The standard error of the difference, if these are the shares."""
        first, second = (
            side.variance_at(share)
            for side, share in zip((self.first, self.second), shares, strict=True)
        )
        variance = first + second - 2 * self.covariance_at(shares)
        return float(max(variance, 0.0) ** 0.5)

    def covariance_at(self, shares: tuple[float, float]) -> float:
        """That of the two shares, if these are they."""
        one, two = shares
        both, value_size, size_value, sizes = self.covariances
        together = both - two * value_size - one * size_value + one * two * sizes
        return float(together / (self.first.bottom * self.second.bottom))

    @property
    def pooled(self) -> float:
        """The share in both segments together."""
        return (self.first.top + self.second.top) / (self.first.bottom + self.second.bottom)


def _joint(
    tallies: CollectedTallies, segments: Sequence[str], items: Sequence[str]
) -> list[_Joint]:
    """Of each item."""
    name = next(
        spec.segments.by.name
        for spec in tallies.specs
        if spec.segments is not None and set(segments) <= {*spec.segments.by.values}
    )
    parts = parts_of_segments(tallies.tallies, SAMPLED, tallies.periods)
    within = [list(parts_with(parts, name, segment)) for segment in segments]
    values = [values_in_segment(each, name, tallies.specs, SAMPLED) for each in within]
    moments = [[segment_moments(part, SAMPLED) for part in each] for each in within]
    found = []
    for item in items:
        row = values[0].values.index(item)
        of_versions = [
            each.in_versions(row, its) for each, its in zip(values, moments, strict=True)
        ]
        first, second = (ratio_moments(each, SAMPLED) for each in of_versions)
        pairs = [(one[0], two[0]) for one, two in zip(*of_versions, strict=True)]
        numbers = [number for _, number in of_versions[0]]
        found.append(_Joint(first, second, _covariances(pairs, numbers)))
    return found


def _covariances(
    pairs: Sequence[tuple[SegmentMoments, SegmentMoments]], numbers: Sequence[int | None]
) -> tuple[float, float, float, float]:
    """Those of a value and its segment with those of the other segment, over all versions.

    Args:
        pairs: of each version its two segments.
        numbers: the number of the value in each; None if no device can hold it there.
    """
    reports = np.array([one.part.reports for one, _ in pairs], np.float64)
    weights = reports / reports.sum()
    own = np.array(
        [_of_version(one, two, number) for (one, two), number in zip(pairs, numbers, strict=True)]
    )
    total = weights**2 @ own
    levels = np.array(
        [
            [*_levels(one, number), *_levels(two, number)]
            for (one, two), number in zip(pairs, numbers, strict=True)
        ]
    )
    apart = levels - weights @ levels
    chosen = [(0, 2), (0, 3), (1, 2), (1, 3)]
    per_report = np.array([1 / one.part.reports + one.part.repeats.extra for one, _ in pairs])
    for place, (left, right) in enumerate(chosen):
        total[place] += (weights**2 * per_report * apart[:, left] * apart[:, right]).sum()
    held = np.clip(levels, 0.0, 1.0)
    for row, (one, _) in enumerate(pairs):
        for column, (other, _) in enumerate(pairs[:row]):
            fraction = shared_pairs_fraction(one.part, other.part)
            factor = fraction * weights[row] * weights[column]
            for place, (left, right) in enumerate(chosen):
                # A device is in one segment only.
                total[place] -= factor * (
                    held[row, left] * held[column, right] + held[column, left] * held[row, right]
                )
    first, second, third, fourth = total.tolist()
    return first, second, third, fourth


def _levels(moments: SegmentMoments, number: int | None) -> tuple[float, float]:
    return (0.0 if number is None else float(moments.shares[number]), moments.size)


def _of_version(one: SegmentMoments, two: SegmentMoments, number: int | None) -> list[float]:
    """Within one version, as 2 Cov(a, b) = Var(a + b) - Var(a) - Var(b)."""

    def together(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
        return variance_together(one.part, np.sort(np.concatenate([first, second])), SAMPLED)

    sizes = (together(one.inside, two.inside) - one.size_variance - two.size_variance) / 2
    if number is None:
        return [0.0, 0.0, 0.0, sizes]
    values = one.inside[[number]], two.inside[[number]]
    variances = float(one.variances[number]), float(two.variances[number])
    return [
        (together(*values) - sum(variances)) / 2,
        (together(values[0], two.inside) - variances[0] - two.size_variance) / 2,
        (together(one.inside, values[1]) - one.size_variance - variances[1]) / 2,
        sizes,
    ]


def _differences(
    sides: Sequence[SegmentEstimate], items: Sequence[str], joint: Sequence[_Joint]
) -> Differences:
    rows = [[side.items.index(item) for item in items] for side in sides]
    first, second = sides
    earlier, later = first.share[rows[0]], second.share[rows[1]]
    shares = list(zip(earlier.tolist(), later.tolist(), strict=True))
    error = np.array([each.error_at(at) for each, at in zip(joint, shares, strict=True)])
    null = np.array([each.error_at((each.pooled, each.pooled)) for each in joint])
    apart = first.standard_error[rows[0]] * second.standard_error[rows[1]]
    covariance = [each.covariance_at(at) for each, at in zip(joint, shares, strict=True)]
    correlation = np.clip(np.array(covariance) / np.maximum(apart, LEAST_ERROR**2), -1.0, 1.0)

    def distance(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
        square = one**2 + two**2 - 2 * correlation * one * two
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    below = later - second.low[rows[1]], first.high[rows[0]] - earlier
    above = second.high[rows[1]] - later, earlier - first.low[rows[0]]
    return Differences(
        before=earlier,
        after=later,
        standard_error=np.maximum(error, LEAST_ERROR),
        same_devices=np.full(earlier.size, np.nan),
        low=later - earlier - distance(*below),
        high=later - earlier + distance(*above),
        p_value=2 * special.ndtr(-np.abs(later - earlier) / np.maximum(null, LEAST_ERROR)),
        influence=first.influence[rows[0]] + second.influence[rows[1]],
    )
