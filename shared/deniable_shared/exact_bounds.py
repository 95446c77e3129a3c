"""Exact bounds between epsilon and integer probabilities.

A probability is an integer weight over ``SCALE`` = 2^32. Weights are derived from a rational
lower bound of e^epsilon and rounded toward privacy, so that the epsilon a mechanism really has
is never above the one asked for. Rounding to nearest exceeds it in about one case of three.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

SCALE_BITS: Final = 32
SCALE: Final = 1 << SCALE_BITS

_FIXED_BITS: Final = 160


def exp_lower(exponent: Fraction) -> Fraction:
    """A rational lower bound of e^exponent, within a relative 2^-140.

    A Taylor partial sum of e^(exponent / 2^s) in fixed point, squared s times; every step
    rounds down.

    Args:
        exponent: greater than or equal to 0 and at most 1024.

    Raises:
        ValueError: if the exponent is outside that range.
    """
    if not 0 <= exponent <= 1024:
        raise ValueError(f"exponent must be in [0, 1024], got {exponent!r}")
    unit = 1 << _FIXED_BITS
    squarings = max(0, math.ceil(exponent).bit_length())
    small = (exponent.numerator << _FIXED_BITS) // (exponent.denominator << squarings)
    total = term = unit
    index = 1
    while term:
        term = (term * small >> _FIXED_BITS) // index
        total += term
        index += 1
    for _ in range(squarings):
        total = total * total >> _FIXED_BITS
    return Fraction(total, unit)


@lru_cache(maxsize=1_024)  # many metrics have the same few mechanisms
def log_upper(ratio: Fraction) -> float:
    """The natural logarithm of a ratio, as a float that is proven not to lie below it.

    Args:
        ratio: greater than or equal to 1.

    Raises:
        ValueError: if the ratio is below 1.
    """
    if not ratio >= 1:
        raise ValueError(f"ratio must be at least 1, got {ratio!r}")
    value = max(0.0, math.log(ratio.numerator) - math.log(ratio.denominator))
    while exp_lower(Fraction(value)) < ratio:
        value = max(math.nextafter(value, math.inf), value + 1e-15)
    return value


def ceil_divide(numerator: Fraction | int, denominator: Fraction | int) -> int:
    """The smallest integer that is not below numerator / denominator, exactly."""
    return math.ceil(Fraction(numerator) / Fraction(denominator))


def float_upper(value: Fraction) -> float:
    """The smallest float that does not lie below a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
