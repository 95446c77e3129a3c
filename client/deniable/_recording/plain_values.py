"""Flags and numbers of other types than Python's own: NumPy's, decimals and fractions.

Looked at only after a value has been refused, so that recording others costs nothing more. NumPy is
never imported: a program that has its values has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import Decimal
from numbers import Integral, Rational, Real
from typing import Final

_LARGEST: Final = sys.float_info.max
"""Stands for a finite number beyond the floats, as it is beyond any metric's range, too."""


def as_plain(value: object) -> object:
    """The bool, int or float that a value stands for; the value itself if it does not.

    A flag stays a flag, and a number a number: neither is made of the other.

    Args:
        value: as it was recorded; of a mapping, each value is looked at.

    Raises:
        Exception: what the value raised when it was asked for its number; it may hold the value.
    """
    if isinstance(value, Mapping):
        return {name: as_plain(each) for name, each in value.items()}
    if isinstance(value, bool | int | float | str):
        return value
    scalar = getattr(sys.modules.get("numpy"), "generic", None)
    if isinstance(scalar, type) and isinstance(value, scalar):
        plain = {"b": bool, "i": int, "u": int, "f": float}.get(value.dtype.kind)  # type: ignore[attr-defined]
        return value if plain is None else plain(value)  # a time span, for one, has no plain number
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Decimal):
        return max(-_LARGEST, min(_LARGEST, float(value))) if value.is_finite() else value
    if isinstance(value, Rational):
        try:
            return float(value)
        except OverflowError:
            return _LARGEST if int(value.numerator) > 0 else -_LARGEST
    return float(value) if isinstance(value, Real) else value
