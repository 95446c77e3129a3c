"""Floats as the decimals that they are written as, so that what is printed is rounded exactly."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Final

EXACT: Final = Context(prec=700)
"""Enough digits for any sum or rounding of two floats."""


def decimal_of(number: float, *, percent: bool = False) -> Decimal:
    """The shortest decimal that means this float: 0.46 and not 0.46000000000000002.

    Args:
        number: any finite one.
        percent: whether it is a fraction that is wanted in percent: 46 for 0.46.
    """
    return Decimal(repr(float(number))).scaleb(2 * percent, EXACT)
