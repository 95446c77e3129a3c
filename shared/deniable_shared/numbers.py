"""Numbers of a bounded range: where a value stands in it, in exact arithmetic."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, Final

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION

Range = tuple[Fraction, Fraction]

DEFAULT_BINS: Final = 32
MAX_BINS: Final = 256
MIN_DELTA: Final = Fraction(1, 10**12)
MAX_DELTA: Final = Fraction(1, 10**5)
"""The ceiling of delta, see `Mechanism.delta`."""

_MAX_END_CHARACTERS: Final = 200
_END: Final = re.compile(r"-?[0-9]+(/[0-9]+)?")


def is_number(value: object) -> bool:
    """Whether a value is a finite int or float; a bool is neither."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def nearest_place(value: float | Fraction, ends: Range) -> int:
    """The nearest of the 2^20 + 1 places of a range: an integer in [0, 2^20].

    Args:
        value: an int, a finite float or a fraction; all of its digits count. It is clamped to the
            range.
        ends: lower and upper end.
    """
    above, width = _above(value, ends)
    return (2 * above * RESOLUTION + width) // (2 * width)


def bin_index(value: float | Fraction, ends: Range, bins: int) -> int:
    """The bin that a number falls into; the last one has both its ends.

    Args:
        value: an int, a finite float or a fraction, clamped to the range.
        ends: lower and upper end.
        bins: how many bins of equal width divide the range.
    """
    above, width = _above(value, ends)
    return min(above * bins // width, bins - 1)


def _above(value: float | Fraction, ends: Range) -> tuple[int, int]:
    """How far a number is above the lower end, and the width, in a unit that makes both integers.

    Plain integers: every record pays for this, and fractions would take ten times as long.
    """
    numerator, denominator = value.as_integer_ratio()
    low, high = ends
    above = (numerator * low.denominator - low.numerator * denominator) * high.denominator
    width = high.numerator * low.denominator - low.numerator * high.denominator
    width *= denominator
    return min(max(above, 0), width), width


def canonical_range(ends: Range) -> list[str]:
    """Both ends as reduced fractions, such as ``["0", "61/2"]``: JSON has no exact decimals."""
    return [str(end) for end in ends]


def range_from_canonical(data: Any) -> Range:
    """The range that `canonical_range` wrote.

    Raises:
        ParameterError: if it is anything else.
    """
    if isinstance(data, list) and len(data) == 2 and all(map(_is_end, data)):
        low, high = (Fraction(end) for end in data)
        if canonical_range((low, high)) == data:
            return low, high
    raise ParameterError("range", "two reduced fractions", data)


def number_from_canonical(name: str, data: Any) -> Fraction:
    """The number that was written as a reduced fraction.

    Args:
        name: of its field.
        data: as it was read.

    Raises:
        ParameterError: if it is anything else.
    """
    if _is_end(data) and str(Fraction(data)) == data:
        return Fraction(data)
    raise ParameterError(name, "a reduced fraction", data)


def _is_end(text: object) -> bool:
    return (
        isinstance(text, str)
        and len(text) <= _MAX_END_CHARACTERS
        and _END.fullmatch(text) is not None
        and not text.endswith("/0")
    )
