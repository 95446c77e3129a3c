"""An estimate with the range that it may be off by, as tables and pictures draw it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.limits import SHARE, Limits, cut

if TYPE_CHECKING:
    from deniable_aggregator.answers.measured import Unit

CORE_LEVEL: Final = 0.5
"""Of the darker middle of an interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the range that it may be off by.

    Attributes:
        estimate: as the answer has it; None if the reports cannot place it.
        low: the lower end of its interval.
        high: the upper end.
        core_low: the lower end of the inner half of the interval.
        core_high: its upper end.
        told: whether it is told from zero; of a change, whether it is a clear one.
        limits: what a number can be, such as the range of its metric; None if that is not known.
        step: to which words round all of these; None for the digits of the interval.
        beyond: whether a quantile may lie below, and above, although its interval ends there.
    """

    estimate: float | None
    low: float
    high: float
    core_low: float
    core_high: float
    told: bool = True
    limits: Limits | None = None
    step: float | None = None
    beyond: tuple[bool, bool] = (False, False)


def interval_of(
    estimate: float | None,
    low: float,
    high: float,
    *,
    level: float,
    standard_error: float | None = None,
    told: bool = True,
    limits: Limits | None = None,
    step: float | None = None,
    beyond: tuple[bool, bool] = (False, False),
) -> Interval:
    """An interval with its inner half.

    The inner half covers with probability 1/2 if errors are normal. It is made from the standard
    error, which intervals of many values together or of picked values do not show, and is never
    further from the estimate than the interval's end allows for.

    Args:
        estimate: None if it cannot be placed.
        low: the lower end.
        high: the upper end.
        level: with which probability the interval covers, between 0 and 1.
        standard_error: of the estimate, where the answer has it.
        told: whether it is told from zero.
        limits: what a number can be, if that is known.
        step: to which words round all of these, if not to the digits of the interval.
        beyond: as of `Interval`.
    """
    if estimate is None:  # nothing says where in the interval its middle is
        return Interval(None, low, high, low, low, told, limits, step, beyond)
    of_core, of_whole = (NormalDist().inv_cdf((1 + each) / 2) for each in (CORE_LEVEL, level))
    below, above = (
        max(0.0, side) * min(1.0, of_core / of_whole) for side in (estimate - low, high - estimate)
    )
    if standard_error is not None:
        below, above = (min(side, of_core * standard_error) for side in (below, above))
    core = estimate - below, estimate + above
    return Interval(estimate, low, high, *core, told, limits, step, beyond)


def shown_part(interval: Interval, unit: Unit) -> Interval:
    """An interval as it is drawn: cut where its number cannot be, as words say it.

    A share lies within 0 and 100%, a mean within the range of its metric. An estimate beyond an end
    is drawn at that end. A share that cannot be told from zero is drawn from zero on.

    Args:
        interval: of a figure.
        unit: what its number is.
    """
    limits = SHARE if unit == "share" else interval.limits
    if limits is None:
        return interval
    low, high = cut(interval.low, interval.high, limits)
    if unit == "share" and not interval.told:
        low = SHARE[0]

    def inside(number: float) -> float:
        return min(max(number, low), high)

    return replace(
        interval,
        estimate=None if interval.estimate is None else inside(interval.estimate),
        low=low,
        high=high,
        core_low=inside(interval.core_low),
        core_high=inside(interval.core_high),
    )


def times_in_words(probability: float) -> str:
    """A probability as a number of times, such as "19 times in 20" for 0.95.

    Args:
        probability: in [0, 1].
    """
    part = Fraction(probability).limit_denominator(1_000)
    times = "time" if part.numerator == 1 else "times"
    return f"{part.numerator:,} {times} in {part.denominator:,}"
