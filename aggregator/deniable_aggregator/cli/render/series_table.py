"""A series as a table, and the lines below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from deniable_aggregator.answers.days import MARK_WORDS
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    close_table,
    columns_or_lines,
    literal_text,
    repeated,
    shift_if_fake,
)
from deniable_aggregator.cli.render.share_table import IntervalBar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table
    from rich.text import Text

    from deniable_aggregator.answers.trends import Period, Series

_MEDIAN: Final = 0.5


class _Row(NamedTuple):
    """One estimate of a period."""

    name: str
    estimate: float | None
    low: float
    high: float
    shift_if_fake: float | None


def series_table(answer: Series, width: int = UNBROKEN) -> Table:
    """One row per period and value, with the interval as a picture where there is room for it.

    Args:
        answer: the series.
        width: of the terminal, in characters.
    """
    shares = answer.kind == "shares"
    scale = max([1e-9, *(row.high for period in answer.periods for row in _rows(period))])
    title = f"{answer.metric} by {answer.by}: {answer.reports:,} reports"
    bars = shares and width >= WIDE
    table = close_table(title=title, expand=bars)
    table.add_column("period", no_wrap=True)
    table.add_column("reports", justify="right", no_wrap=True)
    marked = any(period.marks for period in answer.periods)
    if marked and width >= WIDE:
        table.add_column("marks", no_wrap=True)
    table.add_column("value" if shares else "", overflow="fold")
    what = "share" if shares else "estimate"
    table.add_column(f"{what}, {answer.interval.level:.0%} interval", no_wrap=True)
    if bars:
        table.add_column(f"0 to {scale:.1%}", ratio=1)
    form = _form(answer)
    for period in answer.periods:
        first = [*columns_or_lines(width, _days(period, width), _marks(period))]
        first.insert(1, f"{period.reports:,}")
        if width >= WIDE and not marked:
            del first[-1]
        rows = list(_rows(period))
        for index, row in enumerate(rows):
            where = first if index == 0 else [""] * len(first)
            estimate = "can't place" if row.estimate is None else form.format(row.estimate)
            low, high = form.format(row.low), form.format(row.high)
            cells: list[str | Text | IntervalBar] = [
                *where,
                literal_text(row.name),
                f"{estimate}  [{low}, {high}]",
            ]
            if bars and row.estimate is not None:
                cells.append(IntervalBar(row.low, row.estimate, row.high, scale))
            table.add_row(*cells)
        if not rows:
            table.add_row(*first, "", "-")
    return table


def series_notes(answer: Series) -> Iterator[str]:
    """What the numbers mean, a line each.

    Args:
        answer: the series.
    """
    yield f"Unit: {answer.unit}. Intervals: {answer.interval.meaning}."
    shifts = [row.shift_if_fake for period in answer.periods for row in _rows(period)]
    whose = "a share of a period" if answer.kind == "shares" else "an estimate of a period"
    yield shift_if_fake(answer.fakes, shifts, whose, _form(answer))
    if answer.values_asked is not UNSET:
        picked = f"Picked out of {answer.values_asked:,} values"
        yield f"{picked}, by their shares over all of these days."
    yield from repeated(answer.versions)


def _form(answer: Series) -> str:
    return "{:.2%}" if answer.kind == "shares" else "{:.4g}"


def _days(period: Period, width: int) -> str:
    """The days of a period, the last in a line of its own where there is little room."""
    if period.since == period.until:
        return str(period.since)
    return (
        f"{period.since} to {period.until}"
        if width >= WIDE
        else f"{period.since} to\n{period.until}"
    )


def _marks(period: Period) -> str:
    """What is special about a period, a line each."""
    words = {**MARK_WORDS, "missing": MARK_WORDS["missing"] if period.reports else "no reports"}
    return "\n".join(words[mark] for mark in period.marks)


def _rows(period: Period) -> Iterator[_Row]:
    """What is shown of a period: values, or its mean, and quantiles of a distribution."""
    for share in period.estimates or ():
        yield _Row(share.value, share.share, share.low, share.high, share.shift_if_fake)
    if period.combined:
        both = period.combined
        name = " + ".join(both.values)
        yield _Row(name, both.share, both.low, both.high, both.shift_if_fake)
    if period.mean:
        mean = period.mean
        yield _Row("mean", mean.estimate, mean.low, mean.high, mean.shift_if_fake)
    for each in period.quantiles or ():
        name = "median" if each.quantile == _MEDIAN else f"{100 * each.quantile:g}% below"
        yield _Row(name, each.estimate, each.low, each.high, each.shift_if_fake)
