"""The pages about health: of all metrics, and of one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request

from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.answers.row import EstimateTableQuery
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.dates import parse_day, parse_period
from deniable_aggregator.asking.questions import ESTIMATES, HEALTH, METRIC, METRICS, Source
from deniable_aggregator.doors.pages.health_grid import (
    CELL_WORDS,
    CellKind,
    MetricDays,
    days_of,
    metric_days,
    not_in_table,
)
from deniable_aggregator.doors.pages.health_of_metric import (
    MetricLook,
    metric_health_view,
    metric_look,
)
from deniable_aggregator.doors.pages.parts import failed, no_metrics
from deniable_aggregator.doors.pages.rendering import address, page
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.telling.document import Badge, Link
from deniable_aggregator.telling.wording import counted, days_between, listed
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from deniable_aggregator.answers.answer import Answer


MOST_NAMED: Final = 3
"""Of metrics in the sentence at the top."""

OLD_DAYS: Final = 7
OLDER_DAYS: Final = 15
"""Days of so long ago are not shown in narrow windows."""

_BADGES: Final[dict[str, tuple[str, str]]] = {
    "suspicious": ("suspicious", "a check fails"),
    "uneven": ("uneven", "keys differ"),
    "surge": ("surge", "unusual volume"),
    "stopped": ("stopped", "stopped"),
    "ok": ("ok", "no check fails"),
    "unknown": ("unknown", "not checked"),
}


@dataclass(frozen=True, slots=True)
class GridCell:
    """A metric's day.

    Attributes:
        kind: what is known of it, as of `grid.CellKind`.
        words: the same in words.
        address: where more is said; empty if there is no more.
    """

    kind: str
    words: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GridLine:
    """A metric's row.

    Attributes:
        title: what it is for, or its name.
        name: what it is called in registries, if that is not the title.
        numbers: the address of its numbers of these days.
        badge: what is worst of these days.
        look: the address of a closer look at its reports.
        aside: what else there is to know; may be empty.
        cells: one per day.
    """

    title: str
    name: str
    numbers: str
    badge: Badge
    look: str
    aside: str
    cells: Sequence[GridCell]


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A day.

    Attributes:
        day: the day.
        begins: whether a week begins with it, so that its whole date is shown.
        age: "old" or "older" of days that narrow windows do not show.
    """

    day: date
    begins: bool
    age: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthView:
    """The health of all metrics.

    Attributes:
        answer: whether these days can be trusted, in a few words.
        finding: why, in a sentence or two.
        worst: what is worst of all metrics.
        columns: a day each.
        lines: a row for each metric, the worst first.
        legend: the kinds of days that there are, with words.
        looks: closer looks at the worst metrics.
        left_out: how many reports are, as their keys are excluded, in a sentence; may be empty.
        others: other suspicious metrics, with the addresses of closer looks.
        checked_now: how many metrics were checked just now, as the table has nothing of them.
        not_checked: how many were not, as that takes long.
    """

    answer: str
    finding: str
    worst: str
    columns: Sequence[GridColumn]
    lines: Sequence[GridLine]
    legend: Sequence[GridCell]
    looks: Sequence[MetricLook]
    left_out: str
    others: Sequence[Link]
    checked_now: int
    not_checked: int


def health_view(
    metrics: Sequence[MetricDays],
    looks: Sequence[MetricLook],
    days: DayRange,
    *,
    not_looked_at: Sequence[str] = (),
    checked_now: int,
    not_checked: int,
) -> HealthView:
    """What the page shows.

    Args:
        metrics: a row for each, the worst first.
        looks: closer looks at some.
        days: as they were asked for.
        not_looked_at: suspicious metrics that were not looked at closer.
        checked_now: how many metrics were checked just now.
        not_checked: how many were not.
    """
    span = {"since": str(days.since), "until": str(days.until)}
    answer, finding = _answer(metrics, days)
    seen = {kind for each in metrics for kind in each.cells}
    return HealthView(
        answer=answer,
        finding=finding,
        worst=metrics[0].worst if metrics else "unknown",
        columns=list(_columns(days)),
        lines=[_line(each, days) for each in metrics],
        legend=[GridCell(kind, words, "") for kind, words in CELL_WORDS.items() if kind in seen],
        looks=looks,
        left_out=_left_out(metrics),
        others=[Link(name, address("health", metric=name, **span)) for name in not_looked_at],
        checked_now=checked_now,
        not_checked=not_checked,
    )


def _left_out(metrics: Sequence[MetricDays]) -> str:
    excluded = sum(each.excluded_reports for each in metrics)
    if not excluded:
        return ""
    return f"{counted(excluded, 'report')} of excluded keys, of any day, left out of all of this."


def _columns(days: DayRange) -> Iterator[GridColumn]:
    listed_days = days_of(days)
    for place, day in enumerate(listed_days):
        ago = len(listed_days) - 1 - place
        age = "older" if ago >= OLDER_DAYS else "old" if ago >= OLD_DAYS else ""
        yield GridColumn(day, day.weekday() == 0, age)


def _answer(metrics: Sequence[MetricDays], days: DayRange) -> tuple[str, str]:
    """Whether these days can be trusted, and why."""
    by_worst = {kind: [m for m in metrics if m.worst == kind] for kind in _BADGES}
    suspicious, uneven, surging, stopped = (
        by_worst[kind] for kind in ("suspicious", "uneven", "surge", "stopped")
    )
    checked = [each for each in metrics if {"ok", "suspicious", "uneven", "surge"} & {*each.cells}]
    parts = []
    if suspicious:
        parts.append(f"The reports of {_named(suspicious)} are not all those of honest devices.")
    if uneven:
        parts.append(f"A key answers differently from the others in {_named(uneven)}.")
    if surging:
        parts.append(f"Far more reports than usual came of {_named(surging)}.")
    if stopped:
        parts.append(f"No reports arrive any more of {_named(stopped)}.")
    unknown = [each for each in metrics if "unknown" in each.cells and each not in checked]
    fine = len(checked) - len(suspicious) - len(uneven) - len(surging)
    span = days_between(days.since, days.until)
    if not checked:
        return "There is nothing to check.", f"No reports of {span} were checked."
    if not suspicious and not uneven and not surging:
        parts.insert(0, f"No check fails in the reports of {counted(fine, 'metric')} from {span}.")
    elif fine:
        parts.append(f"No check fails in the other {counted(fine, 'metric')}.")
    if unknown:
        were = "was" if len(unknown) == 1 else "were"
        parts.append(f"{counted(len(unknown), 'metric')} {were} not checked.")
    if suspicious:
        return "Not all of them.", " ".join(parts)
    return ("With care." if uneven or surging else "Yes, as far as checks can see."), " ".join(
        parts
    )


def _named(metrics: Sequence[MetricDays]) -> str:
    """Metrics in a sentence, such as "theme, browser and 4 more"."""
    names = [each.metric for each in metrics]
    more = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], f"{more:,} more"] if more > 0 else names)


def _line(each: MetricDays, days: DayRange) -> GridLine:
    span = {"since": str(days.since), "until": str(days.until)}
    kind, words = _BADGES[each.worst]
    asides = []
    counts = Counter(each.cells)
    if each.worst in ("suspicious", "uneven", "surge"):
        words = f"{words} on {counted(counts[each.worst], 'day')}"
    if each.worst == "stopped":
        words = f"stopped, last reports {each.last_day}"
    elif each.stopped_since is not None:
        asides.append(f"no reports from {each.stopped_since} on")
    if each.worst == "unknown" and each.last_day is None:
        words = "no reports yet"
    return GridLine(
        title=each.description or each.metric,
        name=each.metric if each.description else "",
        numbers=address("metric", each.metric, **span),
        badge=Badge(words, kind),
        look=address("health", metric=each.metric, **span),
        aside="; ".join(asides),
        cells=[
            _cell(each.metric, cell, day)
            for cell, day in zip(each.cells, days_of(days), strict=True)
        ],
    )


def _cell(metric: str, kind: CellKind, day: date) -> GridCell:
    odd = kind in ("suspicious", "uneven", "surge")
    place = address("health", metric=metric, since=str(day), until=str(day)) if odd else ""
    return GridCell(kind, CELL_WORDS[kind], place)


DEFAULT_SINCE: Final = "-28d"
MOST_DAYS: Final = 92
"""So many columns a grid has at most."""

MOST_LOOKS: Final = 2
"""Of so many metrics with failed checks it is said at once what failed. Those that count strings
are looked at when somebody asks: each takes two seconds in a store of a year."""

MOST_CHECKED: Final = 6
"""So many metrics are checked while the page is made, if the table of estimates has none of their
days: each takes a good part of a second in a store of a year."""

MOST_DAYS_OF_ONE: Final = 3_660


def add_health(routes: Blueprint) -> None:
    """Adds ``/health``."""
    routes.add_url_rule("/health", "health", health_page)


def health_page() -> Response:
    """Whether the reports of all metrics, or of one, can be trusted."""
    name = request.args.get("metric", "")
    return _of_metric(name) if name else _of_all()


def _of_all() -> Response:
    visit = current_visit()
    source = visit.source
    asked = read_days(request.args, visit.today)
    days = asked.days
    metrics = source.ask(METRICS).metrics
    if not metrics:
        return page(
            "health/health.html.jinja",
            asked=asked,
            health=None,
            empty=no_metrics(visit.application),
        )
    rows = source.ask(
        ESTIMATES, EstimateTableQuery(since=days.since, until=days.until, brief=True)
    ).rows
    missing = not_in_table(metrics, rows, days)
    looked_at = _looked_at(source, missing[:MOST_CHECKED], days)
    found = metric_days(metrics, rows, looked_at, days, visit.today)
    strings = {each.name for each in metrics if each.candidates} - looked_at.keys()
    suspicious = [each.metric for each in found if each.worst == "suspicious"]
    odd = [name for name in suspicious if name not in strings][:MOST_LOOKS]
    looked_at |= _looked_at(source, (name for name in odd if name not in looked_at), days)
    # The table has no row of a day that has no reports, nor of one whose reports are all excluded.
    gaps = [each.metric for each in found if each.excluded_reports and "missing" in each.cells]
    unsure = [name for name in gaps if name not in looked_at][:MOST_CHECKED]
    looked_at |= _looked_at(source, unsure, days)
    # The table may be of before an exclusion: what was checked just now is truer.
    found = metric_days(metrics, rows, looked_at, days, visit.today)
    suspicious = [each.metric for each in found if each.worst == "suspicious"]
    odd = [name for name in odd if name in suspicious]
    descriptions = {each.metric: each.description for each in found}
    view = health_view(
        found,
        [metric_look(looked_at[n], descriptions[n], days) for n in odd if n in looked_at],
        days,
        not_looked_at=[name for name in suspicious if name not in odd],
        checked_now=len(missing[:MOST_CHECKED]),
        not_checked=len(missing[MOST_CHECKED:]),
    )
    return page("health/health.html.jinja", asked=asked, health=view, empty=None)


def _looked_at(source: Source, names: Iterable[str], days: DayRange) -> dict[str, Answer]:
    """The health of metrics that can be looked at, by name."""
    found = {}
    for name in names:
        try:
            found[name] = source.ask(HEALTH.of(name), DaysQuery(since=days.since, until=days.until))
        except AskingError:  # no reports of these days that count, or this server cannot read them
            continue
    return found


def _of_metric(name: str) -> Response:
    visit = current_visit()
    asked = read_days(request.args, visit.today, MOST_DAYS_OF_ONE)
    without = request.args.get("without_key", "")
    details = visit.source.ask(METRIC.of(name))
    query = DaysQuery(
        since=asked.days.since,
        until=asked.days.until,
        without_key=(without,) if without else (),
    )
    try:
        health, problem = visit.source.ask(HEALTH.of(name), query), None
    except AskingError as error:
        health, problem = None, failed(str(error))
    return page(
        "health/metric.html.jinja",
        asked=asked,
        without=without,
        health=metric_health_view(details, health, asked.days, without),
        problem=problem,
    )


@dataclass(frozen=True, slots=True)
class AskedDays:
    """The days of a page.

    Attributes:
        since: the first, as it was typed.
        until: the last, as it was typed; may be empty.
        days: both, read; those of a page that says nothing where they cannot be.
        error: what is wrong with them, or empty.
    """

    since: str
    until: str
    days: DayRange
    error: str


def read_days(given: Mapping[str, str], today: date, most: int = MOST_DAYS) -> AskedDays:
    """The days that an address asks for.

    Args:
        given: its parameters; ``since`` may be a period such as "2026-09-01..2026-09-30".
        today: the server's day.
        most: so many days may be asked for.
    """
    since = given.get("since", "").strip() or DEFAULT_SINCE
    until = given.get("until", "").strip()
    usual = DayRange(parse_day(DEFAULT_SINCE, today), today)
    try:
        if ".." in since:
            days = parse_period(since, today, name="since")
        else:
            last = parse_day(until, today, name="until") if until else today
            days = DayRange(parse_day(since, today, name="since"), last)
    except ParameterError as error:
        return AskedDays(since, until, usual, f"{error}.")
    if days.since > days.until:
        return AskedDays(since, until, usual, f"{days.since} is after {days.until}.")
    length = (days.until - days.since).days + 1
    if length > most:
        too_many = f"These are {length:,} days: ask for at most {most}."
        return AskedDays(since, until, usual, too_many)
    return AskedDays(since, until, days, "")
