"""Days as people say them: 2026-01-31, yesterday, -7d; and periods such as 2026-01-01..-1d."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from deniable_aggregator.answers.dates import FIRST_DAY, DayRange
from deniable_shared.errors import ParameterError

FORMS: Final = "2026-01-31, today, yesterday, -7d, -4w or -3m"
"""The forms of a day, for help and errors."""

_AGO: Final = re.compile(r"-([0-9]{1,5})([dwm])")
_SEPARATORS: Final = re.compile(r"\.\.|/")
_WEEK_DAYS: Final = 7
_MONTHS: Final = 12


def utc_today() -> date:
    """The day that it is for servers, which count days by UTC."""
    return datetime.now(UTC).date()


def parse_day(day: str | date, today: date, *, name: str = "day") -> date:
    """A day.

    Args:
        day: a date, or a text in one of `FORMS`: -7d is 7 days before today, -4w are 28, and -3m
            is the same day three months before, or the last day of that month.
        today: what others are relative to.
        name: of the argument, for errors.

    Raises:
        ParameterError: if it is no day, or one before 1970.
    """
    found = _day(day, today)
    if found is None or found < FIRST_DAY:
        raise ParameterError(name, f"a day such as {FORMS}", day)
    return found


def end_of_weeks(since: date | None, until: date | None, today: date) -> date | None:
    """The last day of a question that begins whole weeks ago and names no end: yesterday.

    Today is not over, and with it one weekday would come once more than the others.

    Args:
        since: the first day, if it is given.
        until: the last, likewise.
        today: the day that it is.
    """
    if since is None or until is not None:
        return until
    weeks, more = divmod((today - since).days, _WEEK_DAYS)
    return today - timedelta(1) if weeks > 0 and not more else None


def parse_period(period: str | date | DayRange, today: date, *, name: str = "days") -> DayRange:
    """Some days in a row.

    Args:
        period: two days with ".." or "/" between them, such as "2026-01-01..2026-01-31" or
            "-7d..yesterday"; an end that is left out is the first day of all, or today. Or one day.
        today: what others are relative to.
        name: of the argument, for errors.

    Raises:
        ParameterError: if it is neither, or the ends are in the wrong order.
    """
    if isinstance(period, DayRange):
        return period
    if not isinstance(period, str):
        day = parse_day(period, today, name=name)
        return DayRange(day, day)
    ends = [each.strip() for each in _SEPARATORS.split(period)]
    if len(ends) == 1:
        ends *= 2
    first = FIRST_DAY if ends[0] == "" else _day(ends[0], today)
    last = today if ends[-1] == "" else _day(ends[-1], today)
    if len(ends) != 2 or not any(ends) or first is None or last is None or first < FIRST_DAY:
        raise ParameterError(
            name, f"two days such as 2026-01-01..2026-01-31, each as {FORMS}", period
        )
    if first > last:
        raise ParameterError(name, f"two days in their order ({first} is after {last})", period)
    return DayRange(first, last)


def _day(day: object, today: date) -> date | None:
    if isinstance(day, datetime):
        return day.date()
    if isinstance(day, date):
        return day
    text = str(day).strip().lower()
    if text in ("today", "yesterday"):
        return today - timedelta(text == "yesterday")
    try:
        if ago := _AGO.fullmatch(text):
            return _before(today, int(ago[1]), ago[2])
        found = date.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return found if found.isoformat() == text else None


def _before(today: date, number: int, unit: str) -> date:
    if unit != "m":
        return today - timedelta(number * (_WEEK_DAYS if unit == "w" else 1))
    from calendar import monthrange  # not for the help of commands

    year, month = divmod(today.year * _MONTHS + today.month - 1 - number, _MONTHS)
    return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))
