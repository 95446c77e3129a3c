"""How numbers that were estimated are rounded for people: to powers of ten, their ends outward.

This is the only place that decides how many digits a number has; `ranges` writes them.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.limits import EXACT, Limits, cut, decimal_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.measured import Unit

_WHOLE: Final = Decimal(1)

_WIDER: Final = Decimal("1.3")
"""A printed range is wider than its interval by no more than about this factor."""

FARTHEST: Final = 1e300
"""Where an interval without an end is said to end."""

_WIDER_IN_A_COLUMN: Final = Decimal("1.5")
"""The same, where all ranges of a column have the digits of its narrowest interval."""

_FAR_NARROWER: Final = 10
"""An interval so many times narrower than the middle one of its column has digits of its own."""

_NEVER_WIDENED_MUCH: Final = 4
"""An interval of so many steps is never made wider by more than half: by less than two steps."""

_COMPANY: Final = 2
"""So many numbers are a column."""

_FINEST: Final = Decimal("1e-300")
"""The smallest step that is kept as a float."""


class Outward(NamedTuple):
    """An interval whose ends were rounded outward.

    Attributes:
        low: the lower end; of a share above zero it keeps a first digit that is finer than the
            step.
        high: the upper end.
        step: the power of ten to which they are rounded, and an estimate beside them.
    """

    low: float
    high: float
    step: float


def outward(
    unit: Unit,
    low: float,
    high: float,
    limits: Limits | None = None,
    given: float | None = None,
) -> Outward:
    """An interval as words and tables have it, as numbers; not cut at what is possible.

    With `step`, the words of this interval are those of the one that it was made from.

    Args:
        unit: of the number: a share, or a number.
        low: the lower end.
        high: the upper end, at least `low`.
        limits: what a number can be, if that is known; the step goes by the part within.
        given: the step, as of `column_steps`; None for that of the interval itself.

    Raises:
        ValueError: if the ends are in the wrong order or not numbers.
    """
    percent = unit == "share"
    low, high = reached(low), reached(high)
    first, last = exact_ends(low, high, percent=percent)
    step = step_of(first, last)
    if given is not None:
        step = given_step(given, percent=percent)
    elif limits is not None:
        step = step_of(*exact_ends(*ends_within(low, high, limits)))
    step = max(step, _FINEST)
    bottom, top = outward_to(first, last, step)
    if percent and first > 0:
        bottom = above_zero(first, step)
    back = -2 if percent else 0
    return Outward(*(float(end.scaleb(back, EXACT)) + 0.0 for end in (bottom, top, step)))  # no -0


def to_step(number: float, step: float) -> float:
    """The multiple of a step that is nearest to a number.

    Args:
        number: finite.
        step: a power of ten.
    """
    return float(round_to(decimal_of(number), given_step(step), ROUND_HALF_EVEN)) + 0.0  # no -0


def column_steps(unit: Unit, intervals: Sequence[Limits]) -> list[float | None]:
    """To which power of ten each number of a column is rounded: the same for nearly all of them.

    It is the coarsest that makes no range wider by more than half. An interval that is less than a
    tenth as wide as the middle one does not decide, and has digits of its own: beside "12 to 14%",
    a share of 0.03% would otherwise give every row three digits that say nothing.

    Args:
        unit: of the numbers.
        intervals: their ends, in order; of those that can be, if limits are known.

    Returns:
        For each number its step; None for the digits of its own interval, which a number without
        company or without an interval has, too.
    """
    percent = unit in ("share", "points")
    widths = [high - low for low, high in intervals]
    wide = sorted(width for width in widths if 0 < width < FARTHEST)
    if len(wide) < _COMPANY:
        return [None] * len(widths)
    least = wide[(len(wide) - 1) // 2] / _FAR_NARROWER
    narrowest = next(width for width in wide if width >= least)
    first, last = exact_ends(*intervals[widths.index(narrowest)], percent=percent)
    step = _half_of(EXACT.subtract(last, first))
    sure = float(step.scaleb(-2 if percent else 0, EXACT)) * _NEVER_WIDENED_MUCH
    if any(
        step_of(*exact_ends(*ends, percent=percent), wider=_WIDER_IN_A_COLUMN) < step
        for ends, width in zip(intervals, widths, strict=True)
        if narrowest <= width < sure
    ):
        step = EXACT.divide(step, Decimal(10))
    alike = float(max(step.scaleb(-2 if percent else 0, EXACT), _FINEST))
    return [alike if narrowest <= width < FARTHEST else None for width in widths]


def step_of(first: Decimal, last: Decimal, *, wider: Decimal = _WIDER) -> Decimal:
    """The power of ten to round to: at most half of the width, and smaller if that widens much.

    Args:
        first: the lower end of an interval.
        last: the upper end; of an interval without width the step keeps all digits.
        wider: how many times as wide the rounded interval may be.
    """
    width = EXACT.subtract(last, first)
    if not width:
        return power_of_ten(min(int(first.normalize(EXACT).as_tuple().exponent), 0))
    step = _half_of(width)
    bottom, top = round_to(first, step, ROUND_FLOOR), round_to(last, step, ROUND_CEILING)
    much = EXACT.subtract(top, bottom) > EXACT.multiply(width, wider)
    return EXACT.divide(step, Decimal(10)) if much else step


def _half_of(width: Decimal) -> Decimal:
    """The largest power of ten that is at most half of a width above zero."""
    return power_of_ten(EXACT.divide(width, Decimal(2)).adjusted())


def outward_to(
    first: Decimal, last: Decimal, step: Decimal | None = None
) -> tuple[Decimal, Decimal]:
    """The ends of an interval, rounded outward.

    Args:
        first: the lower end.
        last: the upper end.
        step: to which; None for that of `step_of`.
    """
    step = step_of(first, last) if step is None else step
    return round_to(first, step, ROUND_FLOOR), round_to(last, step, ROUND_CEILING)


def above_zero(number: Decimal, step: Decimal) -> Decimal:
    """A positive number rounded down, but not to zero: that would say that it may be nothing."""
    rounded = round_to(number, step, ROUND_FLOOR)
    return rounded or round_to(number, power_of_ten(number.adjusted()), ROUND_FLOOR)


def exact_ends(low: float, high: float, *, percent: bool = False) -> tuple[Decimal, Decimal]:
    """The ends of an interval as the decimals that they are written as.

    Args:
        low: the lower end.
        high: the upper end, at least `low`.
        percent: whether they are fractions that are wanted in percent.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    if not float("-inf") < low <= high < float("inf"):
        raise ValueError(f"low and high must be finite and in this order, got {low!r}, {high!r}")
    return decimal_of(low, percent=percent), decimal_of(high, percent=percent)


def ends_within(low: float, high: float, limits: Limits) -> Limits:
    """The part of an interval that is within limits, see `limits.cut`.

    Raises:
        ValueError: if the ends are not finite or in the wrong order.
    """
    exact_ends(low, high)
    return cut(low, high, limits)


def reached(end: float) -> float:
    """An end of an interval that can be written; NaN is left for the check of the ends."""
    return end if math.isnan(end) else min(max(end, -FARTHEST), FARTHEST)


def given_step(step: float, *, percent: bool = False) -> Decimal:
    """A step as a power of ten: numbers are rounded to its exponent."""
    return decimal_of(step, percent=percent).normalize(EXACT)


def round_to(number: Decimal, step: Decimal, rounding: str) -> Decimal:
    """A number rounded to the exponent of a step, in one of the ways of `decimal`."""
    return number.quantize(step, rounding, EXACT)


def power_of_ten(exponent: int) -> Decimal:
    """Such as 0.01 for -2."""
    return _WHOLE.scaleb(exponent, EXACT)
