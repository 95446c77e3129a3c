"""How many levels the bits of strings fill, and how many a model suggests."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, NamedTuple

from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms.trie import DEEPER_BITS, FIRST_BITS, MAX_LEVELS

MAX_BITS: Final = FIRST_BITS + DEEPER_BITS * (MAX_LEVELS - 1)
"""The most bits that are sent of a string, in all levels together."""

FALL: Final = Fraction(7, 10)
"""How often a level is drawn in which hardly any strings end, over the one before."""


def level_of(length: int) -> int:
    """The level, counted from 0, in which a string of so many bits ends."""
    return max(-(-(length - FIRST_BITS) // DEEPER_BITS), 0)


def falling_shares(levels: int, half: int) -> tuple[int, ...]:
    """How often devices should draw each level, if half of the strings have ended by one of them.

    Up to that level all are drawn alike, and each later one `FALL` as often as the one before. The
    last level is drawn as often as all that would follow it together, so more than three times
    as often as if it were not the last: a string that is found there has no further level to be
    confirmed in.

    Args:
        levels: how many there are.
        half: the level, counted from 0, in which the median of the strings ends.

    Returns:
        Integers whose sum is 2^32.
    """
    weights = [FALL ** max(level - half, 0) for level in range(levels)]
    weights[-1] /= 1 - FALL
    total = sum(weights)
    shares = [round(SCALE * weight / total) for weight in weights[:-1]]
    return (*shares, SCALE - sum(shares))


class LeftOutBits(NamedTuple):
    """How many bits the strings need at most that were left out when a model was trained.

    Attributes:
        half: of them.
        most: 90% of them.
        nearly_all: 98% of them.
    """

    half: int
    most: int
    nearly_all: int

    @property
    def longest_bits(self) -> int:
        """What a metric should send of a string: nearly all of those that the model is for."""
        return min(max(self.nearly_all, FIRST_BITS), MAX_BITS)
