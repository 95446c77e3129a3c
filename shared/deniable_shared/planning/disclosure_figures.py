"""What a mechanism gives away about one device, and how exact it is, in plain numbers."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from deniable_shared.planning.upper_bounds import upper_percent

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism

NEARLY_SURE: Final = 0.9999
"""A bound of a posterior from here on is no protection worth a figure."""

LEVEL: Final = 0.95
Z: Final = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Half the width of a 95% interval, in standard errors."""


def posterior_from_even_odds(epsilon: float) -> float:
    """The most certain that one report can make anybody who thought two values equally likely.

    e^epsilon / (1 + e^epsilon), by Bayes' rule; in [0.5, 1).

    Args:
        epsilon: privacy loss, in nats.
    """
    return 1 / (1 + math.exp(-epsilon))


def most_certain(epsilon: float) -> str:
    """`posterior_from_even_odds` in percent, see `upper_percent`.

    Args:
        epsilon: privacy loss, in nats, at most 30.
    """
    return upper_percent(posterior_from_even_odds(epsilon))


def percent(probability: float) -> str:
    """A probability in percent, in one digit, or in as many as keep what is below 1 below 100%.

    Args:
        probability: in [0, 1].
    """
    decimals = 1
    while float(text := f"{100 * probability:.{decimals}f}") >= 100 > 100 * probability:
        decimals += 1
    return f"{text}%"


def bits_revealed(epsilon: float) -> float:
    """The most that one report can reveal about any fact, in bits: epsilon log2(e)."""
    return epsilon / math.log(2)


def half_width(mechanism: Mechanism, share: float, devices: float, extra: float = 0.0) -> float:
    """Half the width of the 95% interval of an item's share: 1.96 standard errors.

    Args:
        share: the item's true share, in [0, 1].
        devices: how many report; greater than 0.
        extra: variance that is there however many report.
    """
    return Z * math.sqrt(mechanism.variance(share, 1) / devices + extra)


def devices_for_width(mechanism: Mechanism, share: float, width: float) -> int:
    """How many devices bring the 95% interval of an item down to this half-width.

    Args:
        share: the item's true share, in [0, 1].
        width: half the width of the interval, as a share; greater than 0.
    """
    return max(1, math.ceil(mechanism.variance(share, 1) * (Z / width) ** 2))
