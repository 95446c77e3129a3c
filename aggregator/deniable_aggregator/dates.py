"""Days as people write them, such as 2026-01-31; in the code a day is a count from 1970-01-01."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

FIRST_DAY: Final = date(1970, 1, 1)
LAST_DAY: Final = date(9999, 12, 31)


@dataclass(frozen=True)
class DayRange:
    """Some days in a row.

    Attributes:
        since: the first.
        until: the last, inclusive.
    """

    since: date
    until: date


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
