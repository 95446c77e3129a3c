"""Numbers of a bounded range: where one stands in it, exactly, and what may carry it."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    Mechanism,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    OneBitMean,
    Piecewise,
    SquareWave,
    ldbitflip,
    lduchi,
)
from deniable_shared.mechanisms.numeric import RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.fields import TableReader

Range = tuple[Fraction, Fraction]

DEFAULT_BINS: Final = 32
MAX_BINS: Final = 256
MIN_DELTA: Final = Fraction(1, 10**12)
MAX_DELTA: Final = Fraction(1, 10**5)
"""The ceiling of the probability that a report reveals more than its epsilon."""

_MAX_END_CHARACTERS: Final = 200
_END: Final = re.compile(r"-?[0-9]+(/[0-9]+)?")
MEANS: Final[Mapping[str, type[OneBitMean | Piecewise | Hybrid | DiscreteLaplace]]] = {
    "duchi": OneBitMean,
    "hybrid": Hybrid,
    "laplace": DiscreteLaplace,
    "piecewise": Piecewise,
}
"""What may estimate a mean from epsilon alone, by name."""


def is_number(value: object) -> bool:
    """Whether a value is a finite int or float; a bool is neither."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def nearest_place(value: float, ends: Range) -> int:
    """The nearest of the 2^20 + 1 places of a range: an integer in [0, 2^20].

    Args:
        value: an int or a finite float; all of its digits count. It is clamped to the range.
        ends: lower and upper end.
    """
    above, width = _above(value, ends)
    return (2 * above * RESOLUTION + width) // (2 * width)


def bin_index(value: float, ends: Range, bins: int) -> int:
    """The bin that a number falls into; the last one has both its ends.

    Args:
        value: an int or a finite float, clamped to the range.
        ends: lower and upper end.
        bins: how many bins of equal width divide the range.
    """
    above, width = _above(value, ends)
    return min(above * bins // width, bins - 1)


def _above(value: float, ends: Range) -> tuple[int, int]:
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


def _is_end(text: object) -> bool:
    return (
        isinstance(text, str)
        and len(text) <= _MAX_END_CHARACTERS
        and _END.fullmatch(text) is not None
        and not text.endswith("/0")
    )


def mechanism_for(
    kind: str,
    name: str,
    *,
    epsilon: Fraction,
    epsilon_permanent: Fraction | None = None,
    delta: Fraction | None,
    bins: int,
    options: TableReader | None,
) -> Mechanism:
    """The mechanism of a ``number`` or ``distribution``.

    Args:
        kind: the metric's type.
        name: which mechanism, or ``auto``: one bit for a mean, square wave for a distribution, and
            where reports are memoised one bit for either.
        epsilon: the declared privacy loss of one report, in nats; never exceeded.
        epsilon_permanent: the declared privacy loss of all reports of one value, in nats; None
            unless they are memoised.
        delta: the declared probability that it is; only for ``gaussian``.
        bins: of a distribution, at least 2.
        options: the mechanism's options.

    Raises:
        ParameterError: naming the field that has to change.
    """
    if (name == DiscreteGaussian.name) != (delta is not None):
        constraint = "given for gaussian, and left out for all others"
        raise ParameterError("delta", constraint, None if delta is None else float(delta))
    if epsilon_permanent is not None:
        return _memoized(kind, epsilon, epsilon_permanent, bins, options)
    if kind == "distribution":
        if name != DBitFlip.name:
            return SquareWave.for_epsilon(bins, epsilon)
        buckets = None if options is None else options.integer("buckets", 1, bins, default=None)
        return DBitFlip.for_epsilon(bins, epsilon, buckets)
    if delta is not None:
        return DiscreteGaussian.for_epsilon(epsilon, delta)
    return MEANS.get(name, OneBitMean).for_epsilon(epsilon)


def _memoized(
    kind: str, epsilon: Fraction, permanent: Fraction, bins: int, options: TableReader | None
) -> MemoizedOneBitMean | MemoizedDBitFlip:
    if kind == "number":
        steps: int | None = lduchi.DEFAULT_STEPS
        if options is not None:
            steps = options.integer("steps", 1, lduchi.MAX_STEPS, default=steps)
        return MemoizedOneBitMean.for_epsilons(epsilon, permanent, steps or lduchi.DEFAULT_STEPS)
    buckets: int | None = ldbitflip.DEFAULT_BUCKETS
    if options is not None:
        buckets = options.integer("buckets", 1, bins, default=buckets)
    return MemoizedDBitFlip.for_epsilons(
        bins, epsilon, permanent, buckets or ldbitflip.DEFAULT_BUCKETS
    )
