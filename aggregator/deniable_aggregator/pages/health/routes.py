"""The routes of the pages about health: of all metrics, and of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import request

from deniable_aggregator.answers.estimate_table import EstimateTableQuery
from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.asking.dates import parse_day, parse_period
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.questions import ESTIMATES, HEALTH, METRIC, METRICS
from deniable_aggregator.dates import DayRange
from deniable_aggregator.pages.health.grid import metric_days, not_in_table
from deniable_aggregator.pages.health.metric_view import metric_health_view, metric_look
from deniable_aggregator.pages.health.view import health_view
from deniable_aggregator.pages.rendering import page
from deniable_aggregator.pages.states import failed, no_metrics
from deniable_aggregator.pages.visit import current_visit
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from flask import Blueprint, Response

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.asking.source import Source

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
    strings = {each.name for each in metrics if each.type == "string"} - looked_at.keys()
    suspicious = [each.metric for each in found if each.worst == "suspicious"]
    odd = [name for name in suspicious if name not in strings][:MOST_LOOKS]
    looked_at |= _looked_at(source, (name for name in odd if name not in looked_at), days)
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
