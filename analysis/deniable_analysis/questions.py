"""What is typed in a notebook, as the questions that a source answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from deniable_aggregator.answers import lists
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.asking.dates import parse_day, parse_period
from deniable_shared.errors import ParameterError

_LIST: Final = "list:"
"""Begins the name of a shipped list, as on the command line."""

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    Day = str | date
    """A day: a date, or a text such as 2026-01-31, yesterday or -7d."""

    Period = str | date | tuple[Day, Day]
    """Some days in a row: "2026-01-01/2026-01-31", "-7d/", a pair of days, or one day."""

    Some = str | Iterable[str]
    """One text, or several."""


class Ends(TypedDict):
    """The first and the last day of a question, as the fields of its query."""

    since: date | None
    until: date | None


def as_days(since: Day | None, until: Day | None, days: Period | None, today: date) -> Ends:
    """The first and the last day of a question, as the fields of its query.

    Raises:
        ParameterError: if something is no day, or days are given twice.
    """
    if days is not None:
        if since is not None or until is not None:
            raise ParameterError("days", "left out if since or until are given", days)
        span = as_period(days, today, "days")
        return {"since": span.since, "until": span.until}
    return {
        "since": None if since is None else parse_day(since, today, name="since"),
        "until": None if until is None else parse_day(until, today, name="until"),
    }


def as_period(period: Period, today: date, name: str) -> DayRange:
    """Some days in a row.

    Raises:
        ParameterError: if these are none.
    """
    if isinstance(period, tuple):
        if len(period) != 2:
            raise ParameterError(name, "two days", period)
        first, last = (parse_day(each, today, name=name) for each in period)
        if first > last:
            raise ParameterError(name, "two days in their order", period)
        return DayRange(first, last)
    return parse_period(period, today, name=name)


def as_texts(texts: Some, name: str) -> tuple[str, ...]:
    """One text or several, each once.

    Raises:
        ParameterError: if one is no text.
    """
    several = (texts,) if isinstance(texts, str) else tuple(texts)
    for each in several:
        if not isinstance(each, str):
            raise ParameterError(name, "text, or several texts", each)
    return tuple(dict.fromkeys(several))


def as_values(texts: Some, name: str) -> tuple[str, ...]:
    """Values to look for: one text or several, or a shipped list such as "list:emoji".

    Raises:
        ParameterError: if one is no text, or there is no such list.
    """
    if isinstance(texts, str) and texts.startswith(_LIST):
        return lists.load(texts.removeprefix(_LIST))
    return as_texts(texts, name)
