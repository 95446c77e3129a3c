"""Loss classes of integer noise, for the two ends of the range.

The ends are the worst pair. Both noises have a likelihood ratio that falls from left to right, so
the worst set of reports is all up to some place, and moving the second value further away only
makes that set rarer under it. Cutting off what lands outside, and rounding a value at random to a
point beside it, come after and before the noise and cost nothing.

Powers of e are irrational. All weights stand here below the exact ones, by less than 2^-100 in all.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from deniable_shared.exact_bounds import exp_lower

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses

_BITS: Final = 256
_ONE: Final = 1 << _BITS
_PRECISION: Final = Fraction(1, 1 << 139)
"""`exp_lower` is within this part of the power."""


def laplace_losses(steps: int, scale: int) -> LossClasses:
    """Of discrete Laplace noise: one class for each place between the ends, and one beyond each.

    Args:
        steps: how far apart the ends are.
        scale: of the noise, in steps.
    """
    most = 1 / exp_lower(Fraction(1, scale))
    decay = _decay(Fraction(1, scale))
    powers = list(
        itertools.accumulate(range(steps), lambda power, _: power * decay >> _BITS, initial=_ONE)
    )
    beyond, at = int(_ONE / (1 + most)), int(_ONE * (1 - most) / (1 + most))
    far = beyond * powers[steps] >> _BITS
    between = (
        (at * powers[place] >> _BITS, at * powers[steps - place] >> _BITS)
        for place in range(1, steps)
    )
    return _over(_ONE, [(beyond, far), *between, (far, beyond)])


def gaussian_losses(steps: int, variance: int, reach: int) -> LossClasses:
    """Of discrete Gaussian noise that is cut off outside the range.

    Args:
        steps: how far apart the ends are.
        variance: the parameter of the noise, in squared steps; at least 4.
        reach: how many steps outside the range the outermost outcomes are; at least 10 standard
            deviations.
    """
    last = 2 * reach + steps
    densities, ratio = [_ONE], _decay(Fraction(1, 2 * variance))
    square = _decay(Fraction(1, variance))
    for _ in range(last):
        densities.append(densities[-1] * ratio >> _BITS)
        ratio = ratio * square >> _BITS
    # A density is low by less than 2^-110 of it, and what lies beyond the last is less than e^-200.
    total = (2 * sum(densities) - _ONE) * ((1 << 100) + 1) >> 100
    tails = list(itertools.accumulate(reversed(densities)))[::-1]
    ends = tails[reach], tails[reach + steps]
    between = (
        (densities[abs(place)], densities[abs(place - steps)])
        for place in range(1 - reach, steps + reach)
    )
    return _over(total + 1, [ends, *between, ends[::-1]])


def _decay(exponent: Fraction) -> int:
    """E to the negative exponent over 2^256, rounded down."""
    return int(_ONE * (1 - _PRECISION) / exp_lower(exponent))


def _over(total: int, weights: list[tuple[int, int]]) -> LossClasses:
    return tuple((Fraction(own, total), Fraction(other, total)) for own, other in weights)
