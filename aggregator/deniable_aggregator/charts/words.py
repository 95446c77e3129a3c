"""Numbers as pictures write them: rounded to their interval, shares in percent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.charts.figure import Interval, Unit

ENDINGS: Final[Mapping[Unit, str]] = {"share": "%", "points": " points", "ratio": " times"}
MOST_DECIMALS: Final = 9


def percent(share: float) -> str:
    """A share alone, with two figures: "0.62%", "12%"."""
    return f"{100 * share:.2g}%" if 0.001 <= abs(share) < 0.995 else f"{share:.2%}"


def decimals_of(interval: Interval, unit: Unit) -> int:
    """How many decimals numbers have that are so uncertain; negative to round to tens.

    Args:
        interval: the range that the number may be off by.
        unit: how it is written.
    """
    width = factor(unit) * (interval.high - interval.low)
    return _decimals(width, unit)


def factor(unit: Unit) -> float:
    """What a number is multiplied by where it is written."""
    return 100.0 if unit in ("share", "points") else 1.0


def number(value: float, decimals: int, *, sign: bool = False) -> str:
    """A number with so many decimals, and thousands separated."""
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{'+' if sign and rounded else ''},.{max(0, decimals)}f}"


def in_words(interval: Interval, unit: Unit) -> str:
    """An interval as it stands beside its mark: "44.4 to 45.2%", or "below 0.6%"."""
    ending = ENDINGS.get(unit, "")
    low, high = factor(unit) * interval.low, factor(unit) * interval.high
    if unit == "share" and not interval.told:
        high = max(high, 0.0)
        return f"below {number(high, _decimals(high, unit))}{ending}"
    decimals, sign = decimals_of(interval, unit), unit == "points"
    return f"{number(low, decimals, sign=sign)} to {number(high, decimals, sign=sign)}{ending}"


def _decimals(width: float, unit: Unit) -> int:
    if not 0 < width < math.inf:
        return 2
    decimals = min(MOST_DECIMALS, math.ceil(-math.log10(width / 2)))
    return max(0, decimals) if unit in ("share", "points") else decimals
