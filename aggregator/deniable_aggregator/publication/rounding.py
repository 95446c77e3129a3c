"""Rounding that widens: a published interval always holds the one that was computed."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Final

from msgspec import Struct

from deniable_aggregator.decimals import EXACT, decimal_of

PARTS_OF_A_HALF_WIDTH: Final = 2
"""A unit is at most this part of half the width of the interval."""

_PARTS_OF_A_BOUND: Final = 4
"""A bound is rounded up to a unit of an eighth of it at most."""

_FIRST_DIGITS: Final = (5, 2, 1)


class Rounded(Struct, frozen=True):
    """A number as it is published, and its interval.

    Attributes:
        estimate: the nearest multiple of the unit; null if only the ends are known.
        low: the lower end, rounded down.
        high: the upper end, rounded up.
        unit: all three are multiples of it: 1, 2 or 5 times a power of ten. 0 if the interval has
            no width, and nothing was rounded.
    """

    estimate: float | None
    low: float
    high: float
    unit: float

    def __post_init__(self) -> None:
        """Checks the ends.

        Raises:
            ValueError: if they are not finite or in the wrong order, or the unit is below 0.
        """
        _check_ends(self.low, self.high)
        if not self.unit >= 0:
            raise ValueError(f"unit must be at least 0, got {self.unit!r}")


def round_outward(estimate: float | None, low: float, high: float) -> Rounded:
    """Rounds a number to what its interval supports.

    The unit is the largest of 1, 2 and 5 times a power of ten that is at most half of the
    half-width. Each end is moved outward by half a unit and then to the nearest multiple, which is
    the next one outward, so that the interval covers whatever it covered before.

    Args:
        estimate: the number; need not be within its interval. None if only the ends are known.
        low: the lower end, finite.
        high: the upper end, finite and at least `low`.

    Raises:
        ValueError: if the ends are not finite or in the wrong order.
    """
    _check_ends(low, high)
    unit = unit_of(high / 2 - low / 2)
    if not unit:
        return Rounded(estimate, low, high, 0.0)
    return Rounded(
        None if estimate is None else _multiple(estimate, unit, ROUND_HALF_EVEN),
        _multiple(low, unit, ROUND_FLOOR),
        _multiple(high, unit, ROUND_CEILING),
        float(unit),
    )


def unit_of(half_width: float) -> Decimal:
    """The largest of 1, 2 and 5 times a power of ten that is at most half of this; 0 of nothing.

    Args:
        half_width: half the width of an interval, at least 0.
    """
    most = Decimal(half_width) / PARTS_OF_A_HALF_WIDTH
    if not most > 0:
        return Decimal(0)
    power = Decimal(1).scaleb(most.adjusted())
    return next(digit * power for digit in _FIRST_DIGITS if digit * power <= most)


def format_upper_bound(value: float) -> str:
    """A number that bounds another, with a digit or two, such as "2.5".

    Args:
        value: at least 0 and finite.
    """
    unit = unit_of(value / _PARTS_OF_A_BOUND)
    return format_number(_multiple(value, unit, ROUND_CEILING), float(unit)) if unit else "0"


def format_number(number: float, unit: float, *, percent: bool = False) -> str:
    """A number to the digits of its unit, such as "17.5%" or "1,200".

    Args:
        number: a multiple of the unit.
        unit: that of its `Rounded`.
        percent: whether it is a fraction to be written as a percentage.
    """
    scaled, step = (decimal_of(each, percent=percent) for each in (number, unit))
    exponent = (step or scaled).normalize().as_tuple().exponent
    places = max(0, -exponent) if isinstance(exponent, int) else 0
    return f"{scaled + 0:,.{places}f}{'%' * percent}"


def _check_ends(low: float, high: float) -> None:
    if not -math.inf < low <= high < math.inf:
        raise ValueError(f"low and high must be finite and in their order, got {low!r}, {high!r}")


def _multiple(value: float, unit: Decimal, rounding: str) -> float:
    """The multiple of a unit next to a value."""
    quotient = EXACT.divide(decimal_of(value), unit)
    return float(quotient.to_integral_value(rounding) * unit) + 0.0  # no -0
