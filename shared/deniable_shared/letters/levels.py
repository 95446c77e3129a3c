"""How many levels the bits of strings fill, and how many a model suggests."""

from __future__ import annotations

from typing import Final, NamedTuple

from deniable_shared.mechanisms.trie import DEEPER_BITS, FIRST_BITS, MAX_LEVELS

MAX_BITS: Final = FIRST_BITS + DEEPER_BITS * (MAX_LEVELS - 1)
"""The most bits that are sent of a string, in all levels together."""


def level_of(length: int) -> int:
    """The level, counted from 0, in which a string of so many bits ends."""
    return max(-(-(length - FIRST_BITS) // DEEPER_BITS), 0)


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
