"""Figures of series: one line per value, or of a number its mean and quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from deniable_aggregator.answers.limits import limits_of
from deniable_aggregator.charts.figure import (
    Event,
    Figure,
    Interval,
    Line,
    Lines,
    Moment,
    interval_of,
)
from deniable_aggregator.charts.making.heading import (
    WHOSE,
    head_lines,
    intervals_in_words,
    title_of,
    warnings_of,
)
from deniable_aggregator.charts.making.numbers import placed_interval
from deniable_aggregator.sentences import quantile_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.trends import Period, Series
    from deniable_aggregator.limits import Limits

MOST_LINES: Final = 8
"""More small pictures cannot be compared with one another."""


def series_figure(answer: Series, most: int) -> Figure:
    """A metric over time.

    Args:
        answer: the series.
        most: how many values are drawn, at most 8: those with the largest mean.
    """
    level = answer.interval.level
    limits = limits_of(answer)
    found = [_intervals(period, level, limits) for period in answer.periods]
    labels = list(dict.fromkeys(label for each in found for label in each))
    if answer.kind == "shares":
        labels.sort(key=lambda label: -_mean([each[label] for each in found if label in each]))
    most = min(most, MOST_LINES)
    drawn, left = labels[:most], labels[most:]
    shares = answer.kind == "shares"
    return Figure(
        title=title_of(answer.metric, answer.description),
        warnings=warnings_of(answer.notices),
        subtitle=tuple(head_lines(answer, answer.metric, answer.reports, answer.versions)),
        panels=(
            Lines(
                axis=f"share of {WHOSE[answer.margin]}{_within(answer)}"
                if shares
                else f"{answer.metric}, of {WHOSE[answer.margin]}",
                unit="share" if shares else "number",
                by=answer.by,
                marks=tuple(_marks(period) for period in answer.periods),
                lines=tuple(_line(label, answer.periods, found) for label in drawn),
                events=tuple(Event(day=each.day, text=each.text) for each in answer.annotations),
                left_out=f"the {len(drawn)} largest of {len(labels)} values" if left else "",
            ),
        ),
        notes=(intervals_in_words(answer.interval),),
        level=level,
    )


def _intervals(period: Period, level: float, limits: Limits | None) -> Mapping[str, Interval]:
    """What is drawn of a period, by label."""
    found: dict[str, Interval] = {}
    if period.combined is not UNSET:
        whole = period.combined
        found[" + ".join(whole.values)] = interval_of(
            whole.share,
            whole.low,
            whole.high,
            level=level,
            standard_error=whole.standard_error,
            told=whole.low > 0,
        )
    for row in [] if period.estimates is UNSET else period.estimates:
        found[row.value] = interval_of(
            row.share,
            row.low,
            row.high,
            level=level,
            standard_error=row.standard_error,
            told=row.detected,
        )
    if period.mean is not UNSET:
        found["mean"] = placed_interval(period.mean, level, limits)
    for each in [] if period.quantiles is UNSET else period.quantiles:
        found[quantile_in_words(each.quantile)] = placed_interval(each, level, limits)
    return found


def _line(label: str, periods: Sequence[Period], found: Sequence[Mapping[str, Interval]]) -> Line:
    return Line(
        label=label,
        moments=tuple(
            Moment(since=period.since, until=period.until, interval=each.get(label))
            for period, each in zip(periods, found, strict=True)
        ),
    )


def _marks(period: Period) -> tuple[str, ...]:
    """The marks of a period; of one with reports, the days that miss are only said above."""
    return tuple(mark for mark in period.marks if mark != "missing" or not period.reports)


def _within(answer: Series) -> str:
    segments = [period.segment for period in answer.periods if period.segment is not UNSET]
    return f" with {segments[0].name}={segments[0].value}" if segments else ""


def _mean(intervals: Sequence[Interval]) -> float:
    placed = [each.estimate for each in intervals if each.estimate is not None]
    return sum(placed) / len(placed) if placed else 0.0
