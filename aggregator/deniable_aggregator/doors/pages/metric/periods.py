"""Days and what they are compared with, as the page offers them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.dates import (
    FIRST_DAY,
    DayRange,
    calendar_period,
    same_weekdays_before,
)
from deniable_aggregator.asking.dates import parse_day, parse_period
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.words import PeriodLength

PERIODS: Final[Mapping[str, str]] = {
    "7d": "Last 7 days",
    "28d": "Last 28 days",
    "last-week": "Last week",
    "4-weeks": "Last 4 whole weeks",
    "13-weeks": "Last 13 whole weeks",
    "this-month": "This month",
    "last-month": "Last month",
    "this-quarter": "This quarter",
    "last-quarter": "Last quarter",
    "all": "All days",
    "own": "Days of your own",
}
"""Periods by what they are called in addresses, and what people read. Those that go on end
yesterday, as today is not over; whole weeks are from Monday to Sunday."""

WHOLE_WEEKS: Final[Mapping[str, int]] = {"last-week": 1, "4-weeks": 4, "13-weeks": 13}
"""So many of them."""

COMPARISONS: Final[Mapping[str, str]] = {
    "before": "The days before",
    "week": "The same days a week before",
    "month": "The same days a month before, or four weeks",
    "year": "The same weeks last year",
    "none": "Nothing",
    "own": "Days of your own",
}
"""What days are compared with, beside releases."""

SINCE: Final = "since:"
"""How a comparison with the days before a release begins in addresses; its day follows."""

DEFAULT_PERIOD: Final = "28d"
DEFAULT_COMPARISON: Final = "before"
_WEEK: Final = timedelta(7)
_DAY: Final = timedelta(1)
_YEAR: Final = timedelta(52 * 7)
"""In whole weeks, so that weekdays are compared with the same ones."""

_QUARTER_MONTHS: Final = 3

WEEKS_FOLLOWED: Final = 12
"""So many weeks, or more, are drawn where the metric had reports."""

LONGEST_BY: Final[tuple[tuple[PeriodLength, int], ...]] = (("day", 31), ("week", 26 * 7))
"""So many days, and not more, are drawn by periods of this length if nobody chooses another."""


class Known(NamedTuple):
    """What choices of days depend on.

    Attributes:
        first: the first day with reports, or None.
        last: the last one, or None.
        today: the server's day.
    """

    first: date | None
    last: date | None
    today: date

    @classmethod
    def of(cls, details: MetricDetails, today: date) -> Known:
        """What is known of a metric.

        Args:
            details: of the metric.
            today: the server's day.
        """
        firsts = [each.first_day for each in details.versions if each.first_day is not None]
        lasts = [each.last_day for each in details.versions if each.last_day is not None]
        return cls(min(firsts, default=None), max(lasts, default=None), today)


def days_of(period: str, known: Known, *, since: str = "", until: str = "") -> DayRange:
    """The days of a period.

    Args:
        period: one of `PERIODS`.
        known: of the metric.
        since: the first day, if they are days of one's own; as it was typed.
        until: the last day; empty for yesterday.

    Raises:
        ParameterError: if it is none of these, or a day is none.
    """
    yesterday = known.today - _DAY
    if period not in PERIODS:
        raise ParameterError("period", f"one of {', '.join(PERIODS)}", period)
    if period == "own":
        return _own_days(known, since, until)
    if period == "all":
        first = known.first or yesterday
        last = known.last or yesterday
        return DayRange(first, max(first, min(last, yesterday)))
    if period == "this-month":
        first = known.today.replace(day=1)
        return DayRange(first, max(first, yesterday))
    if period == "last-month":
        return calendar_period("month", known.today.replace(day=1) - _DAY)
    if period in WHOLE_WEEKS:
        sunday = calendar_period("week", known.today - _WEEK).until
        return DayRange(sunday - WHOLE_WEEKS[period] * _WEEK + _DAY, sunday)
    if period == "this-quarter":
        first = _quarter(known.today)
        return DayRange(first, max(first, yesterday))
    if period == "last-quarter":
        end = _quarter(known.today) - _DAY
        return DayRange(_quarter(end), end)
    return DayRange(known.today - timedelta(int(period.removesuffix("d"))), yesterday)


def _quarter(day: date) -> date:
    """The first day of the quarter of the year that a day is in."""
    return day.replace(day=1, month=day.month - (day.month - 1) % _QUARTER_MONTHS)


def _own_days(known: Known, since: str, until: str) -> DayRange:
    first = parse_day(since, known.today, name="since")
    last = parse_day(until, known.today, name="until") if until else known.today - _DAY
    last = last if until else max(first, last)
    if first > known.today:
        raise ParameterError("since", f"a day that is not after {known.today}", since)
    if last < first:
        raise ParameterError("until", f"a day that is not before {first}", until)
    return DayRange(first, min(last, known.today))  # later days have no reports


class Compared(NamedTuple):
    """Two periods.

    Attributes:
        before: the first.
        after: the second: the days that are shown.
    """

    before: DayRange
    after: DayRange


def compared(
    comparison: str, days: DayRange, today: date, *, before: str = "", whole: bool = False
) -> Compared | None:
    """What the days are compared with.

    Args:
        comparison: one of `COMPARISONS`, or `SINCE` and a day: as many days before it.
        days: that are shown; with `SINCE`, at most so many, of those since that day.
        today: the server's day.
        before: days of one's own, as they were typed.
        whole: whether `days` are all days with reports.

    Returns:
        Both periods; None if nothing is compared.

    Raises:
        ParameterError: if it is none of these, or the days overlap.
    """
    if comparison == "none" or (whole and comparison == "before"):
        return None
    if comparison.startswith(SINCE):
        return _since(comparison, days, today)
    if comparison == "before":
        found = days_before(days)
    elif comparison == "week":
        found = DayRange(days.since - _WEEK, days.until - _WEEK)
    elif comparison == "month":
        found = _a_month_before(days)
    elif comparison == "year":
        found = DayRange(days.since - _YEAR, days.until - _YEAR)
    elif comparison == "own":
        found = parse_period(before, today, name="before")
    else:
        raise ParameterError("compare", f"one of {', '.join(COMPARISONS)}", comparison)
    if found.since < FIRST_DAY:
        raise _too_early(days)
    if found.since <= days.until and days.since <= found.until:
        name = "before" if comparison == "own" else "compare"
        shown, other = (f"{each.since} to {each.until}" for each in (days, found))
        raise ParameterError(name, f"days that do not overlap with those shown, {shown}", other)
    return Compared(found, days)


def _since(comparison: str, days: DayRange, today: date) -> Compared:
    release = parse_day(comparison.removeprefix(SINCE), today, name="compare")
    if release > days.until:
        raise ParameterError(
            "compare", f"a day that is not after those shown, which end {days.until}", comparison
        )
    after = DayRange(release, min(days.until, release + (days.until - days.since)))
    weeks = (after.until - after.since + _DAY) // _WEEK
    if weeks:
        after = DayRange(release, release + weeks * _WEEK - _DAY)
    return Compared(days_before(after), after)


def days_before(days: DayRange) -> DayRange:
    """As many days before some days, on the same weekdays.

    Args:
        days: these.

    Raises:
        ParameterError: if they would begin before 1970.
    """
    before = same_weekdays_before(days)
    if before is None:
        raise _too_early(days)
    return before


def _too_early(days: DayRange) -> ParameterError:
    constraint = f"days from {FIRST_DAY} on, which there are not before those shown"
    return ParameterError("compare", constraint, f"{days.since} to {days.until}")


def _a_month_before(days: DayRange) -> DayRange:
    """The same days of the month before; of whole weeks those four weeks before, or more."""
    weeks, more = divmod(days.until - days.since + _DAY, _WEEK)
    if more:
        return DayRange(_month_before(days.since), _month_before(days.until))
    back = -(-weeks // 4) * 4 * _WEEK
    return DayRange(days.since - back, days.until - back)


def _month_before(day: date) -> date:
    """The same day of the month before, or the last of that month."""
    month = calendar_period("month", day.replace(day=1) - _DAY)
    return month.until if day.day > month.until.day else month.since.replace(day=day.day)


def length_for(days: DayRange, period: str = "") -> PeriodLength:
    """How long the periods of a series are if nobody says so.

    Args:
        days: of the series.
        period: one of `PERIODS`; whole weeks are followed by week.
    """
    if period in WHOLE_WEEKS and days.until - days.since < WEEKS_FOLLOWED * _WEEK:
        return "week"
    count = (days.until - days.since).days + 1
    return next((by for by, most in LONGEST_BY if count <= most), "month")


def followed(days: DayRange, both: Compared | None, by: PeriodLength, known: Known) -> DayRange:
    """The days of a series: those that are compared too, from the start of a whole period.

    By week they are at least `WEEKS_FOLLOWED` weeks, as a week is judged by those before.

    Args:
        days: that are shown.
        both: what is compared.
        by: how long periods are.
        known: of the metric.
    """
    first = min(days.since, both.before.since) if both is not None else days.since
    if by == "week":
        first = min(first, days.until - WEEKS_FOLLOWED * _WEEK + _DAY)
    first = max(first, known.first or first)
    last = max(days.until, both.before.until) if both is not None else days.until
    return DayRange(calendar_period(by, min(first, last)).since, last)
