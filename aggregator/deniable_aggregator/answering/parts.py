"""Parts of the reports: which there are, which of them are large enough, and what each is called.

Parts with few reports are together, as others.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from deniable_aggregator.answering.estimation.decomposition import OTHERS, kept_parts
from deniable_aggregator.answering.estimation.domains import FLAG, default_items, pairs_of
from deniable_aggregator.answering.estimation.inputs import UnanswerableError
from deniable_aggregator.answering.estimation.segments import declared_segments
from deniable_aggregator.answering.rolled_slices import DaysRolledUpError
from deniable_aggregator.answers.answer import PartOfReports
from deniable_aggregator.answers.dates import day_of, epoch_of
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.counting.statistics.intervals import alpha_per_interval
from deniable_aggregator.telling.wording import key_in_words
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.dates import DayRange
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.questions import ValueLists
    from deniable_aggregator.answers.words import Axis, IntervalKind
    from deniable_shared.spec import Spec

    Counts = Mapping[str, int]
    """How many reports each key or version has, by its id."""

MOST_PARTS: Final = 50
"""Of an answer; smaller ones are together, as others."""

BY_ITSELF: Final = (
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


class Part(NamedTuple):
    """Some keys, or some versions.

    Attributes:
        name: in words.
        ids: of them.
        about: what its numbers say besides: the id of the key, or that of the version.
    """

    name: str
    ids: frozenset[str]
    about: Mapping[str, str | None]


def axis_of(query: Any) -> Axis:
    """By what a question splits.

    Raises:
        ParameterError: if it is about a segment.
    """
    axis: Axis = query.split
    if query.segment is not None:
        raise ParameterError("split", "left out within a segment", axis)
    return axis


def single_level(interval: IntervalKind, level: float, asked: int | None, shown: int) -> float:
    """The level of a single interval of the whole answer."""
    if not asked or not shown:
        return level
    return 1 - alpha_per_interval(interval, level=level, asked=asked, shown=shown)


def level_of_several(level: float, interval: IntervalKind, parts: int) -> float:
    """The level of a single interval of one of several parts."""
    return 1 - (1 - level) / max(parts, 1) if interval == "all" else level


def own_lists(specs: Sequence[Spec], lists: ValueLists) -> ValueLists:
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


def counts_of(reported: MetricReports, days: DayRange, axis: Axis) -> Counts:
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


def select_parts(reported: MetricReports, axis: Axis, ids: frozenset[str]) -> MetricReports:
    """The reports of some keys or versions, by their ids."""
    if axis == "version":
        return reported.only({bytes.fromhex(each) for each in ids})
    return reported.of_keys(ids)


def parts_of(
    reported: MetricReports, axis: Axis, sides: Sequence[Counts], least: int
) -> list[Part]:
    """The parts that are shown, the largest first, and then all others together."""
    totals = {name: sum(side.get(name, 0) for side in sides) for side in sides for name in side}
    shown = kept_parts(sides, least, everywhere=True, most=MOST_PARTS)[0]
    kept = sorted(shown, key=lambda name: (-totals[name], name))
    parts = [_named(reported, axis, name) for name in kept]
    others = frozenset(totals) - shown
    return [*parts, *([Part(OTHERS, others, {})] if others else ())]


def require_parts(names: Iterable[str], axis: Axis, least: int) -> None:
    """Refuses a split of which only others are left.

    Raises:
        ParameterError: if there is nothing else.
    """
    if set(names) <= {OTHERS}:
        constraint = f"left out: no {axis} has {least:,} reports in these days (part_reports)"
        raise ParameterError("split", constraint, axis)


def _named(reported: MetricReports, axis: Axis, name: str) -> Part:
    if axis == "version":
        return Part(f"version {name[:VERSION_LETTERS]}", frozenset({name}), {"version": name})
    label = reported.keys[name].label if name in reported.keys else ""
    about = {"key": name, "label": label or None}
    return Part(f"key {key_in_words(name, label)}", frozenset({name}), about)


def numbers_of_part(
    part: Part, numbers: Iterable[Measured], reports: Sequence[int]
) -> list[Measured]:
    """The numbers of a part, with what they are of; reports by period."""
    return [
        replace(
            number,
            within=part.name,
            reports=reports[number.period] if number.reports is None else number.reports,
            **part.about,
        )
        for number in numbers
        if number.measure in BY_ITSELF
    ]


def split_of(
    parts: Iterable[tuple[Part, Sequence[MetricReports], Sequence[Measured]]],
) -> Split:
    """The numbers of parts, with how many reports each has and from when to when.

    Args:
        parts: each with the reports that its numbers are of, at least a day's, and its numbers.
    """
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


def segments_of(specs: Iterable[Spec]) -> list[str]:
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


def split_by_segment(
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
                if each.measure in BY_ITSELF
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
