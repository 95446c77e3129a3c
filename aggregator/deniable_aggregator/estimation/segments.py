"""Metrics with segments: the share of devices in a segment, and shares of values within it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import astuple

from deniable_aggregator.answers.common import DetectionNote, IntervalNote, Notice
from deniable_aggregator.answers.estimates import SegmentShares, SegmentSize, Share
from deniable_aggregator.estimation.results import (
    DETECTION_ALPHA,
    DEVICES,
    FAKES,
    metric_versions,
)
from deniable_aggregator.estimation.segment_parts import (
    combined_size,
    parts_of_segments,
    parts_with,
    values_in_segment,
)
from deniable_aggregator.estimation.segment_ratios import ratio_within, segment_moments
from deniable_aggregator.statistics.intervals import (
    DEFAULT_LEVEL,
    alpha_per_interval,
    detect,
    z_for_alpha,
)
from deniable_aggregator.tallies import nonempty
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.common import Head
    from deniable_aggregator.answers.questions import EstimateOptions
    from deniable_aggregator.answers.words import FalseFinds, IntervalKind, Margin
    from deniable_aggregator.estimation.segment_parts import SegmentPart, Tallies
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_shared.spec import Spec


@dataclass(frozen=True)
class SegmentEstimate:
    """Shares of values among the devices of one segment.

    A ratio of two unbiased estimates. The ratio is not unbiased, but its interval (Fieller 1954)
    covers with the stated probability all the same.

    Attributes:
        metric: the metric's name.
        size: which segment, and its share among all devices.
        items: the metric's own values.
        share: float64, (items,).
        standard_error: float64, (items,), by the delta method.
        low: float64, (items,): lower end of the interval.
        high: float64, (items,): upper end.
        influence: float64, (items,): how far 1% of fake reports could move each share.
        detected: bool, (items,): whether there are such devices, by a one-sided test corrected for
            all items.
        known: int64, (items,): over how many reports each is known, of all segments.
        margin: what errors and intervals allow for.
        interval: what intervals cover.
        level: with which probability, in (0, 1).
        false_finds: how many false ones there may be among the detected values.
        reports: how many reports were counted, of all segments.
        left_out: reports of specs that do not have the segment.
        specs: for each spec that contributed, the spec and its number of reports.
        notices: what a reader must know before these numbers.
    """

    metric: str
    size: SegmentSize
    items: tuple[str, ...]
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    influence: NDArray[np.float64]
    detected: NDArray[np.bool_]
    known: NDArray[np.int64]
    margin: Margin
    interval: IntervalKind
    level: float
    false_finds: FalseFinds
    reports: int
    left_out: int
    specs: tuple[tuple[Spec, int], ...]
    notices: tuple[Notice, ...] = ()

    def answer(self, head: Head) -> SegmentShares:
        """The estimate as an answer.

        Args:
            head: where it comes from.
        """
        inside = f"{DEVICES[self.margin]} and are in segment {self.size.name}={self.size.value}"
        covers = "all intervals at once cover" if self.interval == "all" else "each interval covers"
        return SegmentShares(
            *astuple(head.with_notices(self.notices)),
            metric=self.metric,
            reports=self.reports,
            margin=self.margin,
            unit=f"share of those of {inside}; neither clipped nor rescaled",
            interval=IntervalNote(
                kind=self.interval,
                level=self.level,
                meaning=f"{covers} with probability {self.level:g} (Fieller: of a ratio of two "
                "estimates).",
            ),
            fakes=FAKES,
            versions=metric_versions(self.specs),
            reports_left_out=self.left_out,
            segment=self.size,
            detection=DetectionNote(
                DETECTION_ALPHA,
                self.false_finds,
                "detected values differ from zero, corrected for all that are listed",
            ),
            values_asked=len(self.items),
            estimates=self._rows(),
        )

    def _rows(self) -> list[Share]:
        columns = (self.share, self.standard_error, self.low, self.high)
        numbers = (column.tolist() for column in columns)
        influence = (x if np.isfinite(x) else None for x in self.influence.tolist())
        method, detected = itertools.repeat("fieller"), self.detected.tolist()
        reports = self.known.tolist()
        return list(map(Share, self.items, *numbers, method, detected, influence, reports))


def estimate_segment_sizes(
    tallies: Tallies, margin: Margin, level: float, periods: PeriodsBySpec
) -> tuple[SegmentSize, ...]:
    """The share of each segment; nothing where no spec has segments.

    Args:
        tallies: the specs with reports, and their counts.
        margin: what errors allow for.
        level: of each single interval, in (0, 1).
        periods: how many reports there are of each period, by the specs' digests.
    """
    parts = parts_of_segments(tallies, margin, periods)
    return tuple(
        _segment_size(name, segment, list(parts_with(parts, name, segment)), margin, 1 - level)
        for name, segment in _declared(tallies)
    )


def estimate_within_segment(
    tallies: Tallies,
    segment: str,
    options: EstimateOptions,
    periods: PeriodsBySpec,
    level: float = DEFAULT_LEVEL,
) -> SegmentEstimate:
    """Estimates the shares of values among the devices of one segment, by all specs that have it.

    Args:
        tallies: the specs with reports, and their counts.
        segment: which one.
        options: how to answer.
        periods: how many reports there are of each period, by the specs' digests.
        level: of the intervals, in (0, 1).

    Raises:
        ParameterError: if no spec has the segment, if there may be no device in it, so that
            dividing by its share means nothing, or if an option does not fit.
    """
    _refuse_options(options)
    names = [name for name, value in _declared(tallies) if value == segment]
    if not names:
        raise ParameterError("segment", _constraint(tallies), segment)
    margin, name = options.margin, names[-1]
    parts = list(parts_with(parts_of_segments(tallies, margin, periods), name, segment))
    values, combined, numbers = values_in_segment(parts, margin)
    flag = parts[0].segments.of.type == "boolean"
    shown = [
        row
        for row, value in enumerate(values)
        if combined.reports[row] and not (flag and value == "false")
    ]
    interval = options.interval or "one"
    alpha = alpha_per_interval(interval, level=level, asked=len(shown), shown=len(shown))
    size = _segment_size(name, segment, parts, margin, alpha)
    moments = [segment_moments(each, margin) for each in parts]
    ratios = [
        ratio_within(
            [
                (each, own[values[row]])
                for each, own in zip(moments, numbers, strict=True)
                if values[row] in own
            ],
            margin,
            z_for_alpha(alpha),
        )
        for row in shown
    ]
    there = [ratio for ratio in ratios if ratio is not None]
    if size.low <= 0 or len(there) < len(ratios):
        constraint = f"clearly above 0 to be looked into: {name}={segment} is not"
        raise ParameterError("segment", constraint, size.share)
    scores, reports = combined.scores[shown], sum(each.part.reports for each in parts)
    columns = [np.array(column) for column in zip(*there, strict=True)]
    total = sum(int(counted) for _, _, counted in nonempty(tallies))
    return SegmentEstimate(
        metric=parts[0].part.spec.name,
        size=size,
        items=tuple(values[row] for row in shown),
        share=columns[0],
        standard_error=columns[1],
        low=columns[2],
        high=columns[3],
        influence=columns[4],
        detected=detect(scores, false_finds=options.false_finds, alpha=DETECTION_ALPHA),
        known=combined.reports[shown],
        margin=margin,
        interval=interval,
        level=level,
        false_finds=options.false_finds,
        reports=reports,
        left_out=total - reports,
        specs=tuple((each.part.spec, each.part.reports) for each in parts),
        notices=tuple(_left_out(size, total - reports, total)),
    )


def _left_out(size: SegmentSize, reports: int, total: int) -> Iterator[Notice]:
    if reports:
        message = (
            f"{reports:,} of {total:,} reports are left out: they are of versions without the "
            f"segment {size.name}={size.value}."
        )
        yield Notice("reports_left_out", "note", message)


def _refuse_options(options: EstimateOptions) -> None:
    """Refuses options for picked values and for whole domains.

    Raises:
        ParameterError: naming the option.
    """
    for name in ("top", "detected", "postprocess"):
        if value := getattr(options, name):
            raise ParameterError(name, "left out within a segment", value)
    if options.interval == "picked":
        raise ParameterError("interval", "one or all within a segment", "picked")


def _declared(tallies: Tallies) -> list[tuple[str, str]]:
    """The name of the segments and the segment, of all that some version has."""
    return list(
        dict.fromkeys(
            (spec.segments.by.name, value)
            for spec, _ in tallies
            if spec.segments
            for value in spec.segments.by.values
        )
    )


def _constraint(tallies: Tallies) -> str:
    """The constraint on the name of a segment, in words."""
    found = ", ".join(value for _, value in _declared(tallies))
    return f"one of {found}" if found else "left out, as the metric has none"


def _segment_size(
    name: str, segment: str, parts: Sequence[SegmentPart], margin: Margin, alpha: float
) -> SegmentSize:
    """The share of a segment, of the reports of all versions that have it."""
    found, whole = combined_size(parts, margin), np.zeros(1, np.int64)
    limits = found.limits(whole, alpha)
    low = float(limits.low[0])
    return SegmentSize(
        name=name,
        value=segment,
        share=float(found.share[0]),
        standard_error=float(np.sqrt(found.variance[0])),
        low=low,
        high=float(limits.high[0]),
        detected=low > 0,
        shift_if_fake=float(found.influence(whole)[0]),
    )
