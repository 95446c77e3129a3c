"""Bounds of what is written, and decimal numbers as texts."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable


EXACT: Final = Context(prec=700)
"""Enough digits for any sum or rounding of two floats."""


def decimal_of(number: float, *, percent: bool = False) -> Decimal:
    """The shortest decimal that means this float: 0.46 and not 0.46000000000000002.

    Args:
        number: any finite one.
        percent: whether it is a fraction that is wanted in percent: 46 for 0.46.
    """
    return Decimal(repr(float(number))).scaleb(2 * percent, EXACT)


Number = TypeVar("Number", float, Decimal)

Limits = tuple[float, float]
"""The least and the greatest that a true number can be."""

SHARE: Final[Limits] = (0.0, 1.0)
"""Of a share, as a fraction."""


def cut(low: Number, high: Number, limits: tuple[Number, Number]) -> tuple[Number, Number]:
    """The part of an interval that is within limits.

    An interval that lies beyond a limit altogether counts as one around that limit, so that its
    part within is half as wide as the interval: noise has moved it there.

    Args:
        low: the lower end; may be infinite.
        high: the upper end, at least `low`.
        limits: the first is below the second.
    """
    least, greatest = limits
    half = (high - low) / 2
    if low >= greatest:
        return max(least, greatest - half), greatest
    if high <= least:
        return least, min(greatest, least + half)
    return max(least, low), min(greatest, high)


def widest(ranges: Iterable[Limits]) -> Limits | None:
    """The limits that hold all of these, such as the ranges of a metric's versions; None of none.

    Args:
        ranges: each with the lower end first.
    """
    ends = [end for each in ranges for end in each]
    return (min(ends), max(ends)) if ends else None
