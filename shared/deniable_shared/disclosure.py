"""What a mechanism gives away about one device, and how many devices it needs, in plain numbers."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism

SIZE: Final = 0.05
"""Probability of seeing an item that is not there, one-sided."""

POWER: Final = 0.80
"""Probability of seeing an item that is there."""


def posterior_from_even_odds(epsilon: float) -> float:
    """The most certain that one report can make anybody who thought two values equally likely.

    e^epsilon / (1 + e^epsilon), by Bayes' rule; in [0.5, 1).

    Args:
        epsilon: privacy loss, in nats.
    """
    return 1 / (1 + math.exp(-epsilon))


def bits(epsilon: float) -> float:
    """The most that one report can reveal about any fact, in bits: epsilon log2(e)."""
    return epsilon / math.log(2)


def devices_to_see(mechanism: Mechanism, share: float) -> int:
    """How many devices make an item of this share visible in a one-sided test for one item.

    The test errs with probability 5% when the item is absent and finds it with probability 80% when
    it is there: n = ((z(0.95) sd(0) + z(0.80) sd(share)) / share)^2, with the standard deviations
    of one report.

    Args:
        mechanism: the mechanism.
        share: the item's true share, in (0, 1].
    """
    normal = NormalDist()
    absent = normal.inv_cdf(1 - SIZE) * math.sqrt(mechanism.variance(0.0, 1))
    present = normal.inv_cdf(POWER) * math.sqrt(mechanism.variance(share, 1))
    return math.ceil(((absent + present) / share) ** 2)
