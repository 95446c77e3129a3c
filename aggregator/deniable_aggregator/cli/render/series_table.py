"""A series as a table, and the lines below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from deniable_aggregator.answers.days import MARK_WORDS
from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.change_table import written_p_value
from deniable_aggregator.cli.render.layout import Bars, Texts, fits, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN, WIDE, literal_text
from deniable_aggregator.cli.render.rounding import number_with_ends, with_error
from deniable_aggregator.cli.render.share_table import (
    known_over,
    possible_of_all,
    share_cell,
    share_heading,
)
from deniable_aggregator.sentences import possible_shift, quantile_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.trends import Period, Series, SeriesAlarm


_WHOLE: Final = ("", "all")
"""Where a number is of all reports of its period."""


class _Row(NamedTuple):
    """One estimate of a period.

    Attributes:
        of: how many reports of the period a share is of.
        possible: what it can be of all.
    """

    name: str
    written: str
    estimate: float | None
    low: float
    high: float
    detected: bool
    shift_if_fake: float | None
    of: str = ""
    possible: str = ""


def series_table(answer: Series, width: int = UNBROKEN) -> Table:
    """One row per period and value, with the interval as a picture where there is room for it.

    Where rows are not broken, each has its period, so that it can be cut out and searched for.

    Args:
        answer: the series.
        width: of the terminal, in characters.
    """
    names: list[str] = []
    periods: list[tuple[str, str, str]] = []
    rows: list[_Row | None] = []
    ends: list[bool] = []
    for period in answer.periods:
        shown: list[_Row | None] = [*_rows(period)] or [None]
        first = (_days(period, width), f"{period.reports:,}", _marks(period, width))
        for index, row in enumerate(shown):
            periods.append(first if index == 0 or width >= UNBROKEN else ("", "", ""))
            names.append(literal_text(row.name) if row else "")
            rows.append(row)
            ends.append(width < WIDE and len(shown) > 1 and index == len(shown) - 1)
    columns = [
        Texts("period", [each[0] for each in periods]),
        Texts("reports", [each[1] for each in periods], "right"),
    ]
    if any(each[2] for each in periods):
        marks = [each[2] for each in periods]
        if width >= WIDE:
            columns.append(Texts("marks", marks))
        else:
            below = [_below(each[0], each[2]) for each in periods]
            columns[0] = Texts("period", below)
    shares = answer.kind == "shares"
    columns.append(Texts("value" if shares else "", names, folds=True))
    heading = share_heading(answer.interval)
    written = [row.written if row else "-" for row in rows]
    columns.append(
        Texts(heading if shares else heading.replace("share", "estimate"), written, "right")
    )
    if any(row and row.of not in _WHOLE for row in rows):
        columns = _with_reports(columns, rows, width)
    return lay_out(columns, _bars(rows, shares=shares), width, ends)


def _with_reports(columns: list[Texts], rows: list[_Row | None], width: int) -> list[Texts]:
    """Beside the shares of how many reports they are, or below them where there is no room."""
    of = [row.of if row else "" for row in rows]
    possible = [row.possible if row else "" for row in rows]
    beside = [*columns, Texts("of reports", of, "right")]
    if any(possible):
        beside.append(Texts("possible\nof all", possible, "right"))
    if fits(beside, width):
        return beside
    cells = [
        cell
        + (f"\nof {some}" if some not in _WHOLE else "")
        + (f"\nperhaps {most}" if most else "")
        for cell, some, most in zip(columns[-1].cells, of, possible, strict=True)
    ]
    return [*columns[:-1], columns[-1]._replace(cells=cells)]


def _bars(rows: list[_Row | None], *, shares: bool) -> Bars:
    """Bars of shares on a scale that begins at zero; of numbers on one of their own."""
    ends = [end for row in rows if row for end in (row.low, row.high)]
    if shares or not ends:
        scale = Scale.over(ends)
    else:
        scale = Scale(min(ends), max(*ends, min(ends) + 1e-9))
    bars = [
        None
        if row is None or row.estimate is None
        else IntervalBar(
            row.low,
            row.estimate,
            row.high,
            scale,
            hollow=not row.detected,
            zero=0.0 if scale.low <= 0 <= scale.high else None,
        )
        for row in rows
    ]
    return Bars(scale.heading("%" if shares else ""), bars)


def series_notes(answer: Series) -> Iterator[str]:
    """What stands below the table, a line each.

    Args:
        answer: the series.
    """
    for each in answer.annotations:
        yield f"{each.day}: {literal_text(each.text)}"
    if answer.alarm:
        yield from alarm_lines(answer.alarm)
    yield possible_shift(answer)
    if answer.values_asked is not UNSET:
        picked = f"Picked out of {answer.values_asked:,} values"
        yield f"{picked}, by their shares over all of these days."


def alarm_lines(alarm: SeriesAlarm) -> Iterator[str]:
    """Where the distribution has changed from one period to the next.

    Args:
        alarm: of the series.
    """
    tests = f"{len(alarm.tests):,} test{'' if len(alarm.tests) == 1 else 's'}"
    for each in alarm.tests:
        if each.changed:
            before, after = (
                str(first) if first == last else f"{first} to {last}"
                for first, last in (
                    (each.before_since, each.before_until),
                    (each.since, each.until),
                )
            )
            p_value = written_p_value(each.adjusted_p_value)
            yield f"Alarm: {after} is unlike {before} as a whole, p {p_value} of {tests}."
    if not alarm.tests:
        yield (
            "No alarm yet: nothing was tested. It takes 2 periods that are over and have reports "
            "of one version."
        )
    elif not alarm.raised:
        yield f"No alarm: no clear change of the whole distribution in {tests}."


def _days(period: Period, width: int) -> str:
    """The days of a period, the last in a line of its own where there is little room."""
    if period.since == period.until:
        return str(period.since)
    return (
        f"{period.since} to {period.until}"
        if width >= WIDE
        else f"{period.since} to\n{period.until}"
    )


def _marks(period: Period, width: int) -> str:
    """What is special about a period, a line each, or one line where rows are not broken."""
    words = {**MARK_WORDS, "missing": MARK_WORDS["missing"] if period.reports else "no reports"}
    return (", " if width >= UNBROKEN else "\n").join(words[mark] for mark in period.marks)


def _below(days: str, marks: str) -> str:
    return "\n".join(filter(None, (days, marks)))


def _rows(period: Period) -> Iterator[_Row]:
    """What is shown of a period: values, or its mean, and quantiles of a distribution."""
    for share in period.estimates or ():
        ends, detected = (share.low, share.high), share.detected
        cell, shift = share_cell(share), share.shift_if_fake
        known = (known_over(share, period.reports), possible_of_all(share))
        yield _Row(share.value, cell, share.share, *ends, detected, shift, *known)
    if period.combined:
        both = period.combined
        name, ends = " + ".join(both.values), (both.low, both.high)
        known = (known_over(both, period.reports), possible_of_all(both))
        seen, shift = both.low > 0, both.shift_if_fake
        yield _Row(name, with_error(both), both.share, *ends, seen, shift, *known)
    if period.mean:
        mean = period.mean
        written = number_with_ends(mean.estimate, mean.low, mean.high)
        ends = (mean.low, mean.high)
        yield _Row("mean", written, mean.estimate, *ends, True, mean.shift_if_fake)
    for each in period.quantiles or ():
        written = number_with_ends(each.estimate, each.low, each.high)
        name, ends = quantile_in_words(each.quantile), (each.low, each.high)
        yield _Row(name, written, each.estimate, *ends, True, each.shift_if_fake)
