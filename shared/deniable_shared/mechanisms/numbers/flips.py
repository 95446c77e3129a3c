"""Bits that are flipped twice: once permanently, and again in every report."""

from __future__ import annotations

from fractions import Fraction

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower


def composed_flip(permanent: int, flip: int) -> Fraction:
    """The probability that exactly one of two flips happens, b1 (1 - b2) + (1 - b1) b2.

    Two randomized responses in a row are one with this probability of a lie.

    Args:
        permanent: weight of the first flip, over 2^32.
        flip: weight of the second.
    """
    return Fraction(permanent * (SCALE - flip) + (SCALE - permanent) * flip, SCALE * SCALE)


def weights_for(
    epsilon: Fraction, epsilon_permanent: Fraction, differing: int = 1
) -> tuple[int, int]:
    """The weights of both flips that exceed neither epsilon, both rounded toward privacy.

    The first follows from epsilon_permanent. With b = 1 / (1 + exp(epsilon / differing)), the
    second is (b - b1) / (1 - 2 b1); it is 0 where the two epsilons are the same.

    Args:
        epsilon: privacy loss of one report, in nats.
        epsilon_permanent: privacy loss of all reports of one value, in nats.
        differing: in how many bits two values differ at most; at least 1.

    Raises:
        ParameterError: if epsilon is above epsilon_permanent.
    """
    if not epsilon <= epsilon_permanent:
        raise ParameterError("epsilon", "at most epsilon_permanent", float(epsilon))
    permanent = ceil_divide(SCALE, 1 + exp_lower(epsilon_permanent / differing))
    lie, first = 1 / (1 + exp_lower(epsilon / differing)), Fraction(permanent, SCALE)
    return permanent, max(0, ceil_divide((lie - first) * SCALE, 1 - 2 * first))
