"""Metrics with segments: how large these are, and the shares of values within one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.answering.estimation.inputs import UnanswerableError, UnknownNameError
from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
from deniable_aggregator.answering.estimation.segment_parts import (
    Ratio,
    combined_size,
    parts_of_segments,
    parts_with,
    ratio_within,
    segment_moments,
    values_in_segment,
)
from deniable_aggregator.answering.estimation.selection import known_in_part
from deniable_aggregator.answering.estimation.shares import DETECTION_ALPHA
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.intervals import (
    DEFAULT_LEVEL,
    alpha_per_interval,
    detect,
    z_for_alpha,
)
from deniable_aggregator.counting.statistics.ranks import rank_ranges
from deniable_aggregator.counting.tallies import nonempty
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.segment_parts import (
        SegmentPart,
        SegmentValues,
        Tallies,
    )
    from deniable_aggregator.answers.questions import EstimateOptions
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_shared.attributes import Attribute
    from deniable_shared.spec import Spec


def estimate_segment_sizes(
    tallies: Tallies, margin: Margin, level: float, periods: PeriodsBySpec
) -> tuple[Measured, ...]:
    """The share of each segment; nothing where no spec has segments.

    Args:
        level: of each single interval, in (0, 1).
        periods: how many reports there are of each period, by the specs' digests.
    """
    parts = parts_of_segments(tallies, margin, periods)
    return tuple(
        _segment_size(name, segment, list(parts_with(parts, name, segment)), margin, 1 - level)
        for name, segment in declared_segments(spec for spec, _ in tallies)
    )


def estimate_within_segment(
    tallies: Tallies,
    segment: str,
    options: EstimateOptions,
    periods: PeriodsBySpec,
    level: float = DEFAULT_LEVEL,
    *,
    listed: Sequence[str] | None = None,
    versions: Sequence[Spec] = (),
    may_be_empty: bool = False,
) -> SegmentEstimate:
    """Estimates the shares of values among the devices of one segment, by all specs that have it.

    Args:
        periods: how many reports there are of each period, by the specs' digests.
        level: of the intervals, in (0, 1).
        listed: the values that are asked for; None for all.
        versions: those whose values are the domain, with or without reports among these; empty for
            those with reports.
        may_be_empty: return no shares, instead of refusing, where the segment is too small or no
            version with reports has it.

    Raises:
        ParameterError: if no spec has the segment, if there may be no device in it, so that
            dividing by its share means nothing, or if an option does not fit.
    """
    _refuse_options(options)
    total = sum(int(counted) for _, _, counted in nonempty(tallies))
    declared = declared_segments(spec for spec, _ in tallies)
    names = [name for name, value in declared if value == segment]
    if not names and may_be_empty:
        return _no_shares(tallies[0][0].name, options, level, total)
    if not names:
        raise _unknown_segment(tallies, segment)
    margin, name = options.margin, names[-1]
    parts = list(parts_with(parts_of_segments(tallies, margin, periods), name, segment))
    values = values_in_segment(parts, name, versions, margin)
    rows = _requested_rows(parts[0].segments.of, values, listed)
    interval = options.interval or "one"
    alpha = alpha_per_interval(
        interval, level=level, asked=max(len(rows), 1), shown=max(len(rows), 1)
    )
    size = _segment_size(name, segment, parts, margin, alpha)
    moments = [segment_moments(part, margin) for part in parts]
    ratios = [
        ratio_within(values.in_versions(row, moments), margin, z_for_alpha(alpha)) for row in rows
    ]
    possible = [ratio for ratio in ratios if ratio is not None]
    known = values.combined.reports[rows]
    at_once = alpha_per_interval("all", level=level, asked=len(rows), shown=len(rows))
    joint = [
        ratio_within(values.in_versions(row, moments), margin, z_for_alpha(at_once))
        for row in rows
        if len(rows) > 1 and (known == known[0]).all()
    ]
    if not size.told or len(possible) < len(ratios):
        if not may_be_empty:
            reason = (
                f"{name}={segment} has too few devices to look into: about "
                f"{max(size.estimate or 0.0, 0.0):.1%}, which can't be told from none"
            )
            raise UnanswerableError("segment", segment, reason)
        rows, possible, joint = [], [], []
    reports = sum(part.part.reports for part in parts)
    matrix = np.array(possible, np.float64).reshape(len(possible), len(Ratio._fields))
    columns = dict(zip(Ratio._fields, matrix.T, strict=True))
    return SegmentEstimate(
        metric=parts[0].part.spec.name,
        size=size,
        items=tuple(values.values[row] for row in rows),
        share=columns["share"],
        standard_error=columns["standard_error"],
        low=columns["low"],
        high=columns["high"],
        influence=columns["influence"],
        ranks=_ranks(len(rows), joint),
        detected=detect(
            values.combined.scores[rows], false_finds=options.false_finds, alpha=DETECTION_ALPHA
        ),
        known=values.combined.reports[rows],
        versions=values.combined.versions_of(np.array(rows, np.int64)),
        margin=margin,
        interval=interval,
        level=level,
        false_finds=options.false_finds,
        reports=reports,
        left_out=total - reports,
        specs=tuple((part.part.spec, part.part.reports) for part in parts),
        notices=(
            *_left_out(size, total - reports, total),
            *_too_small(size, possible),
            *known_in_part(
                [values.values[row] for row in rows], values.combined.reports[rows], reports
            ),
        ),
    )


def _requested_rows(
    attribute: Attribute, values: SegmentValues, listed: Sequence[str] | None
) -> list[int]:
    """The rows of the values that are asked for, and that some version tells from others.

    Raises:
        ParameterError: if a listed value is none of the domain.
    """
    rows = {value: row for row, value in enumerate(values.values) if values.combined.reports[row]}
    if listed is None:
        return [
            row for value, row in rows.items() if attribute.type != "boolean" or value == "true"
        ]
    for value in listed:
        if value not in values.values:
            raise UnknownNameError("value", attribute.name, values.values, value)
    return [rows[value] for value in listed if value in rows]


def _no_shares(
    metric: str, options: EstimateOptions, level: float, left_out: int
) -> SegmentEstimate:
    """The answer where no version has the segment."""
    nothing = np.zeros(0)
    message = f"{left_out:,} reports are left out: no version of these days has the segment."
    return SegmentEstimate(
        metric=metric,
        size=None,
        items=(),
        share=nothing,
        standard_error=nothing,
        low=nothing,
        high=nothing,
        influence=nothing,
        ranks=(nothing.astype(np.int64), nothing.astype(np.int64)),
        detected=np.zeros(0, bool),
        known=np.zeros(0, np.int64),
        versions=(),
        margin=options.margin,
        interval=options.interval or "one",
        level=level,
        false_finds=options.false_finds,
        reports=0,
        left_out=left_out,
        specs=(),
        notices=(Notice("segment_not_there", "note", message),),
    )


def _ranks(size: int, joint: Sequence[Ratio | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which ranks values are within a segment; 0 where an interval has no ends."""
    placed = [(ratio.low, ratio.high) for ratio in joint if ratio is not None]
    if not size or len(placed) < size:
        return np.zeros(size, np.int64), np.zeros(size, np.int64)
    low, high = np.array(placed, np.float64).T
    return rank_ranges(low, high)


def _too_small(size: Measured, shares: Sequence[Ratio]) -> Iterator[Notice]:
    if not shares:
        message = (
            f"the segment {size.segment} is not clearly above 0, so that shares within "
            "it cannot be told. Ask for longer periods."
        )
        yield Notice("segment_too_small", "warning", message)


def _left_out(size: Measured, reports: int, total: int) -> Iterator[Notice]:
    if reports:
        message = (
            f"{reports:,} of {total:,} reports are left out: they are of versions without the "
            f"segment {size.segment}."
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


def declared_segments(specs: Iterable[Spec]) -> list[tuple[str, str]]:
    """The segments of some versions: the name of what they are of, and their own."""
    return list(
        dict.fromkeys(
            (spec.segments.by.name, value)
            for spec in specs
            if spec.segments
            for value in spec.segments.by.values
        )
    )


def _unknown_segment(tallies: Tallies, segment: str) -> ParameterError:
    """The error that no version has a segment."""
    segments = [value for _, value in declared_segments(spec for spec, _ in tallies)]
    if not segments:
        constraint = f"left out, as {tallies[0][0].name} has none"
        return ParameterError("segment", constraint, segment)
    return UnknownNameError("segment", tallies[0][0].name, segments, segment)


def _segment_size(
    name: str, segment: str, parts: Sequence[SegmentPart], margin: Margin, alpha: float
) -> Measured:
    """The share of a segment, of the reports of all versions that have it."""
    combined, whole = combined_size(parts, margin), np.zeros(1, np.int64)
    limits = combined.limits(whole, alpha)
    low = float(limits.low[0])
    return Measured(
        measure="segment size",
        segment=f"{name}={segment}",
        estimate=float(combined.share[0]),
        standard_error=float(np.sqrt(combined.variance[0])),
        low=low,
        high=float(limits.high[0]),
        told=low > 0,
        shift_if_fake=float(combined.influence(whole)[0]),
    )
