"""What the overview shows: a sentence, warnings, and first the metrics that have changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request

from deniable_aggregator.asking.questions import SAVED_VIEWS
from deniable_aggregator.doors.pages.overview.cards import MetricCard, metric_card
from deniable_aggregator.doors.pages.overview.reading import Weeks, read_weeks
from deniable_aggregator.doors.pages.parts import Card, State, all_excluded, no_metrics, no_reports
from deniable_aggregator.doors.pages.rendering import address, changed, page
from deniable_aggregator.doors.pages.visit import current_visit
from deniable_aggregator.telling.cautions import clear_among
from deniable_aggregator.telling.document import Badge, Column, Link, Table, text_table
from deniable_aggregator.telling.numbers import name_of, range_of
from deniable_aggregator.telling.wording import as_sentence, counted, days_between, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.views import SavedView
    from deniable_aggregator.keeping.settings import Settings


MOST_CARDS: Final = 60
"""Of more metrics, those first are cards, and the others rows of a table."""

FIRST_CARDS: Final = 36

MOST_NAMED: Final = 3
"""Of metrics in a sentence."""

MOST_HAPPENED: Final = 5
MOST_VIEWS: Final = 8

SORTS: Final = {"first": "Changes first", "name": "Name", "health": "Health"}
_TO_ACT_ON: Final = ("suspicious", "stopped")
_WORST_FIRST: Final = ("suspicious", "uneven", "surge", "stopped", "unknown", "ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a visitor has chosen.

    Attributes:
        sort: one of `SORTS`.
        find: only metrics with this text in their name, description or values; empty for all.
    """

    sort: str = "first"
    find: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What the page shows.

    Attributes:
        finding: what has changed, in a sentence.
        days: which days it is about.
        happened: what administrators have said of these days, a line each.
        warning: metrics that cannot be relied on, or have stopped; None if there are none.
        state: why there are no numbers; None if there are.
        choice: what the visitor has chosen.
        cards: the first metrics.
        others: the rest, a row each; None if all are cards.
        none_found: what is said if no metric has the text.
        views: leads to saved views, and to all of them where there are more.
    """

    finding: str
    days: str
    happened: Sequence[str]
    warning: State | None
    state: State | None
    choice: Choice
    cards: Sequence[Card]
    others: Table | None
    none_found: str
    views: Sequence[Link] = ()

    @property
    def sorts(self) -> Sequence[tuple[str, str]]:
        """What metrics may be sorted by: values and words."""
        return [*SORTS.items()]


def overview_view(
    weeks: Weeks,
    choice: Choice,
    today: date,
    *,
    weekly: bool,
    views: Sequence[SavedView] = (),
) -> Overview:
    """What the page shows.

    Args:
        weeks: of all metrics.
        choice: what the visitor has chosen.
        today: the server's day.
        weekly: whether the server writes weeks into the table of estimates.
        views: that are saved.
    """
    found = [metric_card(each, weeks, today) for each in weeks.metrics]
    wanted = choice.find.casefold()
    ordered = sorted(found, key=_ORDERS[choice.sort])
    shown = [each for each in (_with_value(each, wanted) for each in ordered) if each is not None]
    first = shown if len(shown) <= MOST_CARDS else shown[:FIRST_CARDS]
    return Overview(
        finding=_finding(found),
        days=_days(weeks),
        happened=[f"{each.day}: {each.text}" for each in weeks.happened[-MOST_HAPPENED:]],
        warning=_warning(found),
        state=_state(weeks, weekly=weekly),
        choice=choice,
        cards=[each.card for each in first],
        others=_table(shown[len(first) :]) if len(first) < len(shown) else None,
        none_found=""
        if shown
        else f"No metric has {choice.find!r} in its name, its description or its values.",
        views=[
            *(Link(each.name, each.place) for each in views[:MOST_VIEWS]),
            *([Link(f"all {len(views):,}", address("views"))] if len(views) > MOST_VIEWS else ()),
        ],
    )


def _with_value(each: MetricCard, wanted: str) -> MetricCard | None:
    """A metric that has a text in its name or description, or the value that has it; or neither."""
    card = each.card
    if wanted in each.name.casefold() or wanted in card.title.casefold():
        return each
    value = next((one for one in each.values if wanted in (one.value or "").casefold()), None)
    if value is None:
        return None
    says = f"{name_of(value)}: {range_of(value)}"
    follow = value.value if value.whole is None else None
    place = changed(card.address, period=None, follow=follow)
    return replace(each, card=replace(card, address=place, asides=[says, *card.asides]))


_ORDERS: Final = {
    "first": lambda each: (
        -each.clear,
        each.health not in _TO_ACT_ON,
        not each.has_number,
        each.name,
    ),
    "name": lambda each: each.name,
    "health": lambda each: (_WORST_FIRST.index(each.health), each.name),
}


def _finding(found: Sequence[MetricCard]) -> str:
    """How many metrics have changed, and which most clearly."""
    compared = [each for each in found if each.change is not None and each.change.kind != "untold"]
    clear = sorted((each for each in compared if each.clear), key=lambda each: -each.clear)
    if not compared:
        return ""
    if not clear:
        return f"No clear change in {counted(len(compared), 'metric')} since the week before."
    named = [f"{each.name} ({each.news})" for each in clear[:MOST_NAMED]]
    more = len(clear) - MOST_NAMED
    changed = "changed clearly since the week before"
    which = listed([*named, f"{more:,} more"] if more > 0 else named)
    return f"{len(clear):,} of {counted(len(compared), 'metric')} {changed}: {which}."


def _days(weeks: Weeks) -> str:
    """Which days the page is about."""
    said = (
        f"The week of {days_between(weeks.week.since, weeks.week.until)}, in reports, not people."
    )
    rows = [row for each in weeks.metrics for row in each.rows if row.since == weeks.week.since]
    if any(not row.final for row in rows):
        said += " Late reports may still move these numbers a little."
    written, due = _written(weeks)
    if 0 < written < due:
        said += (
            f" The numbers of {written:,} of {counted(due, 'metric')} are worked out so far; the "
            "others follow within minutes."
        )
    compared = sum(bool(each.changes) for each in weeks.metrics)
    if compared:
        said += f" {as_sentence(clear_among('all values', compared))}"
    return said


def _written(weeks: Weeks) -> tuple[int, int]:
    """Of how many metrics the newest week is in the table, and of how many it is to be."""
    due = [
        each
        for each in weeks.metrics
        if each.metric.first_day is not None
        and each.metric.last_day is not None
        and each.metric.first_day <= weeks.week.until
        and weeks.week.since <= each.metric.last_day
        and not each.metric.candidates
        and not each.metric.discovers
    ]
    written = [each for each in due if each.rows and each.rows[0].since == weeks.week.since]
    return len(written), len(due)


def _warning(found: Sequence[MetricCard]) -> State | None:
    suspicious = [each.name for each in found if each.health == "suspicious"]
    stopped = [each.name for each in found if each.health == "stopped"]
    said = []
    if suspicious:
        said.append(f"Not all reports of {_named(suspicious)} are those of honest devices.")
    if stopped:
        said.append(f"No reports arrive any more of {_named(stopped)}.")
    if not said:
        return None
    return State(
        "Do not rely on everything here" if suspicious else "Reports have stopped",
        " ".join(said),
        link=Link("See which days and keys", address("health")),
        kind="warning",
    )


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], f"{more:,} more"] if more > 0 else names)


def _state(weeks: Weeks, *, weekly: bool) -> State | None:
    """Why there are no numbers; None if there are."""
    if any(each.rows or each.listed for each in weeks.metrics):
        return None
    firsts = [each.metric.first_day for each in weeks.metrics if each.metric.first_day]
    if not firsts:
        excluded = any(each.metric.excluded_reports for each in weeks.metrics)
        return all_excluded() if excluded else no_reports()
    if not weekly:
        return State(
            "The server keeps no weeks",
            "This page is made from the weeks of the table of estimates, which the setting "
            "estimate_periods leaves out. The page of each metric works without it.",
            ('deniable serve --estimate-periods "day,week,month"',),
        )
    if min(firsts) > weeks.week.until:
        ready = weeks.week.until + timedelta(8)
        return State(
            "The first week is not over",
            f"Reports have come since {min(firsts)}. Numbers of their first week appear here on "
            f"{ready}. The page of each metric has those of the days that there are.",
        )
    return State(
        "The numbers of the first weeks are being worked out",
        "They appear here within minutes; the page of each metric has those of all days already. "
        "If nothing comes, this command says why.",
        ("deniable store estimates --store STORE",),
    )


def _table(cards: Sequence[MetricCard]) -> Table:
    """Metrics that are no cards."""
    rows: list[list[str]] = [
        [
            Link(each.card.title, each.card.address),
            f"{each.card.headline} {each.card.of}".strip(),
            each.change or "",
            Badge(_HEALTH[each.health], each.health),
        ]
        for each in cards
    ]
    columns = [
        Column(heading="metric", words=True),
        Column(heading="newest week", words=True),
        Column(heading="change", words=True),
        Column(heading="reports", words=True),
    ]
    return text_table(
        name="others",
        caption=f"{counted(len(cards), 'more metric')}",
        columns=columns,
        rows=rows,
    )


_HEALTH: Final = {
    "suspicious": "suspicious",
    "uneven": "keys differ",
    "surge": "unusual volume",
    "stopped": "stopped",
    "unknown": "none yet",
    "ok": "no check fails",
}


def add_overview(routes: Blueprint, settings: Settings) -> None:
    """Adds ``/``.

    Args:
        routes: to which it is added.
        settings: say which periods the server writes into the table of estimates.
    """
    weekly = "week" in settings.period_lengths

    def overview() -> Response:
        """A card for each metric."""
        visit = current_visit()
        weeks = read_weeks(visit.source, visit.today)
        if not weeks.metrics:
            return page(
                "overview/overview.html.jinja", overview=None, empty=no_metrics(visit.application)
            )
        sort = request.args.get("sort", "")
        choice = Choice(
            sort=sort if sort in SORTS else "first",
            find=request.args.get("find", "").strip(),
        )
        views = visit.source.ask(SAVED_VIEWS).views
        shown = overview_view(weeks, choice, visit.today, weekly=weekly, views=views)
        return page("overview/overview.html.jinja", overview=shown, empty=None)

    routes.add_url_rule("/", "overview", overview)
