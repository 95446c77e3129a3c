"""What the address of a page about health asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.asking.dates import parse_day, parse_period
from deniable_aggregator.dates import DayRange
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

DEFAULT_SINCE: Final = "-28d"
MOST_DAYS: Final = 92
"""So many columns a grid has at most."""


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
