"""Upper bounds as text, rounded up, so that the printed number is a bound too."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal


def upper(bound: float) -> str:
    """An upper bound to four digits, rounded up; but for what floats have added to it."""
    if not bound > 0:
        return "0"
    digits = 3 - math.floor(math.log10(bound))
    scaled = math.ceil(bound * 10.0**digits * (1 - 1e-9))
    text = f"{scaled / 10.0**digits:,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def upper_decimals(bound: float, decimals: int) -> str:
    """An upper bound to so many decimals, rounded up; but for what floats have added to it."""
    return f"{_ceiling(Decimal(f'{bound:.12g}'), decimals):,}"


def upper_percent(probability: float) -> str:
    """A probability in percent, rounded up.

    It has two decimals, or as many as keep what is below 1 below 100%.

    Args:
        probability: in [0, 1].
    """
    percent, decimals = Decimal(str(probability)) * 100, 2
    while (text := _ceiling(percent, decimals)) >= 100 > percent:
        decimals += 1
    return f"{text}%"


def upper_power(bound: float) -> str:
    """A small upper bound to three digits, rounded up: 0.0000100004 is "1.01e-5"."""
    three_digits = Context(prec=3, rounding=ROUND_CEILING)
    return power(float(three_digits.create_decimal(f"{bound:.12g}")))


def power(number: float) -> str:
    """A small number in a few characters: 0.000001 is "1e-6"."""
    return f"{number:g}".replace("e-0", "e-")


def _ceiling(number: Decimal, decimals: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING)
