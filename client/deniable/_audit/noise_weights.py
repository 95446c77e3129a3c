"""The probabilities of integer noise, as weights.

Powers of e are irrational: they stand here as multiples of 2^-256, which is far below any other
probability.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from deniable_shared.exact_bounds import exp_lower

if TYPE_CHECKING:
    from collections.abc import Callable

FINE: Final = 1 << 256
"""Weights are over this."""

LAPLACE_REACH: Final = 64
"""Laplace noise is followed so many scales to either side."""

GAUSSIAN_REACH: Final = 16
"""Gaussian noise is followed so many standard deviations to either side."""


@lru_cache(maxsize=8)
def laplace_weights(scale: int) -> tuple[int, ...]:
    """The weights of discrete Laplace noise in [-reach, reach], over `FINE`.

    What is left out, beyond 64 scales, weighs e^-64 of it.
    """
    return _noise_weights(LAPLACE_REACH * scale, lambda k: Fraction(k, scale))


@lru_cache(maxsize=8)
def gaussian_weights(variance: int) -> tuple[int, ...]:
    """The same of discrete Gaussian noise; what is left out weighs less than e^-128."""
    reach = GAUSSIAN_REACH * (math.isqrt(variance) + 1)
    return _noise_weights(reach, lambda k: Fraction(k * k, 2 * variance))


def _noise_weights(reach: int, exponent: Callable[[int], Fraction]) -> tuple[int, ...]:
    half = [int((FINE << 64) * decayed(exponent(k))) for k in range(reach + 1)]
    total = 2 * sum(half) - half[0]
    side = [FINE * weight // total for weight in half[1:]]
    return (*reversed(side), FINE - 2 * sum(side), *side)


@lru_cache(maxsize=4_096)  # noise is followed in steps that are alike
def decayed(exponent: Fraction) -> Fraction:
    """e^-exponent, within a relative 2^-140."""
    whole = math.floor(exponent / 512)
    return 1 / (exp_lower(Fraction(512)) ** whole * exp_lower(exponent - 512 * whole))
