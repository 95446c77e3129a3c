"""What counts of an event prove of epsilon: exact limits of probabilities."""

from __future__ import annotations

import math
from typing import Final

_STEPS: Final = 60
"""Of a bisection: limits are exact to a part in 2^60, rounded outward."""


def epsilon_at_least(hits: int, others: int, count: int, delta: float, wrong: float) -> float:
    """What epsilon must be if an event is so frequent under one value, and so rare under another.

    ln((a - delta) / b), where a is a lower limit of the first probability and b an upper one of the
    second, each of which is wrong with half of the probability.

    Args:
        hits: how often the event was seen under one value.
        others: how often under the other one.
        count: of how many reports each.
        delta: how much probability is allowed beside epsilon.
        wrong: how probable it may be that the result is too high.
    """
    likely = proportion_at_least(hits, count, wrong / 2) - delta
    rare = 1 - proportion_at_least(count - others, count, wrong / 2)
    return max(0.0, math.log(likely / rare)) if likely > 0 else 0.0


def proportion_at_least(hits: int, count: int, wrong: float) -> float:
    """Clopper and Pearson's lower limit of a probability, wrong with this probability at most.

    The probability under which so many hits or more are so improbable.
    """
    if not hits:
        return 0.0
    low, high = 0.0, hits / count
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _tail(hits, count, middle) <= wrong:
            low = middle
        else:
            high = middle
    return low


def _tail(hits: int, count: int, chance: float) -> float:
    """How probable so many hits or more are, where the chance of each is in (0, hits / count)."""
    first = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
    first += hits * math.log(chance) + (count - hits) * math.log1p(-chance)
    term = total = 1.0
    odds = chance / (1 - chance)
    for number in range(hits, count):
        term *= (count - number) / (number + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return min(1.0, math.exp(first) * total)
