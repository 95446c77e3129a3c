"""What a mechanism gives away about one device, and how many devices it needs, in plain numbers."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from deniable_shared.planning.upper_bounds import upper_percent

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism

SIZE: Final = 0.05
"""Probability of seeing an item that is not there, one-sided."""

POWER: Final = 0.80
"""Probability of seeing an item that is there."""

MOST_DEVICES: Final = 10**15
"""No plan looks further."""

NEARLY_SURE: Final = 0.9999
"""A bound of a posterior from here on is no protection worth a figure."""

LEVEL: Final = 0.95
PRECISION: Final = 1e-6
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


def devices_to_detect(mechanism: Mechanism, share: float, questions: int = 1) -> int:
    """How many devices make an item of this share visible in a one-sided test.

    The test errs with probability 5% when the item is absent and finds it with probability 80% when
    it is there: n = ((z(0.95) sd(0) + z(0.80) sd(share)) / share)^2, with the standard deviations
    of one report. For several items at once the 5% are divided among them (Bonferroni).

    Args:
        share: the item's true share, in (0, 1].
        questions: for how many items together the test may err once in twenty.
    """
    normal = NormalDist()
    absent = -normal.inv_cdf(SIZE / questions) * math.sqrt(mechanism.variance(0.0, 1))
    present = normal.inv_cdf(POWER) * math.sqrt(mechanism.variance(share, 1))
    return math.ceil(((absent + present) / share) ** 2)


def devices_to_detect_of(
    mechanism: Mechanism, share: float, questions: int = 1, extra: float = 0.0
) -> int | None:
    """How many devices detect an item, as `devices_to_detect`, with variance that stays.

    Args:
        share: the item's true share, in (0, 1].
        questions: see `devices_to_detect`.
        extra: variance that is there however many report, at least 0.

    Returns:
        At least 1; None if no number of devices is enough.
    """
    normal = NormalDist()
    size, power = -normal.inv_cdf(SIZE / questions), normal.inv_cdf(POWER)
    absent, present = mechanism.variance(0.0, 1), mechanism.variance(share, 1)

    def enough(devices: int) -> bool:
        errors = (math.sqrt(absent / devices + extra), math.sqrt(present / devices + extra))
        return size * errors[0] + power * errors[1] <= share

    low, high = 0, devices_to_detect(mechanism, share, questions)
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_DEVICES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_share(mechanism: Mechanism, devices: int, questions: int = 1) -> float | None:
    """The smallest share that so many devices let one detect, in the sense of `devices_to_detect`.

    Args:
        devices: how many report; at least 1.
        questions: see `devices_to_detect`.

    Returns:
        A share in (0, 1], or None if not even an item that everybody holds would be seen.
    """
    if devices_to_detect(mechanism, 1.0, questions) > devices:
        return None
    hidden, visible = 0.0, 1.0
    while visible - hidden > PRECISION * visible:
        middle = (hidden + visible) / 2
        if devices_to_detect(mechanism, middle, questions) > devices:
            hidden = middle
        else:
            visible = middle
    return visible


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
