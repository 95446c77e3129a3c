"""What the overview is made from: the metrics, and weeks of the table of estimates."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import versions_by_name, whole_metric
from deniable_aggregator.answers.dates import DayRange, calendar_period
from deniable_aggregator.answers.limits import Limits, widest
from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.answers.row import EstimateTableQuery, Row
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import (
    ANNOTATIONS,
    DISCOVERIES,
    DISCOVERY,
    ESTIMATE,
    ESTIMATES,
    METRICS,
    SAVED_LIST,
    SAVED_LISTS,
    Source,
)
from deniable_aggregator.telling.clear_changes import numbers_at_level
from deniable_aggregator.telling.glances import Glance, glance
from deniable_aggregator.telling.precision import in_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.answers.administration import Annotation, Metric
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured

WEEKS: Final = 12
"""So many are drawn."""

NUMBERS: Final = ("share", "mean", "quantile", "reports", "lift")
CHANGES: Final = (
    "difference in share",
    "difference in mean",
    "difference in quantile",
    "distance",
)
MOST_LISTED: Final = 1_000
"""Values of a list, as on the page of a metric."""

MOST_SHARES: Final = 3
"""Of a metric without numbers in the newest week, so many values are read."""


@dataclass(frozen=True, kw_only=True)
class MetricWeek:
    """One metric in its newest week.

    Attributes:
        metric: its newest version, with the days and reports of all.
        rows: the numbers of that week, of all devices together; empty if it is in no week.
        glance: the first of these numbers, or of what was found or listed, in words.
        changes: what has changed since the week before, clear at the level of all metrics; empty
            if that is not known, or reports of either week are suspicious.
        trend: the same number, week by week.
        limits: the range of a metric of numbers; of several versions, the widest.
        found: what was found last of strings that nobody listed.
        listed: of a metric of strings, the shares of the values of the saved list of its name in
            the newest week; None without such a list.
    """

    metric: Metric
    rows: Sequence[Row] = ()
    glance: Glance | None = None
    changes: Sequence[Row] = ()
    trend: Sequence[Row] = ()
    limits: Limits | None = None
    found: Answer | None = None
    listed: Answer | None = None

    @property
    def marks(self) -> frozenset[str]:
        """What is special about its week."""
        return frozenset(mark for row in self.rows for mark in (row.marks or "").split())

    @property
    def suspicious(self) -> bool:
        """Whether some of the week's reports do not look like those of devices."""
        return any(row.suspicious for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class Weeks:
    """What the overview is made from.

    Attributes:
        week: the newest that is over.
        drawn: that one and those before, in their order, from the first with numbers on.
        metrics: by name.
        happened: what administrators have said of days since that week began, the earliest first.
    """

    week: DayRange
    drawn: Sequence[DayRange]
    metrics: Sequence[MetricWeek] = field(default_factory=list)
    happened: Sequence[Annotation] = ()


def read_weeks(source: Source, today: date) -> Weeks:
    """Asks for what the overview shows: a few questions, and one for each metric of strings.

    Args:
        source: is asked.
        today: the server's day.
    """
    week = calendar_period("week", today - timedelta(7))
    drawn = [
        DayRange(week.since - timedelta(7 * ago), week.until - timedelta(7 * ago))
        for ago in reversed(range(WEEKS))
    ]
    versions = versions_by_name(source.ask(METRICS).metrics)
    metrics = [whole_metric(versions[name]) for name in sorted(versions)]
    newest = _by_metric(_ask(source, week.since, week, (*NUMBERS, *CHANGES)))
    late = [each.name for each in metrics if each.reports and each.name not in newest]
    if late:
        older = _by_metric(
            _ask(source, drawn[0].since, week, NUMBERS, metric=tuple(late), top=MOST_SHARES)
        )
        newest |= {name: _of_last_week(rows) for name, rows in older.items()}
    limits = {
        name: widest([each.range for each in some if each.range]) for name, some in versions.items()
    }
    newest = {name: in_columns(rows, limits.get(name)) for name, rows in newest.items()}
    changes = clear_changes(newest)
    glances = {
        each.name: glance(
            _numbers(newest.get(each.name, ())),
            records=each.type == "attributes",
            limits=limits[each.name],
        )
        for each in metrics
    }
    lists = _saved_lists(source, metrics)
    first_numbers = {name: seen.number for name, seen in glances.items() if seen}
    trends = _trends(source, drawn, week, first_numbers)
    first = min((row.since for rows in trends.values() for row in rows), default=week.since)
    return Weeks(
        week=week,
        drawn=[each for each in drawn if each.since >= first],
        metrics=[
            MetricWeek(
                metric=each,
                rows=_numbers(newest.get(each.name, ())),
                glance=glances[each.name],
                changes=changes.get(each.name, ()),
                trend=trends.get(each.name, ()),
                limits=limits[each.name],
                found=_found(source, each) if each.discovers and each.reports else None,
                listed=_listed(source, each.name, week) if each.name in lists else None,
            )
            for each in metrics
        ],
        happened=[
            each
            for each in reversed(source.ask(ANNOTATIONS).annotations)
            if week.since <= each.day <= today
        ],
    )


def clear_changes(
    newest: Mapping[str, Sequence[Row]],
) -> dict[str, list[Row]]:
    """What has changed in metrics that can be relied on, clear at the level of all of them.

    Args:
        newest: the rows of the newest week, by metric.
    """
    compared = {
        name: [row for row in rows if row.measure in CHANGES] for name, rows in newest.items()
    }
    return numbers_at_level(
        {
            name: rows
            for name, rows in compared.items()
            if rows and not any(row.suspicious for row in rows)
        }
    )


def _ask(
    source: Source,
    since: date,
    week: DayRange,
    measures: Sequence[str],
    *,
    metric: tuple[str, ...] = (),
    value: tuple[str, ...] = (),
    top: int | None = None,
) -> list[Row]:
    query = EstimateTableQuery(
        period="week",
        since=since,
        until=week.until,
        measure=tuple(measures),
        metric=metric,
        value=value,
        top=top,
    )
    return source.ask(ESTIMATES, query).rows


def _by_metric(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.segment is None:
            found[row.metric].append(row)
    return dict(found)


def _numbers(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.measure in NUMBERS]


def _of_last_week(rows: Sequence[Row]) -> list[Row]:
    last = max(row.since for row in rows)
    return [row for row in rows if row.since == last]


def _trends(
    source: Source, drawn: Sequence[DayRange], week: DayRange, numbers: Mapping[str, Measured]
) -> dict[str, list[Row]]:
    """The same numbers in all weeks that are drawn."""
    if not numbers:
        return {}
    values = tuple(sorted({each.value for each in numbers.values() if each.value is not None}))
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in _ask(source, drawn[0].since, week, NUMBERS[:3], value=values):
        number = numbers.get(row.metric)
        if number is not None and row.segment is None and _key(row) == _key(number):
            found[row.metric].append(row)
    return dict(found)


def _key(number: Measured) -> tuple[object, ...]:
    return number.measure, number.value, number.quantile


def _saved_lists(source: Source, metrics: Iterable[Metric]) -> set[str]:
    """The metrics of strings that a list is named after."""
    names = {each.name for each in metrics if each.candidates and each.reports}
    return names & {each.name for each in source.ask(SAVED_LISTS).lists} if names else names


def _listed(source: Source, name: str, week: DayRange) -> Answer | None:
    """The shares of the values of a list, in the words of the metric's page."""
    try:
        values = tuple(source.ask(SAVED_LIST.of(name)).values)
        query = EstimateQuery(
            since=week.since,
            until=week.until,
            top=MOST_LISTED if len(values) > MOST_LISTED else None,
        )
        return source.ask(ESTIMATE.of(name), query, ValueLists(candidates=values))
    except AskingError:  # no reports in these days, or the list was deleted meanwhile
        return None


def _found(source: Source, metric: Metric) -> Answer | None:
    """What was found last, if anybody has asked."""
    try:
        done = [
            each
            for each in source.ask(DISCOVERIES.of(metric.name)).discoveries
            if each.state == "done"
        ]
        return source.ask(DISCOVERY.of(metric.name, done[0].id)).result if done else None
    except AskingError:  # it was removed meanwhile, or nothing can be asked about it any more
        return None
