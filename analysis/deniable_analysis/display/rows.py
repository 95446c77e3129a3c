"""Rows of the long table as cells for people: only what differs, rounded to the intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.days import MARK_WORDS
from deniable_aggregator.sentences import (
    difference_in_words,
    number_in_words,
    number_range_in_words,
    points_in_words,
    quantile_in_words,
    range_in_words,
    share_in_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.answers.row import Row

_SHARES: Final = ("share", "combined", "rest", "segment size", "bin")
_POINTS: Final = ("difference in share", "difference in combined", "contrast in share")


class Cells(NamedTuple):
    """A table for people.

    Attributes:
        head: the names of its columns.
        rows: the cells.
        texts: so many first columns are texts, the others numbers.
    """

    head: list[str]
    rows: list[list[str]]
    texts: int


def cells_of(rows: Sequence[Row]) -> Cells:
    """The columns that say anything about these rows.

    Args:
        rows: of one answer.
    """
    level = next((f"{row.level:.0%}" for row in rows if row.level is not None), "")
    texts: dict[str, Callable[[Row], str]] = {"value": _name}
    if any(row.question == "series" for row in rows):
        texts = {"days": _days, **texts}
    if len({row.measure for row in rows}) > 1:
        texts = {**texts, "what": lambda row: row.measure}
    numbers: dict[str, Callable[[Row], str]] = {
        "before": lambda row: _rounded(row, row.before),
        "after": lambda row: _rounded(row, row.after),
        "estimate": _estimate,
        f"{level} interval".strip(): _interval,
        "told from zero": lambda row: _told(row) if row.question != "change" else "",
        "clear change": lambda row: _told(row) if row.question == "change" else "",
        "reports": lambda row: "" if row.reports is None else f"{row.reports:,}",
        "marks": lambda row: _marks(row) if row.question == "series" else "",
        "seen": lambda row: row.seen or "",
    }
    if all(row.question == "change" for row in rows):
        del numbers["estimate"], numbers["reports"]  # the interval says it, and the sentence
    columns = {**texts, **numbers}
    filled = {name: [cell(row) for row in rows] for name, cell in columns.items()}
    kept = {name: column for name, column in filled.items() if any(column)}
    lines = [list(line) for line in zip(*kept.values(), strict=True)]
    return Cells(list(kept), lines, sum(name in texts for name in kept))


def _name(row: Row) -> str:
    """What a row is about."""
    within = f" within {row.segment}" if row.segment and row.measure != "segment size" else ""
    if row.measure == "segment size":
        return row.segment or ""
    if row.quantile is not None:
        return quantile_in_words(row.quantile)
    if row.bin_from is not None and row.bin_to is not None:
        return f"{row.bin_from:g} to {row.bin_to:g}"
    if row.value is None:
        return row.measure.removeprefix("difference in ") + within
    return row.value + ("…" if row.whole is False else "") + within


def _days(row: Row) -> str:
    return str(row.since) if row.since == row.until else f"{row.since} to {row.until}"


def _estimate(row: Row) -> str:
    if row.estimate is None and row.low is not None:
        return "can't be placed"
    return _rounded(row, row.estimate)


def _rounded(row: Row, number: float | None) -> str:
    """A number to the digits that the interval of its row supports."""
    if number is None:
        return ""
    low = number if row.low is None else row.low
    high = number if row.high is None else row.high
    if row.measure in _SHARES or row.measure in _POINTS:
        return share_in_words(number, low, high)
    return number_in_words(number, low, high)


def _interval(row: Row) -> str:
    if row.low is None or row.high is None:
        return ""
    if row.measure in _POINTS:
        return points_in_words(row.low, row.high)
    if row.measure.startswith("difference"):
        return difference_in_words(row.low, row.high)
    in_words = range_in_words if row.measure in _SHARES else number_range_in_words
    return in_words(row.low, row.high)


def _told(row: Row) -> str:
    if row.told is None:
        return ""
    if row.question == "change":
        return "yes" if row.told else "no clear change"
    return "yes" if row.told else "can't tell"


def _marks(row: Row) -> str:
    words: dict[str, str] = {**MARK_WORDS}
    return ", ".join(words.get(mark, mark) for mark in (row.marks or "").split())
