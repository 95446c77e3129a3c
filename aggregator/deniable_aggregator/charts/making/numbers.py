"""Figures of numbers: a mean alone, or a histogram with mean and quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from deniable_aggregator.answers.common import Number
from deniable_aggregator.answers.limits import limits_of
from deniable_aggregator.charts.figure import (
    Bar,
    Dot,
    Dots,
    Figure,
    Histogram,
    Interval,
    Placed,
    interval_of,
)
from deniable_aggregator.charts.making.heading import (
    WHOSE,
    head_lines,
    intervals_in_words,
    title_of,
    warnings_of,
)
from deniable_aggregator.sentences import quantile_in_words

if TYPE_CHECKING:
    from deniable_aggregator.answers.common import Quantile
    from deniable_aggregator.answers.estimates import Distribution, Mean
    from deniable_aggregator.limits import Limits


def mean_figure(answer: Mean) -> Figure:
    """A mean within the range of its metric.

    Args:
        answer: the mean.
    """
    limits, level = limits_of(answer), answer.interval.level
    return Figure(
        title=title_of(answer.metric, answer.description),
        warnings=warnings_of(answer.notices),
        subtitle=tuple(head_lines(answer, answer.metric, answer.reports, answer.versions)),
        panels=(
            Dots(
                axis=f"mean {answer.metric} of {WHOSE[answer.margin]}, over the metric's range"
                if limits
                else f"mean {answer.metric} of {WHOSE[answer.margin]}",
                unit="number",
                reference=0.0 if limits is None or limits[0] <= 0 <= limits[1] else None,
                ends=limits or (),
                dots=(Dot(label="mean", interval=placed_interval(answer.mean, level, limits)),),
            ),
        ),
        notes=(intervals_in_words(answer.interval),),
        level=level,
    )


def distribution_figure(answer: Distribution) -> Figure:
    """A histogram, with its mean and its quantiles below.

    Args:
        answer: the distribution.
    """
    limits, level = limits_of(answer), answer.interval.level
    widths = {round(each.end - each.start, 12) for each in answer.bins}
    wide = f", in bins of {min(widths):.4g}" if len(widths) == 1 else ""
    return Figure(
        title=title_of(answer.metric, answer.description),
        warnings=warnings_of(answer.notices),
        subtitle=tuple(head_lines(answer, answer.metric, answer.reports, answer.versions)),
        panels=(
            Histogram(
                axis=f"{answer.metric}{wide}",
                shares=f"share of {WHOSE[answer.margin]}",
                bars=tuple(
                    Bar(
                        start=each.start,
                        end=each.end,
                        interval=interval_of(each.share, each.low, each.high, level=level),
                    )
                    for each in answer.bins
                ),
                placed=(
                    Placed(name="mean", interval=placed_interval(answer.mean, level, limits)),
                    *(
                        Placed(
                            name=quantile_in_words(each.quantile),
                            interval=placed_interval(each, level, limits),
                        )
                        for each in answer.quantiles
                    ),
                ),
            ),
        ),
        notes=(intervals_in_words(answer.interval), f"Shares of bins are {answer.label}."),
        level=level,
    )


def placed_interval(number: Number | Quantile, level: float, limits: Limits | None) -> Interval:
    """The interval of a mean or of a quantile.

    Args:
        number: the mean or quantile.
        level: of its interval.
        limits: the range of its metric, if that is known.
    """
    error = number.standard_error if isinstance(number, Number) else UNSET
    return interval_of(
        number.estimate,
        number.low,
        number.high,
        level=level,
        standard_error=None if error is UNSET else error,
        limits=limits,
    )
