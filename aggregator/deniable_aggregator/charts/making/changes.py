"""Figures of changes: differences between two periods, the largest rise first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from deniable_aggregator.answers.days import days_in_words
from deniable_aggregator.answers.trends import CombinedDifference
from deniable_aggregator.charts.figure import Dot, Dots, Figure, interval_of
from deniable_aggregator.charts.making.heading import (
    WHOSE,
    counted_in_words,
    intervals_in_words,
    named,
    title_of,
    warnings_of,
)
from deniable_aggregator.charts.words import from_to
from deniable_aggregator.sentences import quantile_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.trends import (
        Change,
        Difference,
        QuantileDifference,
    )
    from deniable_aggregator.charts.figure import Unit


def change_figure(answer: Change, most: int) -> Figure:
    """What has changed between two periods.

    Args:
        answer: the change.
        most: how many values are drawn: those with the largest changes.
    """
    shares, level = answer.kind == "shares", answer.interval.level
    largest = sorted(answer.changes, key=lambda row: -abs(row.change))[:most]
    rows: list[Difference | CombinedDifference] = sorted(largest, key=lambda row: -row.change)
    if answer.combined is not UNSET:
        rows.insert(0, answer.combined)
    values = answer.values_compared
    count = max(len(answer.changes), 0 if values is UNSET else values)
    panels = [
        Dots(
            axis=f"change of the share of {_whose(answer)}, in percentage points"
            if shares
            else f"change of the mean {answer.metric}",
            unit="points" if shares else "difference",
            dots=tuple(_dot(row, level, shares=shares) for row in rows),
            left_out=f"the {len(largest)} largest of {count:,} changes"
            if count > len(largest)
            else "",
        )
    ]
    if answer.quantiles is not UNSET:
        panels.append(_quantiles(answer.metric, answer.quantiles, level))
    return Figure(
        title=title_of(answer.metric, answer.description),
        warnings=warnings_of(answer.notices),
        subtitle=(
            *named(answer.metric, answer.description),
            *(
                f"{when}: {days_in_words(each.days)}; {each.reports:,} reports"
                for when, each in (("Before", answer.before), ("After", answer.after))
            ),
            counted_in_words(
                answer.before.reports + answer.after.reports,
                [*answer.before.versions, *answer.after.versions],
            ),
        ),
        panels=tuple(panels),
        notes=(intervals_in_words(answer.interval),),
        level=level,
    )


def _whose(answer: Change) -> str:
    whose = WHOSE[answer.margin]
    if answer.segment is not UNSET:
        return f"{whose} with {answer.segment[0].name}={answer.segment[0].value}"
    return whose


def _dot(row: Difference | CombinedDifference, level: float, *, shares: bool) -> Dot:
    if isinstance(row, CombinedDifference):
        label = " + ".join(row.values)
    else:
        label = "mean" if row.value is UNSET else row.value
    interval = interval_of(
        row.change,
        row.low,
        row.high,
        level=level,
        standard_error=row.standard_error,
        told=row.changed,
    )
    unit: Unit = "share" if shares else "number"
    return Dot(label=label, interval=interval, aside=from_to(row.before, row.after, interval, unit))


def _quantiles(metric: str, rows: Sequence[QuantileDifference], level: float) -> Dots:
    dots = []
    for row in rows:
        interval = interval_of(row.change, row.low, row.high, level=level, told=row.changed)
        aside = ""
        if row.before is not None and row.after is not None:
            aside = from_to(row.before, row.after, interval, "number")
        dots.append(Dot(label=quantile_in_words(row.quantile), interval=interval, aside=aside))
    return Dots(
        heading="Quantiles", axis=f"change of {metric}", unit="difference", dots=tuple(dots)
    )
