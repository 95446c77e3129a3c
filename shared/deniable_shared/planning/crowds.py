"""What a crowd makes of an epsilon: to whoever sees reports, but not whose they are.

An upper bound by Feldman, McMillan and Talwar (Hiding among the clones, 2022, Theorem 3.1), which
needs no arrays. Each other report is a clone of this one with probability e^-epsilon; it is counted
with so few clones as there are with all but a quarter of delta.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

DELTA: Final = 1e-8
"""What is said of crowds may fail with this probability."""

_DEVIATIONS: Final = 9.0
_STEPS: Final = 40


@lru_cache(256)
def epsilon_among(epsilon: float, reports: int, delta: float = DELTA) -> float:
    """What one report costs to everybody who does not know whose it is; never above epsilon.

    Args:
        epsilon: of the report itself, in nats; above 0.
        reports: how many honest ones look like it, this one included; at least 1.
        delta: may be exceeded with this probability.
    """
    mean = (reports - 1) * math.exp(-epsilon)
    # Chernoff: P(clones <= mean - sqrt(2 mean ln(4 / delta))) <= delta / 4.
    clones = math.floor(mean - math.sqrt(2 * mean * math.log(4 / delta)))
    if clones < 1:
        return epsilon
    losses = _losses(epsilon, clones)
    # Hoeffding, for what lies beyond the deviations that are followed.
    rest = 2 * math.exp(-(_DEVIATIONS**2) / 2)
    low, high = 0.0, epsilon
    for _ in range(_STEPS):
        middle = (low + high) / 2
        excess = math.fsum(
            weight * -math.expm1(middle - loss) for loss, weight in losses if loss > middle
        )
        if excess + rest <= 3 / 4 * delta:
            high = middle
        else:
            low = middle
    return high


def _losses(epsilon: float, clones: int) -> list[tuple[float, float]]:
    """The losses of a report among so many clones, each with its probability."""
    truth = 1 / (1 + math.exp(-epsilon))
    reach = _DEVIATIONS * math.sqrt(clones) / 2 + 1
    first, last = max(0, math.floor(clones / 2 - reach)), math.ceil(clones / 2 + reach)
    found = []
    for own in range(first, min(last, clones + 1) + 1):
        opposite = clones - own + 1
        ratio = (truth * own + (1 - truth) * opposite) / ((1 - truth) * own + truth * opposite)
        weight = truth * _half(own - 1, clones) + (1 - truth) * _half(own, clones)
        found.append((math.log(ratio), weight))
    return found


def _half(count: int, trials: int) -> float:
    """The probability of a count in so many fair trials."""
    if not 0 <= count <= trials:
        return 0.0
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(ways - trials * math.log(2))
