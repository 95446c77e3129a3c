"""Pieces of sentences: probabilities, lists and numbers, written for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

_MAX_LISTED: Final = 5
_MAX_NAME: Final = 40
_EVEN: Final = (0.01, 0.99)
"""Between these, a probability is written with two decimals."""


@dataclass(frozen=True)
class Likelihood:
    """How likely a device was to say what it said.

    Attributes:
        statement: what was said, such as ``'dark'``.
        if_true: probability of saying so if it is true; if several things are named independently,
            of naming the true one.
        if_not: probability of saying so if it is not true; if several things are named
            independently, of naming a given other one; for numbers, if the true number is as far
            away as the range allows.
    """

    statement: str
    if_true: float
    if_not: float


def in_decimals(probability: float) -> str:
    """A probability in two decimals, or in more if two would read 0.00 or 1.00."""
    low, high = _EVEN
    if low <= probability <= high or probability in (0.0, 1.0):
        return f"{probability:.2f}"
    if probability < low:
        return f"{probability:.2g}"
    return f"{probability:.{1 - math.floor(math.log10(1 - probability))}f}"


def likelihood_clause(p: float, q: float) -> str:
    """How likely an answer was if it is true (p), and if it is not (q)."""
    return (
        f"would have said so with probability {in_decimals(p)} if it were true, "
        f"{in_decimals(q)} if not"
    )


def join_names(names: Sequence[str], word: str) -> str:
    """A list of names; of more than five, the first four and the number of the others.

    Args:
        names: at least one.
        word: ``and`` or ``or``, before the last name.
    """
    shown = [name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…" for name in names]
    if len(shown) > _MAX_LISTED:
        more = len(shown) - _MAX_LISTED + 1
        shown = [*shown[: _MAX_LISTED - 1], f"{more} more"]
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def format_number(value: Fraction | float, digits: int = 4) -> str:
    """A number rounded to some significant digits, without an exponent unless huge or tiny."""
    rounded = float(f"{float(value):.{digits}g}")
    return f"{rounded:,.0f}" if 1_000 <= abs(rounded) < 1e15 else f"{rounded:g}"
