"""Days as people write them, such as 2026-01-31; in the code a day is a count from 1970-01-01."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

FIRST_DAY: Final = date(1970, 1, 1)
LAST_DAY: Final = date(9999, 12, 31)
_WEEK_DAYS: Final = 7
_DECEMBER: Final = 12


@dataclass(frozen=True)
class DayRange:
    """Some days in a row.

    Attributes:
        since: the first.
        until: the last, inclusive.
    """

    since: date
    until: date


def calendar_period(by: Literal["day", "week", "month"], day: date) -> DayRange:
    """The calendar period that a day belongs to.

    Args:
        by: how long periods are; weeks begin on Monday.
        day: the day.
    """
    if by == "day":
        return DayRange(day, day)
    if by == "week":
        monday = day - timedelta(day.weekday())
        return DayRange(monday, monday + timedelta(_WEEK_DAYS - 1))
    december = day.month == _DECEMBER
    following = date(day.year + december, 1 if december else day.month + 1, 1)
    return DayRange(day.replace(day=1), following - timedelta(1))


def same_weekdays_before(days: DayRange) -> DayRange | None:
    """As many days before some days, the last that are the same weekdays; None before 1970.

    Args:
        days: of whole weeks, those just before; else there are up to six days between.
    """
    weeks = -(-((days.until - days.since).days + 1) // _WEEK_DAYS)
    back = timedelta(weeks * _WEEK_DAYS)
    if days.since - FIRST_DAY < back:
        return None
    return DayRange(days.since - back, days.until - back)


def format_day(epoch: int) -> str:
    """A day as people write it.

    Args:
        epoch: days since 1970-01-01.
    """
    return (FIRST_DAY + timedelta(epoch)).isoformat()


def epoch_of(day: date) -> int:
    """The number of days since 1970-01-01."""
    return (day - FIRST_DAY).days


def day_of(epoch: int) -> date:
    """The day that is so many days after 1970-01-01."""
    return FIRST_DAY + timedelta(epoch)


def parse_day(text: str) -> int:
    """The number of a day, in days since 1970-01-01.

    Args:
        text: such as 2026-01-31, and in no other form.

    Raises:
        ValueError: if it is not a day in this form.
    """
    parsed = date.fromisoformat(text)
    if parsed.isoformat() != text:
        raise ValueError(text)
    return (parsed - FIRST_DAY).days
