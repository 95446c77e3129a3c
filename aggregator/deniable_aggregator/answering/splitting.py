"""Parts of the reports by themselves, beside all: by key, by version of the metric, by segment.

Parts with few reports are together, as others. Intervals cover as those of the whole answer do: one
value of one part at a time, or all values of all parts at once. Of differences, those of all parts
are one family of tests.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answering.estimation.decomposition import OTHERS, kept_parts
from deniable_aggregator.answering.estimation.distributions import DistributionEstimate
from deniable_aggregator.answering.estimation.domains import FLAG, default_items, pairs_of
from deniable_aggregator.answering.estimation.estimator import estimate
from deniable_aggregator.answering.estimation.inputs import (
    CollectedTallies,
    EstimateRequest,
    UnanswerableError,
)
from deniable_aggregator.answering.estimation.segments import declared_segments
from deniable_aggregator.answering.estimation.shares import ShareEstimate
from deniable_aggregator.answering.rolled_slices import DaysRolledUpError
from deniable_aggregator.answering.series import MAX_ROWS, series
from deniable_aggregator.answers.answer import PartOfReports
from deniable_aggregator.answers.dates import day_of, epoch_of
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.counting.statistics.intervals import DEFAULT_LEVEL, alpha_per_interval
from deniable_aggregator.telling.clear_changes import numbers_at_level
from deniable_aggregator.telling.wording import key_in_words
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_aggregator.answering.change import Change
    from deniable_aggregator.answering.estimation.inputs import ChangeRequest, MetricReports
    from deniable_aggregator.answering.estimation.means import MeanEstimate
    from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
    from deniable_aggregator.answering.reader import MetricReader
    from deniable_aggregator.answering.series import Series
    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.questions import EstimateQuery, SeriesQuery, ValueLists
    from deniable_aggregator.answers.words import Axis, IntervalKind
    from deniable_shared.spec import Spec

    Counts = Mapping[str, int]
    """How many reports each key or version has, by its id."""

    Estimate = ShareEstimate | SegmentEstimate | MeanEstimate | DistributionEstimate

MOST_PARTS: Final = 50
"""Of an answer; smaller ones are together, as others."""

_BY_ITSELF: Final = (
    "combined", "mean", "quantile", "share", "distance", "difference in share",
    "difference in combined", "difference in mean", "difference in quantile",
)  # fmt: skip
"""What is said of one part."""

PARTS: Final = (
    "each part is estimated from its own reports alone; parts with few reports, and those beyond "
    f"the {MOST_PARTS} largest, are together, as others. Intervals are those of the whole answer: "
    "they cover one value of one part at a time, or, if all are covered at once, those of all "
    "parts, too"
)
"""What the numbers of parts are."""


class Split(NamedTuple):
    """What is said of parts of the reports.

    Attributes:
        parts: in their order, the largest first.
        numbers: of each.
    """

    parts: list[PartOfReports]
    numbers: list[Measured]


class _Part(NamedTuple):
    """Some keys, or some versions.

    Attributes:
        name: in words.
        ids: of them.
        about: what its numbers say besides: the id of the key, or that of the version.
    """

    name: str
    ids: frozenset[str]
    about: Mapping[str, str | None]


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
    axis = _axis_of(query)
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
    level = _single_level(interval, request.level, asked, len(values))

    def numbers(tallies: CollectedTallies, options: EstimateQuery, at: float) -> list[Measured]:
        own = dataclasses.replace(request, query=options, lists=lists, level=at)
        own = dataclasses.replace(
            own, lists=_own_lists(tallies.specs, lists), versions=tuple(tallies.specs)
        )
        result = estimate(tallies, own)
        return result.placed() if isinstance(result, DistributionEstimate) else result.numbers()

    if axis == "segment":
        tallies = reader.collect(reported, days)
        segments = _segments_of(tallies.specs)
        at = _of_several(level, interval, len(segments))
        return _of_segments(
            segments,
            lambda segment: [numbers(tallies, _within(options, segment), at)],
            [tallies.reports],
            least,
        )
    parts = _parts(reported, axis, [_counts(reported, days, axis)], least)
    _require_parts((part.name for part in parts), axis, least)
    at = _of_several(level, interval, len(parts))
    found = []
    for part in parts:
        own = _select(reported, axis, part.ids)
        found.append((part, [own], numbers(reader.collect(own, days), options, at)))
    return _split(
        (part, sides, _of_part(part, own, [sides[0].reports])) for part, sides, own in found
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
    axis = _axis_of(query)
    if query.alarm:
        raise ParameterError("split", "left out with an alarm", axis)
    options = replace(query, split=None, top=None, interval="one")
    level = DEFAULT_LEVEL
    if query.top is not None:
        values = dict.fromkeys(each.value or "" for each in whole.numbers())
        lists = replace(_without_sums(lists), candidates=tuple(values))
        level = _single_level(whole.interval, level, whole.asked, len(values))
    if whole.interval == "all":
        options = replace(options, interval="all")

    def followed(
        collect: Callable[[DayRange], CollectedTallies],
        specs: Sequence[Spec],
        options: SeriesQuery,
        at: float,
    ) -> list[list[Measured]]:
        found = series(
            collect, specs, periods, options, _own_lists(specs, lists),
            newest_first=newest_first, level=at,
        )  # fmt: skip
        numbers: list[list[Measured]] = [[] for _ in periods]
        for number in found.numbers():
            numbers[number.period].append(number)
        return numbers

    if axis == "segment":
        segments = _segments_of(reported.specs)
        at = _of_several(level, whole.interval, len(segments))
        collect = partial(reader.collect, reported)
        totals = [0 if each.result is None else each.result.reports for each in whole.points]
        return _of_segments(
            segments,
            lambda name: followed(collect, reported.specs, _within(options, name), at),
            totals,
            least,
        )
    counts = [_counts(reported, days, axis) for days in periods]
    in_periods = [
        {part.name: part for part in _parts(reported, axis, [of_days], least)} for of_days in counts
    ]
    names = dict.fromkeys(name for each in in_periods for name in each if name != OTHERS)
    if any(OTHERS in each for each in in_periods):
        names[OTHERS] = None
    _require_parts(names, axis, least)
    _refuse_rows(len(names) * len(whole.numbers()), axis)
    at = _of_several(level, whole.interval, len(names))
    found = []
    for name in names:
        chosen = {days: each.get(name) for days, each in zip(periods, in_periods, strict=True)}
        part = next(each for each in chosen.values() if each is not None)
        every = frozenset[str]().union(*(each.ids for each in chosen.values() if each is not None))
        own = _select(reported, axis, every)
        numbers = followed(
            partial(_of_period, reader, reported, axis, chosen, every), own.specs, options, at
        )
        reports = [
            0 if of_part is None else sum(of_days.get(each, 0) for each in of_part.ids)
            for of_part, of_days in zip(chosen.values(), counts, strict=True)
        ]
        placed = [number for of_period in numbers for number in of_period]
        found.append((part, [own], _of_part(part, placed, reports)))
    return _split(found)


def _of_period(
    reader: MetricReader,
    reported: MetricReports,
    axis: Axis,
    chosen: Mapping[DayRange, _Part | None],
    every: frozenset[str],
    days: DayRange,
) -> CollectedTallies:
    """What was counted of a part in one period, or in all days."""
    part = chosen.get(days)
    if part is None and days in chosen:
        return CollectedTallies([], {})
    return reader.collect(_select(reported, axis, every if part is None else part.ids), days)


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
    axis = _axis_of(query)
    shown = [each for each in whole.numbers() if each.measure in _BY_ITSELF]
    lists, level = request.lists, request.level
    if query.top is not None:
        values = tuple(each.value or "" for each in shown if each.measure == "difference in share")
        lists = replace(_without_sums(lists), candidates=values)
        level = _single_level(request.interval, level, len(whole.comparison.items), len(values))
    interval = "all" if request.interval == "all" else "one"
    options = replace(query, split=None, why=None, top=None, interval=interval)
    if whole.comparison.kind == "mean":
        options = replace(options, interval=query.interval)

    def numbers(sides: Sequence[MetricReports], options: Any, at: float) -> list[Measured]:
        specs = list(dict.fromkeys(spec for side in sides for spec in side.specs))
        own = dataclasses.replace(request, query=options, lists=_own_lists(specs, lists), level=at)
        return compare(sides, own).numbers()

    if axis == "segment":
        segments = _segments_of(spec for side in reported for spec in side.specs)
        at = _of_several(level, request.interval, len(segments))
        totals = [side.reports for side in reported]
        split = _of_segments(
            segments,
            lambda name: [numbers(reported, _within(options, name), at)],
            totals,
            least,
        )
    else:
        counts = [_counts(*side, axis=axis) for side in zip(reported, days, strict=True)]
        parts = _parts(reported[0], axis, counts, least)
        _require_parts((part.name for part in parts), axis, least)
        at = _of_several(level, request.interval, len(parts))
        found = []
        for part in parts:
            sides = [_select(side, axis, part.ids) for side in reported]
            if all(side.reported_days for side in sides):
                own = numbers(sides, options, at)
                reports = [side.reports for side in sides]
                found.append((part, sides, _of_part(part, own, reports)))
        split = _split(found)
    by_part: dict[str, list[Measured]] = {}
    for number in split.numbers:
        by_part.setdefault(number.within or "", []).append(number)
    levelled = numbers_at_level(by_part)
    return Split(split.parts, [number for each in levelled.values() for number in each])


def _axis_of(query: Any) -> Axis:
    """By what a question splits.

    Raises:
        ParameterError: if it is about a segment.
    """
    axis: Axis = query.split
    if query.segment is not None:
        raise ParameterError("split", "left out within a segment", axis)
    return axis


def _refuse_rows(rows: int, axis: Axis) -> None:
    if rows > MAX_ROWS:
        constraint = f"left out, or of so few values that there are at most {MAX_ROWS:,} numbers"
        raise ParameterError("split", constraint, axis)


def _single_level(interval: IntervalKind, level: float, asked: int | None, shown: int) -> float:
    """The level of a single interval of the whole answer."""
    if not asked or not shown:
        return level
    return 1 - alpha_per_interval(interval, level=level, asked=asked, shown=shown)


def _of_several(level: float, interval: IntervalKind, parts: int) -> float:
    """The level of a single interval of one of several parts."""
    return 1 - (1 - level) / max(parts, 1) if interval == "all" else level


def _within(options: Any, segment: str) -> Any:
    return replace(options, segment=segment)


def _without_sums(lists: ValueLists) -> ValueLists:
    return replace(lists, combined=UNSET, range=UNSET)


def _own_lists(specs: Sequence[Spec], lists: ValueLists) -> ValueLists:
    """The values that are asked for, without those that no version of a part lists."""
    values = default_items(specs)
    if values is None:
        return lists
    own = {*values, *pairs_of(specs)}
    if any(spec.value_type == "boolean" for spec in specs):
        own |= set(FLAG)
    listed = tuple(value for value in lists.candidates or () if value in own)
    together = tuple(value for value in lists.combined or () if value in own)
    whole = together == tuple(lists.combined or ())
    return replace(
        lists,
        candidates=listed or (lists.candidates and tuple(values)),
        combined=lists.combined if whole else (),
        range=lists.range if set(lists.range or ()) <= own else (),
    )


def _counts(reported: MetricReports, days: DayRange, axis: Axis) -> Counts:
    """How many reports each key or version has in some days.

    Raises:
        UnanswerableError: if that is not kept apart.
    """
    since, until = epoch_of(days.since), epoch_of(days.until)
    if axis == "version":
        counts = {
            digest.hex(): sum(n for day, n in by_day.items() if since <= day <= until)
            for digest, by_day in reported.by_day.items()
        }
        return {digest: reports for digest, reports in counts.items() if reports}
    tables = {digest: table.between(since, until) for digest, table in reported.tables.items()}
    try:
        return dataclasses.replace(reported, tables=tables).reports_by_key
    except DaysRolledUpError as error:
        last = max(until for _, until in error.periods)
        reason = f"keys are not kept apart up to {last}, so that nothing can be split by them"
        raise UnanswerableError("split", axis, reason) from None


def _select(reported: MetricReports, axis: Axis, ids: frozenset[str]) -> MetricReports:
    if axis == "version":
        return reported.only({bytes.fromhex(each) for each in ids})
    return reported.of_keys(ids)


def _parts(reported: MetricReports, axis: Axis, sides: Sequence[Counts], least: int) -> list[_Part]:
    """The parts that are shown, the largest first, and then all others together."""
    totals = {name: sum(side.get(name, 0) for side in sides) for side in sides for name in side}
    shown = kept_parts(sides, least, everywhere=True, most=MOST_PARTS)[0]
    kept = sorted(shown, key=lambda name: (-totals[name], name))
    parts = [_named(reported, axis, name) for name in kept]
    others = frozenset(totals) - shown
    return [*parts, *([_Part(OTHERS, others, {})] if others else ())]


def _require_parts(names: Iterable[str], axis: Axis, least: int) -> None:
    """Refuses a split of which only others are left.

    Raises:
        ParameterError: if there is nothing else.
    """
    if set(names) <= {OTHERS}:
        constraint = f"left out: no {axis} has {least:,} reports in these days (part_reports)"
        raise ParameterError("split", constraint, axis)


def _named(reported: MetricReports, axis: Axis, name: str) -> _Part:
    if axis == "version":
        return _Part(f"version {name[:VERSION_LETTERS]}", frozenset({name}), {"version": name})
    label = reported.keys[name].label if name in reported.keys else ""
    about = {"key": name, "label": label or None}
    return _Part(f"key {key_in_words(name, label)}", frozenset({name}), about)


def _of_part(part: _Part, numbers: Iterable[Measured], reports: Sequence[int]) -> list[Measured]:
    """The numbers of a part, with what they are of; reports by period."""
    return [
        replace(
            number,
            within=part.name,
            reports=reports[number.period] if number.reports is None else number.reports,
            **part.about,
        )
        for number in numbers
        if number.measure in _BY_ITSELF
    ]


def _split(
    parts: Iterable[tuple[_Part, Sequence[MetricReports], Sequence[Measured]]],
) -> Split:
    found = Split([], [])
    for part, sides, numbers in parts:
        days = [day for side in sides for day in side.reported_days]
        found.parts.append(
            PartOfReports(
                name=part.name,
                reports=sum(side.reports for side in sides),
                since=day_of(min(days)),
                until=day_of(max(days)),
            )
        )
        found.numbers.extend(numbers)
    return found


def _segments_of(specs: Iterable[Spec]) -> list[str]:
    """The segments of a metric.

    Raises:
        ParameterError: if it has none.
    """
    specs = list(specs)
    segments = list(dict.fromkeys(value for _, value in declared_segments(specs)))
    if not segments:
        constraint = f"key or version, as {specs[0].name} has no segments"
        raise ParameterError("split", constraint, "segment")
    return segments


def _of_segments(
    segments: Sequence[str],
    numbers: Callable[[str], Sequence[Sequence[Measured]]],
    reports: Sequence[int],
    least: int,
) -> Split:
    """The numbers of each segment, where about so many reports are of it as a part needs.

    Args:
        segments: their names.
        numbers: of a segment, by period; of a change, of both together.
        reports: how many all segments have, by period; of a change in either.
        least: how many a part needs.
    """
    found = Split([], [])
    for segment in segments:
        try:
            of_periods = numbers(segment)
        except UnanswerableError:  # it has too few devices to look into
            continue
        own: list[Measured] = []
        total, name = 0.0, ""
        for place, of_period in enumerate(of_periods):
            sizes = [each for each in of_period if each.measure == "segment size"]
            about = [
                (size.estimate or 0.0) * reports[at if len(sizes) > 1 else place]
                for at, size in enumerate(sizes)
            ]
            if not about or min(about) < least:
                continue
            total += sum(about)
            name = sizes[0].segment or segment
            own += [
                replace(each, within=name, reports=each.reports or round(about[-1]))
                for each in of_period
                if each.measure in _BY_ITSELF
            ]
        if own:
            found.parts.append(PartOfReports(name=name, reports=round(total)))
            found.numbers.extend(own)
    if not found.parts:
        constraint = f"left out: no segment has about {least:,} reports (part_reports)"
        raise ParameterError("split", constraint, "segment")
    return found


def say_parts(head: Head, split: Split) -> None:
    """Adds what the reports were split into; nothing where they were not."""
    if split.parts:
        head.parts = split.parts
        head.meanings["parts"] = PARTS
