"""The figure of one number over time, from rows of the table of estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import Figure, Line, Lines, Moment, interval_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.estimate_table import TableRow
    from deniable_aggregator.answers.words import PeriodLength
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.limits import Limits

LEVEL: Final = 0.95
"""Of the intervals in the table of estimates."""


def trend_figure(
    title: str,
    by: PeriodLength,
    periods: Sequence[DayRange],
    rows: Sequence[TableRow],
    limits: Limits | None = None,
) -> Figure:
    """One number, period by period.

    Args:
        title: whose number it is.
        by: how long a period is.
        periods: all that are drawn, in their order.
        rows: at most one of each period, all of the same value, mean or quantile.
        limits: the range of a metric of numbers, if it is known.
    """
    of_period = {row.since: row for row in rows}
    found = [of_period.get(period.since) for period in periods]
    shares = any(row.measure == "share" for row in rows)
    return Figure(
        title=title,
        panels=(
            Lines(
                axis="share of reports" if shares else "number",
                unit="share" if shares else "number",
                by=by,
                marks=tuple(_marks(row) for row in found),
                lines=(
                    Line(
                        label=title,
                        moments=tuple(
                            _moment(period, row, limits)
                            for period, row in zip(periods, found, strict=True)
                        ),
                    ),
                ),
            ),
        ),
        level=LEVEL,
    )


def _moment(period: DayRange, row: TableRow | None, limits: Limits | None) -> Moment:
    if row is None or row.low is None or row.high is None:
        return Moment(since=period.since, until=period.until, interval=None)
    interval = interval_of(
        row.estimate,
        row.low,
        row.high,
        level=LEVEL,
        standard_error=row.standard_error,
        told=row.detected is not False,
        limits=limits,
    )
    return Moment(since=period.since, until=period.until, interval=interval)


def _marks(row: TableRow | None) -> tuple[str, ...]:
    """The marks of a period that has a number: the days that miss are not drawn."""
    marks = row.marks.split() if row is not None and row.marks else ()
    return tuple(mark for mark in marks if mark != "missing")
