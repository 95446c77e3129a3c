"""Parts of the reports by themselves, beside all: by key, by version of the metric, by segment.

Intervals cover as those of the whole answer do: one value of one part at a time, or all values of
all parts at once. Of differences, those of all parts are one family of tests.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answering.estimation.decomposition import OTHERS
from deniable_aggregator.answering.estimation.distributions import DistributionEstimate
from deniable_aggregator.answering.estimation.estimator import estimate
from deniable_aggregator.answering.estimation.inputs import CollectedTallies, EstimateRequest
from deniable_aggregator.answering.estimation.shares import ShareEstimate
from deniable_aggregator.answering.parts import (
    BY_ITSELF,
    Part,
    Split,
    axis_of,
    counts_of,
    level_of_several,
    numbers_of_part,
    own_lists,
    parts_of,
    require_parts,
    segments_of,
    select_parts,
    single_level,
    split_by_segment,
    split_of,
)
from deniable_aggregator.answering.series import MAX_ROWS, series
from deniable_aggregator.counting.statistics.intervals import DEFAULT_LEVEL
from deniable_aggregator.telling.clear_changes import numbers_at_level
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_aggregator.answering.change import Change
    from deniable_aggregator.answering.estimation.inputs import ChangeRequest, MetricReports
    from deniable_aggregator.answering.estimation.means import MeanEstimate
    from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
    from deniable_aggregator.answering.reader import MetricReader
    from deniable_aggregator.answering.series import Series
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.questions import EstimateQuery, SeriesQuery, ValueLists
    from deniable_aggregator.answers.words import Axis
    from deniable_shared.spec import Spec

    Estimate = ShareEstimate | SegmentEstimate | MeanEstimate | DistributionEstimate


def estimate_parts(
    reader: MetricReader,
    reported: MetricReports,
    days: DayRange,
    request: EstimateRequest,
    whole: Estimate,
    least: int,
) -> Split:
    """Estimates each part from its own reports, about its own values.

    Args:
        reader: reads what was counted.
        reported: the reports of the whole answer.
        days: that it is about.
        request: what is asked. Values that no version of a part lists are left out of it.
        whole: the estimate of all reports.
        least: how many reports a part needs.

    Raises:
        ParameterError: if it cannot be split.
    """
    query = request.query
    axis = axis_of(query)
    interval = query.interval or ("picked" if query.top or query.detected else "one")
    values = tuple(each.value or "" for each in whole.numbers() if each.measure == "share")
    asked = whole.asked if isinstance(whole, ShareEstimate) else None
    lists, options = request.lists, replace(query, split=None)
    if query.top or query.detected:
        lists = replace(_without_sums(lists), candidates=values)
        options = replace(options, top=None, detected=False)
        if axis != "segment":
            options = replace(options, postprocess="none")
    if asked and interval != "one":
        options = replace(options, interval="one")
    level = single_level(interval, request.level, asked, len(values))

    def numbers(tallies: CollectedTallies, options: EstimateQuery, at: float) -> list[Measured]:
        own = dataclasses.replace(request, query=options, lists=lists, level=at)
        own = dataclasses.replace(
            own, lists=own_lists(tallies.specs, lists), versions=tuple(tallies.specs)
        )
        result = estimate(tallies, own)
        return result.placed() if isinstance(result, DistributionEstimate) else result.numbers()

    if axis == "segment":
        tallies = reader.collect(reported, days)
        segments = segments_of(tallies.specs)
        at = level_of_several(level, interval, len(segments))
        return split_by_segment(
            segments,
            lambda segment: [numbers(tallies, _within(options, segment), at)],
            [tallies.reports],
            least,
        )
    parts = parts_of(reported, axis, [counts_of(reported, days, axis)], least)
    require_parts((part.name for part in parts), axis, least)
    at = level_of_several(level, interval, len(parts))
    found = []
    for part in parts:
        own = select_parts(reported, axis, part.ids)
        found.append((part, [own], numbers(reader.collect(own, days), options, at)))
    return split_of(
        (part, sides, numbers_of_part(part, own, [sides[0].reports])) for part, sides, own in found
    )


def series_parts(
    reader: MetricReader,
    reported: MetricReports,
    periods: Sequence[DayRange],
    query: SeriesQuery,
    lists: ValueLists,
    whole: Series,
    newest_first: Sequence[Spec],
    least: int,
) -> Split:
    """Follows each part over time; in a period in which it has few reports it is among others.

    Args:
        reader: reads what was counted.
        reported: the reports of the whole answer.
        periods: of it.
        query: what is asked.
        lists: the values that it is about.
        whole: the series of all reports.
        newest_first: all versions.
        least: how many reports a part needs in a period.

    Raises:
        ParameterError: if it cannot be split.
    """
    axis = axis_of(query)
    if query.alarm:
        raise ParameterError("split", "left out with an alarm", axis)
    options = replace(query, split=None, top=None, interval="one")
    level = DEFAULT_LEVEL
    if query.top is not None:
        values = dict.fromkeys(each.value or "" for each in whole.numbers())
        lists = replace(_without_sums(lists), candidates=tuple(values))
        level = single_level(whole.interval, level, whole.asked, len(values))
    if whole.interval == "all":
        options = replace(options, interval="all")

    def followed(
        collect: Callable[[DayRange], CollectedTallies],
        specs: Sequence[Spec],
        options: SeriesQuery,
        at: float,
    ) -> list[list[Measured]]:
        found = series(
            collect, specs, periods, options, own_lists(specs, lists),
            newest_first=newest_first, level=at,
        )  # fmt: skip
        numbers: list[list[Measured]] = [[] for _ in periods]
        for number in found.numbers():
            numbers[number.period].append(number)
        return numbers

    if axis == "segment":
        segments = segments_of(reported.specs)
        at = level_of_several(level, whole.interval, len(segments))
        collect = partial(reader.collect, reported)
        totals = [0 if each.result is None else each.result.reports for each in whole.points]
        return split_by_segment(
            segments,
            lambda name: followed(collect, reported.specs, _within(options, name), at),
            totals,
            least,
        )
    counts = [counts_of(reported, days, axis) for days in periods]
    in_periods = [
        {part.name: part for part in parts_of(reported, axis, [of_days], least)}
        for of_days in counts
    ]
    names = dict.fromkeys(name for each in in_periods for name in each if name != OTHERS)
    if any(OTHERS in each for each in in_periods):
        names[OTHERS] = None
    require_parts(names, axis, least)
    _refuse_rows(len(names) * len(whole.numbers()), axis)
    at = level_of_several(level, whole.interval, len(names))
    found = []
    for name in names:
        chosen = {days: each.get(name) for days, each in zip(periods, in_periods, strict=True)}
        part = next(each for each in chosen.values() if each is not None)
        every = frozenset[str]().union(*(each.ids for each in chosen.values() if each is not None))
        own = select_parts(reported, axis, every)
        numbers = followed(
            partial(_of_period, reader, reported, axis, chosen, every), own.specs, options, at
        )
        reports = [
            0 if of_part is None else sum(of_days.get(each, 0) for each in of_part.ids)
            for of_part, of_days in zip(chosen.values(), counts, strict=True)
        ]
        placed = [number for of_period in numbers for number in of_period]
        found.append((part, [own], numbers_of_part(part, placed, reports)))
    return split_of(found)


def _of_period(
    reader: MetricReader,
    reported: MetricReports,
    axis: Axis,
    chosen: Mapping[DayRange, Part | None],
    every: frozenset[str],
    days: DayRange,
) -> CollectedTallies:
    """What was counted of a part in one period, or in all days."""
    part = chosen.get(days)
    if part is None and days in chosen:
        return CollectedTallies([], {})
    return reader.collect(select_parts(reported, axis, every if part is None else part.ids), days)


def change_parts(
    reported: Sequence[MetricReports],
    days: Sequence[DayRange],
    request: ChangeRequest,
    whole: Change,
    compare: Callable[[Sequence[MetricReports], ChangeRequest], Change],
    least: int,
) -> Split:
    """Compares each part that both periods have with itself.

    Args:
        reported: the reports of both periods that are compared.
        days: of each.
        request: what is asked.
        whole: the change of all reports.
        compare: compares two sides.
        least: how many reports a part needs in each period.

    Raises:
        ParameterError: if it cannot be split.
    """
    query: Any = request.query
    axis = axis_of(query)
    shown = [each for each in whole.numbers() if each.measure in BY_ITSELF]
    lists, level = request.lists, request.level
    if query.top is not None:
        values = tuple(each.value or "" for each in shown if each.measure == "difference in share")
        lists = replace(_without_sums(lists), candidates=values)
        level = single_level(request.interval, level, len(whole.comparison.items), len(values))
    interval = "all" if request.interval == "all" else "one"
    options = replace(query, split=None, why=None, top=None, interval=interval)
    if whole.comparison.kind == "mean":
        options = replace(options, interval=query.interval)

    def numbers(sides: Sequence[MetricReports], options: Any, at: float) -> list[Measured]:
        specs = list(dict.fromkeys(spec for side in sides for spec in side.specs))
        own = dataclasses.replace(request, query=options, lists=own_lists(specs, lists), level=at)
        return compare(sides, own).numbers()

    if axis == "segment":
        segments = segments_of(spec for side in reported for spec in side.specs)
        at = level_of_several(level, request.interval, len(segments))
        totals = [side.reports for side in reported]
        split = split_by_segment(
            segments,
            lambda name: [numbers(reported, _within(options, name), at)],
            totals,
            least,
        )
    else:
        counts = [counts_of(*side, axis=axis) for side in zip(reported, days, strict=True)]
        parts = parts_of(reported[0], axis, counts, least)
        require_parts((part.name for part in parts), axis, least)
        at = level_of_several(level, request.interval, len(parts))
        found = []
        for part in parts:
            sides = [select_parts(side, axis, part.ids) for side in reported]
            if all(side.reported_days for side in sides):
                own = numbers(sides, options, at)
                reports = [side.reports for side in sides]
                found.append((part, sides, numbers_of_part(part, own, reports)))
        split = split_of(found)
    by_part: dict[str, list[Measured]] = {}
    for number in split.numbers:
        by_part.setdefault(number.within or "", []).append(number)
    levelled = numbers_at_level(by_part)
    return Split(split.parts, [number for each in levelled.values() for number in each])


def _refuse_rows(rows: int, axis: Axis) -> None:
    if rows > MAX_ROWS:
        constraint = f"left out, or of so few values that there are at most {MAX_ROWS:,} numbers"
        raise ParameterError("split", constraint, axis)


def _within(options: Any, segment: str) -> Any:
    return replace(options, segment=segment)


def _without_sums(lists: ValueLists) -> ValueLists:
    return replace(lists, combined=UNSET, range=UNSET)
