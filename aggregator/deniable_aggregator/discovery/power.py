"""How popular a string must be to be found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.discovery.testing import thresholds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.discovery.levels import Level

_NINE_OF_TEN: Final = 1.2816
"""With probability 0.9 an estimate is at most so many standard errors too low."""

_FOLLOWED_Z: Final = 4.0
"""From so many standard errors on a prefix is usually followed: by chance, one child of 2^16 has
4.2, and the prefixes of a heavy string are heavier than it."""


def smallest_shares(levels: Sequence[Level], found: int, alpha: float) -> tuple[float, ...]:
    """The share from which on a string is found nine times of ten, by the bits of its code.

    A string of b bits that ends in level e has to pass the test with what all levels from e on say:
    (z + 1.28) times their standard error, with z for the weight of b bits. Before that, every level
    below e has to lead there.

    Args:
        levels: all of the trie.
        found: how many whole strings are shown; the more, the less evidence a further one needs.
        alpha: of the test.

    Returns:
        For 1, 2, ... bits, as many as the levels hold.
    """
    shares = []
    followed = 0.0
    for level in levels:
        weight = sum(each.weight for each in levels[level.number :])
        deviation = weight**-0.5 if weight else math.inf
        parts = 2 * (len(levels) - 1) if level.number else 1 + (len(levels) > 1)
        used = np.arange(1.0, level.bits + 1)
        log_weights = -math.log(parts) - math.log(2) * used
        needed = thresholds(log_weights, found + 1, alpha) + _NINE_OF_TEN
        own = (_FOLLOWED_Z + _NINE_OF_TEN) * level.deviation
        if level.number:
            followed = max(followed, own)
            shares += [max(followed, float(z) * deviation) for z in needed]
        else:
            shares += [float(z) * deviation for z in needed]
    return tuple(shares)
