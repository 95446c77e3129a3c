"""Shares within a segment: ratios of the share of value and segment to that of the segment.

Shares within a segment: ratios of the share of a value and the segment to that of the segment.

Both are averages over the reports of the same versions, so a version has one weight in a ratio. A
ratio of two unbiased estimates is not unbiased, but its interval (Fieller 1954) covers with the
stated probability all the same.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from deniable_aggregator.answering.estimation.combination import (
    CombinedShares,
    combine,
    shared_pairs_fraction,
)
from deniable_aggregator.answering.estimation.domains import value_counted_as, variance_of
from deniable_aggregator.answering.estimation.items import combine_specs
from deniable_aggregator.answering.estimation.subsets import (
    influence_on_subset,
    merge_items,
    support_range,
)
from deniable_aggregator.counting.statistics.influence import FORGED_SHARE
from deniable_aggregator.counting.statistics.intervals import fieller
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.domains import Domain, SpecEstimate
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_shared.segments import Segments
    from deniable_shared.spec import Spec


if TYPE_CHECKING:
    Tallies = Sequence[tuple[Spec, NDArray[np.int64]]]


T = TypeVar("T")


class SegmentPart(NamedTuple):
    """One version that has the segment.

    Attributes:
        part: its estimates of all pairs of a value and a segment.
        inside: int64, (values,): the places of the segment's pairs in `part.known`, in the order of
            the version's own values.
    """

    part: SpecEstimate
    inside: NDArray[np.int64]

    @property
    def segments(self) -> Segments:
        """The version's segments."""
        return cast("Segments", self.part.spec.segments)


def parts_of_segments(
    tallies: Tallies, margin: Margin, periods: PeriodsBySpec
) -> list[SpecEstimate]:
    """The estimates of all pairs, of each version that has segments.

    Args:
        periods: how many reports there are of each period, by the specs' digests.
    """
    return [
        part
        for spec, counts in tallies
        if spec.segments is not None
        for part in combine_specs(
            [(spec, counts)], spec.segments.items, margin, periods=periods
        ).combined.parts
    ]


def parts_with(parts: Sequence[SpecEstimate], name: str, segment: str) -> Iterator[SegmentPart]:
    """Those of the versions that have one segment.

    Args:
        parts: the estimates of all pairs, of each version.
    """
    for part in parts:
        segments = cast("Segments", part.spec.segments)
        if segments.by.name == name and segment in segments.by.values:
            first = segments.by.values.index(segment) * segments.of.size
            yield SegmentPart(part, first + np.arange(segments.of.size))


def variance_together(part: SpecEstimate, chosen: NDArray[np.int64], margin: Margin) -> float:
    """The variance of the share of some pairs together, among the reports of one version.

    Args:
        chosen: int64, (pairs,): the places of these pairs in `part.known`, rising.

    Raises:
        ParameterError: if the covariances of its mechanism's estimates are not known.
    """
    if not chosen.size:
        return 0.0
    total, note = merge_items(part, chosen)
    if note.startswith("not known"):
        constraint = "one whose covariances are known, to compare a segment with all devices"
        raise ParameterError("mechanism", constraint, part.spec.mechanism.name)
    return float(variance_of(total, total.shares, total.shares.share, margin)[0])


class SegmentValues(NamedTuple):
    """The values that the versions list, each in the segment, as shares of all devices.

    Attributes:
        values: all that some version lists.
        combined: the estimates; a value that no version tells from others has no reports.
        numbers: for each version and each value that it knows, the value's number among its own;
            None if no device of the version can hold it.
    """

    values: Domain
    combined: CombinedShares
    numbers: tuple[dict[str, int | None], ...]

    def in_versions(self, row: int, versions: Sequence[T]) -> list[tuple[T, int | None]]:
        """The versions that know a value, and its number in each."""
        value = self.values[row]
        return [
            (version, own[value])
            for version, own in zip(versions, self.numbers, strict=True)
            if value in own
        ]


def values_in_segment(
    parts: Sequence[SegmentPart], name: str, versions: Sequence[Spec], margin: Margin
) -> SegmentValues:
    """The shares of all devices that are in the segment and hold each value.

    As without segments, a version none of whose devices can hold a value counts with 0, and one
    that does not tell it from others is left out of it.

    Args:
        parts: of each version that has the segment; at least one.
        versions: others whose values are in the domain, if they have segments of this name.
    """
    of_all = [part.segments for part in parts]
    of_all += [spec.segments for spec in versions if spec.segments is not None]
    values = tuple(
        dict.fromkeys(
            value for segments in of_all if segments.by.name == name for value in segments.of.domain
        )
    )
    row = {value: number for number, value in enumerate(values)}
    numbers, rows = [], []
    for part in parts:
        counted_as = value_counted_as(part.part.spec)
        counted = {value: counted_as(value) for value in values}
        mixed = {item for value, item in counted.items() if item != value}
        own = {
            value: None if item is None else part.segments.of.domain.index(value)
            for value, item in counted.items()
            if item is None or (item == value and value not in mixed)
        }
        known_rows = {row[value]: number for value, number in own.items() if number is not None}
        impossible = [row[value] for value, number in own.items() if number is None]
        places = part.inside[list(known_rows.values())]
        numbers.append(own)
        rows.append(
            part.part._replace(
                known=np.array(list(known_rows), np.int64),
                shares=part.part.shares.take(places),
                impossible=np.array(impossible, np.int64),
            )
        )
    return SegmentValues(values, combine(rows, len(values), margin), tuple(numbers))


def combined_size(parts: Sequence[SegmentPart], margin: Margin) -> CombinedShares:
    """The share of all devices that are in the segment, as item 0.

    Args:
        parts: of each version that has the segment; at least one.
    """
    sums = []
    for part, inside in parts:
        total, _ = merge_items(part, inside)
        shares = replace(total.shares, influence=influence_on_subset(part, inside))
        sums.append(total._replace(shares=shares))
    return combine(sums, 1, margin)


class Ratio(NamedTuple):
    """The share of a value among the devices of a segment.

    Attributes:
        share: the estimate.
        standard_error: of it, by the delta method.
        low: lower end of the interval.
        high: upper end.
        influence: how far 1% of fake reports could move it; infinite where they could empty the
            segment.
    """

    share: float
    standard_error: float
    low: float
    high: float
    influence: float


class RatioMoments(NamedTuple):
    """The share of a value within a segment and that of the segment, of all devices.

    Attributes:
        top: of the value within the segment.
        bottom: of the segment.
        own: the variance of the first.
        covariance: of both.
        size: the variance of the second.
    """

    top: float
    bottom: float
    own: float
    covariance: float
    size: float

    def variance_at(self, share: float) -> float:
        """The variance of the ratio by the delta method, if this is the ratio.

        Args:
            share: the ratio.
        """
        variance = self.own - 2 * share * self.covariance + share**2 * self.size
        return float(max(variance, 0.0) / self.bottom**2)


class SegmentMoments(NamedTuple):
    """One version's estimates of a segment and of the values within, with their variances.

    Attributes:
        part: its estimates.
        inside: int64, (values,): the places of the segment's pairs in `part.known`.
        size: the share of the segment.
        shares: float64, (values,): the shares of the values within the segment, of all devices.
        variances: float64, (values,): theirs.
        covariances: float64, (values,): of each with the size.
    """

    part: SpecEstimate
    inside: NDArray[np.int64]
    size: float
    size_variance: float
    shares: NDArray[np.float64]
    variances: NDArray[np.float64]
    covariances: NDArray[np.float64]


def segment_moments(segment_part: SegmentPart, margin: Margin) -> SegmentMoments:
    """One version's estimates of a segment, with how they vary together.

    The covariance follows from the variance of all other values together:
    Var(segment - value) = Var(segment) + Var(value) - 2 Cov(segment, value).

    Args:
        margin: what variances allow for.

    Raises:
        ParameterError: if the covariances of its mechanism's estimates are not known.
    """
    part, inside = segment_part
    shares = part.shares.share[inside]

    def variance(chosen: NDArray[np.int64]) -> float:
        return variance_together(part, chosen, margin)

    of_size = variance(inside)
    own = np.array([variance(inside[[at]]) for at in range(inside.size)])
    without_value = np.array([variance(np.delete(inside, at)) for at in range(inside.size)])
    size = float(shares.sum())
    return SegmentMoments(
        part, inside, size, of_size, shares, own, (own + of_size - without_value) / 2
    )


def ratio_within(
    values: Sequence[tuple[SegmentMoments, int | None]], margin: Margin, z: float
) -> Ratio | None:
    """The share of one value among the devices of a segment.

    Args:
        values: the versions that have the segment and tell the value from others, at least one, and
            the number of the value among each one's own; None if no device can hold it there.
        z: half the width of the interval, in standard errors.

    Returns:
        None if the segment's share is within z standard errors of 0: then Fieller's interval is
        unbounded.
    """
    top, bottom, own, covariance, size = ratio_moments(values, margin)
    low, high = map(float, fieller(top, bottom, own, covariance, size, z))
    if math.isnan(low):
        return None
    share = top / bottom
    error = max(own - 2 * share * covariance + share**2 * size, 0.0) ** 0.5 / bottom
    return Ratio(share, error, low, high, _influence(values, top, bottom))


def ratio_moments(
    values: Sequence[tuple[SegmentMoments, int | None]], margin: Margin
) -> RatioMoments:
    """The shares of a value within a segment and of the segment, over all versions.

    Args:
        values: as of `ratio_within`.
        margin: what variances allow for.
    """
    versions = [moments for moments, _ in values]
    reports = np.array([moments.part.reports for moments in versions], np.float64)
    weights = reports / reports.sum()
    read_columns = np.array([_read(*moments) for moments in values])
    top, bottom = (float(weights @ column) for column in read_columns[:, :2].T)
    own, covariance, size = (float(weights**2 @ column) for column in read_columns[:, 2:].T)
    if margin == "noise-and-sampling":
        added = _sampling(versions, weights, read_columns[:, 0], read_columns[:, 1])
        own, covariance, size = own + added[0], covariance + added[1], size + added[2]
    return RatioMoments(top, bottom, float(own), float(covariance), float(size))


def _read(moments: SegmentMoments, value: int | None) -> tuple[float, ...]:
    """Shares of value and segment; variance of the value, covariance, variance of the segment."""
    if value is None:
        return 0.0, moments.size, 0.0, 0.0, moments.size_variance
    own, covariance = moments.variances[value], moments.covariances[value]
    return (
        float(moments.shares[value]),
        moments.size,
        float(own),
        float(covariance),
        moments.size_variance,
    )


def _sampling(
    versions: Sequence[SegmentMoments],
    weights: NDArray[np.float64],
    share: NDArray[np.float64],
    inside: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What sampling adds to the sampling within each version: to the variances and the covariance.

    Versions differ, and one device may have used several, one after the other; as for shares
    without segments, see `CombinedShares.between`.

    Args:
        weights: float64, (versions,).
        share: float64, (versions,): the share of the value within the segment, of all devices.
        inside: float64, (versions,): that of the segment.

    Returns:
        float64, (3,): of the value, of both, of the segment.
    """
    apart, away = share - weights @ share, inside - weights @ inside
    per_report = np.array(
        [1 / version.part.reports + version.part.repeats.extra for version in versions]
    )
    added = np.array(
        [(weights**2 * per_report * x).sum() for x in (apart**2, apart * away, away**2)]
    )
    share, inside = np.clip(share, 0.0, 1.0), np.clip(inside, 0.0, 1.0)
    spread = share * (1 - share), share * (1 - inside), inside * (1 - inside)
    deviations = weights * np.sqrt(np.clip(spread, 0.0, None))
    for row, column in itertools.combinations(range(len(versions)), 2):
        fraction = shared_pairs_fraction(versions[row].part, versions[column].part)
        added += 2 * fraction * deviations[:, row] * deviations[:, column]
    return added


def _influence(
    values: Sequence[tuple[SegmentMoments, int | None]], top: float, bottom: float
) -> float:
    """How far fakes could move the share of a value within the segment.

    An estimate is the average over all reports of what each one says, (1 or 0 - q) / (p - q). All
    fakes are of one version: each supports the value or does not, and as few or as many of the
    segment's other values as one report can. Exact for one version with randomized response, unary
    encodings or subset selection, else an upper bound.
    """
    moved = 0.0
    for moments, value in values:
        counted: Any = moments.part.shares.support_counts
        p, q = counted.support.p, counted.support.q
        least, most = support_range(moments.part.spec.mechanism, moments.inside)
        size = moments.inside.size
        for supports in (0, 1) if value is not None else (0,):
            for count in (max(supports, least), min(most, size - 1 + supports)):
                forged = 0.0 if value is None else (supports - q) / (p - q)
                above = top + FORGED_SHARE * (forged - top)
                below = bottom + FORGED_SHARE * ((count - size * q) / (p - q) - bottom)
                if below <= 0:
                    return np.inf
                moved = max(moved, abs(above / below - top / bottom))
    return moved
