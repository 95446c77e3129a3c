"""What the versions of a metric say of one segment, and of the values within it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np

from deniable_aggregator.estimation.shares.combination import CombinedShares, combine
from deniable_aggregator.estimation.shares.domains import value_counted_as
from deniable_aggregator.estimation.shares.influence_of_subsets import influence_on_subset
from deniable_aggregator.estimation.shares.items import combine_specs
from deniable_aggregator.estimation.shares.spec_estimates import variance_of
from deniable_aggregator.estimation.shares.subset_shares import merge_items
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.estimation.shares.domains import Domain
    from deniable_aggregator.estimation.shares.spec_estimates import SpecEstimate
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_shared.segments import Segments
    from deniable_shared.spec import Spec

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
