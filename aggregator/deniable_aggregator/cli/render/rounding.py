"""Shares, numbers and their intervals, to the digits that the interval supports."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Final, Protocol

from deniable_aggregator.decimals import EXACT, decimal_of
from deniable_aggregator.sentences import range_in_words

if TYPE_CHECKING:
    from deniable_aggregator.answers.common import Number

TWO_DIGITS_UNTIL: Final = 3.55
"""An error whose digits are below this is written with two of them, others with one: rounding then
changes it by an eighth at most (Particle Data Group, Review of Particle Physics, section 5.3)."""

ALIKE: Final = 0.2
"""An interval whose sides differ by less than this part of their mean is written as one ±."""

MOST_DECIMALS: Final = 12


class WithInterval(Protocol):
    """A share and the ends of its interval."""

    @property
    def share(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


def decimals(half_width: float) -> int:
    """How many digits after the point an error of this size supports, 0 to 12.

    Args:
        half_width: half the width of an interval, at least 0.
    """
    if not 0 < half_width < math.inf:
        return 0
    digits, _, power = f"{half_width:.6e}".partition("e")
    shown = 1 if float(digits) < TWO_DIGITS_UNTIL else 0
    return min(max(shown - int(power), 0), MOST_DECIMALS)


def fixed(value: float, places: int, *, signed: bool = False) -> str:
    """A number with so many digits after the point, commas between thousands, and no -0.

    Args:
        value: the number.
        places: of digits after the point.
        signed: whether a number above zero has a plus.
    """
    rounded = round(value, places) + 0.0
    return f"{rounded:{'+' if signed and rounded else ''},.{places}f}"


def with_error(row: WithInterval) -> str:
    """A share and its interval, such as "17.7% ± 0.5%", or "3% [1, 8]" if its sides differ.

    Args:
        row: has them as fractions.
    """
    share, low, high = 100 * row.share, 100 * row.low, 100 * row.high
    half = (high - low) / 2
    places = decimals(half)
    if abs((high - share) - (share - low)) <= ALIKE * half:
        return f"{fixed(share, places)}% ± {fixed(half, places)}%"
    return f"{fixed(share, places)}% {_ends(row.low, row.high, places, percent=True)}"


def upper_limit(row: WithInterval) -> str:
    """What is known of a share that can't be told from zero, such as "below 0.6%".

    Args:
        row: has the ends of its interval as fractions.
    """
    return range_in_words(min(row.low, 0.0), row.high)


def between(number: Number) -> str:
    """A number and half of the width of its interval, such as "1.94 ± 0.24".

    Args:
        number: with the ends of its interval.
    """
    half = (number.high - number.low) / 2
    places = decimals(half)
    return f"{fixed(number.estimate, places)} ± {fixed(half, places)}"


def number_with_ends(value: float | None, low: float, high: float) -> str:
    """A number and its interval, such as "1.78 [1.74, 1.82]".

    Args:
        value: the number; None if the reports cannot place it.
        low: the lower end.
        high: the upper end.
    """
    places = decimals((high - low) / 2)
    named = "can't place" if value is None else fixed(value, places)
    return f"{named} {_ends(low, high, places)}"


def difference_with_ends(change: float | None, low: float, high: float, *, shares: bool) -> str:
    """A difference and its interval: of shares "+8.2 points [6.1, 10.3]", else "+8.2 [6.1, 10.3]".

    Args:
        change: the difference; None if one of the two cannot be placed.
        low: the lower end.
        high: the upper end.
        shares: whether these are differences of fractions, shown in percentage points.
    """
    unit = 100 if shares else 1
    places = decimals(unit * (high - low) / 2)
    ends = _ends(low, high, places, percent=shares)
    if change is None:
        return f"can't place {ends}"
    named = fixed(unit * change, places, signed=True)
    return f"{named} points {ends}" if shares else f"{named} {ends}"


def _ends(low: float, high: float, places: int, *, percent: bool = False) -> str:
    """The ends of an interval in brackets, rounded outward: what is printed is never narrower.

    An end is not rounded to zero: that would say of an interval without zero that it has it. What
    is zero to `MOST_DECIMALS` is zero, which floats missed: bins have such ends.
    """
    ends = []
    for each, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING)):
        end = decimal_of(each, percent=percent)
        rounded = end.quantize(Decimal(1).scaleb(-places), rounding, EXACT)
        if end and not rounded and end.adjusted() >= -MOST_DECIMALS:
            rounded = end.quantize(Decimal(1).scaleb(end.adjusted()), rounding, EXACT)
        ends.append(f"{rounded + 0:,f}")
    return f"[{', '.join(ends)}]"
