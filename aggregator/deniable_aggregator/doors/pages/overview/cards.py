"""A metric as a card: its newest number, what has changed, and whether it can be relied on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal

from deniable_aggregator.answers.common import stopped_since
from deniable_aggregator.answers.dates import calendar_period
from deniable_aggregator.doors.pages.parts import Card
from deniable_aggregator.doors.pages.rendering import address
from deniable_aggregator.telling.document import Badge
from deniable_aggregator.telling.figures import trend_figure
from deniable_aggregator.telling.glances import (
    Glance,
    changes_at_a_glance,
    clear_numbers,
    clearness,
    found_at_a_glance,
    glance,
    no_change_at_a_glance,
    says_little,
)
from deniable_aggregator.telling.wording import counted, days_between

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.doors.pages.overview.reading import MetricWeek, Weeks
    from deniable_aggregator.telling.figure import Figure

_WEEK_DAYS: Final = 7

HealthKind = Literal["suspicious", "uneven", "surge", "stopped", "unknown", "ok"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCard:
    """A card, and by what it is sorted.

    Attributes:
        card: what is shown.
        name: of the metric.
        health: whether its reports can be relied on.
        clear: how clear its clearest change is, in standard errors; 0 if none is clear.
        has_number: whether there is a number.
        change: the change in words.
        news: the first of its clear changes; empty if none is.
        values: those that its numbers are of.
    """

    card: Card
    name: str
    health: HealthKind
    clear: float
    has_number: bool
    change: Badge | None
    news: str
    values: Sequence[Measured]


def metric_card(of: MetricWeek, weeks: Weeks, today: date) -> MetricCard:
    """A metric as a card.

    Args:
        of: the metric in its newest week.
        weeks: of all metrics.
        today: the server's day.
    """
    metric = of.metric
    stopped = stopped_since(metric.every, metric.expires, metric.last_day, today)
    health = _health(of, stopped=stopped is not None)
    change = _change(of, weeks)
    seen = _seen(of)
    news = next(iter(_clear_changes(of)), "")
    clear = next((each.value for each in clear_numbers(of.changes)), None)
    card = Card(
        title=metric.description or metric.name,
        name=metric.name,
        # What is new is of the newest week, and of a value.
        address=address(
            "metric",
            metric.name,
            period="last-week" if news else None,
            follow=clear if metric.type != "boolean" else None,
            list=f"saved:{metric.name}" if of.listed is not None else None,
        ),
        headline="" if seen is None else seen.range,
        of="" if seen is None else seen.of,
        figure=_trend(of, weeks) if of.trend else None,
        badges=[*([change] if change else ()), *_badges(of, health, stopped)],
        more="" if seen is None else seen.more,
        asides=list(_asides(of, weeks, today)),
    )
    return MetricCard(
        card=card,
        name=metric.name,
        health=health,
        clear=clearness(of.changes),
        has_number=seen is not None,
        change=change,
        news=news,
        values=[
            each
            for each in (
                *of.rows,
                *(
                    number
                    for answer in (of.found, of.listed)
                    if answer
                    for number in answer.numbers
                ),
            )
            if each.value is not None and each.measure == "share" and each.told is not False
        ],
    )


def _seen(of: MetricWeek) -> Glance | None:
    """The first number: of the table, of strings that were found, or of a list of values."""
    found = None if of.found is None else found_at_a_glance(of.found)
    if found is None and of.listed is not None:
        return glance(of.listed.numbers)
    return of.glance if of.found is None else found


def _trend(of: MetricWeek, weeks: Weeks) -> Figure:
    """Its first number, week by week."""
    by_week = {row.since: row for row in of.trend}
    periods = []
    for days in weeks.drawn:
        row = by_week.get(days.since)
        periods.append((days, row, (row.marks or "").split() if row is not None else []))
    return trend_figure(of.metric.name, "week", periods, of.limits)


def _health(of: MetricWeek, *, stopped: bool) -> HealthKind:
    if of.suspicious:
        return "suspicious"
    if stopped:
        return "stopped"
    if "uneven" in of.marks:
        return "uneven"
    if "surge" in of.marks:
        return "surge"
    return "ok" if of.rows else "unknown"


def _badges(of: MetricWeek, health: HealthKind, stopped: date | None) -> Iterator[Badge]:
    if health == "suspicious":
        yield Badge("suspicious reports", "suspicious")
    elif health == "uneven":
        yield Badge("keys differ", "uneven")
    elif health == "surge":
        yield Badge("unusual volume", "surge")
    if stopped is not None:
        yield Badge(f"no reports since {stopped}", "stopped")
    if "release" in of.marks:
        yield Badge("new version that week", "unknown")


def _change(of: MetricWeek, weeks: Weeks) -> Badge | None:
    """What has changed since the week before, or why that is not known."""
    if of.glance is None or of.rows[0].since != weeks.week.since:
        return None
    said = _clear_changes(of)
    if said:
        return Badge("; ".join(said), "changed")
    unchanged = no_change_at_a_glance(of.changes)
    if unchanged:
        return Badge(unchanged, "unchanged")
    before = weeks.week.since - timedelta(_WEEK_DAYS)
    earlier = [row for row in of.trend if row.since == before]
    if of.suspicious or any(row.suspicious for row in earlier):
        return Badge("change not known: suspicious reports", "untold")
    why = "the weeks cannot be compared" if earlier else "no reports in the week before"
    return Badge(f"can't tell what changed: {why}", "untold")


def _clear_changes(of: MetricWeek) -> list[str]:
    return changes_at_a_glance(of.changes, None if of.glance is None else of.glance.number)


def _asides(of: MetricWeek, weeks: Weeks, today: date) -> Iterator[str]:
    metric = of.metric
    if not metric.reports:
        yield from _without_reports(of)
        return
    if of.glance is not None and says_little(of.glance.number):
        yield "Too few reports yet: the range covers more than half of all that is possible."
    if of.found is not None:
        period = of.found.head.periods[0]
        days = days_between(period.since, period.until)
        if not of.found.strings and not of.found.prefixes:
            yield f"No string was found in reports of {days}."
        else:
            yield f"Found in reports of {days}; nobody had listed it."
    elif of.listed is not None:
        days = days_between(of.listed.head.periods[0].since, of.listed.head.periods[0].until)
        many = counted(of.listed.head.reports, "report")
        yield f"Of the values of the saved list {metric.name}; {many} from {days}."
    elif metric.discovers:
        yield "Nobody has looked for popular strings yet: its page does."
    elif metric.candidates:
        yield (
            "Choose the values to look for on its page. The most common ones of a saved list with "
            f"the name {metric.name} are shown here."
        )
    elif of.glance is None:
        yield _not_in_a_week(metric.first_day, weeks, today)
    if of.rows:
        checked = "; no check fails" if _health(of, stopped=False) == "ok" else ""
        yield f"{_reports(of, weeks)}{checked}."
    elif metric.last_day is not None:
        yield f"Last reports on {metric.last_day}."


def _without_reports(of: MetricWeek) -> Iterator[str]:
    metric = of.metric
    if metric.excluded_reports:
        yield f"All {counted(metric.excluded_reports, 'report')} are excluded with their keys."
    else:
        yield f"No reports yet; registered on {metric.registered}."
        if metric.reports_for_one_percent is not None:
            needed = counted(metric.reports_for_one_percent, "report")
            yield f"A value that 1% have needs about {needed} to be seen."


def _not_in_a_week(first: date | None, weeks: Weeks, today: date) -> str:
    """Why a metric with reports is in no week of the table."""
    if first is None or first <= weeks.week.until:
        return "Its page has the numbers; they are not worked out for this one yet."
    ready = calendar_period("week", today).until + timedelta(1)
    return f"First reports on {first}. Here from {ready} on, when its first week is over."


def _reports(of: MetricWeek, weeks: Weeks) -> str:
    """How many reports a day or that week, and which week it is if that is not the newest."""
    reports = max(row.reports or 0 for row in of.rows)
    since, until = of.rows[0].since, of.rows[0].until
    a_day = round(reports / ((until - since).days + 1))
    by_day = of.metric.every == "day" and a_day > 0
    many = f"{counted(a_day, 'report')} a day" if by_day else counted(reports, "report")
    if since != weeks.week.since:
        return f"{many} in the week of {days_between(since, until)}"
    if not by_day:
        return f"{many} that week"
    return f"{many}, some days without any" if "missing" in of.marks else many
