"""How many devices tell a value from zero: the power of the test by which values are detected.

A value asked for by itself is tested at 5%, one-sided. Of several values asked for at once few may
be false finds (Benjamini and Hochberg 1995, the default of an estimate): a value is detected if its
p-value is at most 5% of the part of the values that are detected, so it is the more easily detected
the more others are. A plan takes it that the other values share the rest in proportion to 1/rank.
"""

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

MOST_DEVICES: Final = 10**15
"""No plan looks further."""

PRECISION: Final = 1e-6
_LEVEL_PRECISION: Final = 1e-4
_BY_THEMSELVES: Final = 64
"""So many of the most frequent others are looked at one by one; the rest in groups."""

_GROUP: Final = 1.1
"""The last rank of a group over the first, about."""

_NORMAL: Final = NormalDist()


def devices_to_detect(mechanism: Mechanism, share: float) -> int:
    """How many devices make an item of this share visible that is asked for by itself.

    The test errs with probability 5% when the item is absent and finds it with probability 80% when
    it is there: n = ((z(0.95) sd(0) + z(0.80) sd(share)) / share)^2, with the standard deviations
    of one report.

    Args:
        share: the item's true share, in (0, 1].
    """
    absent = -_NORMAL.inv_cdf(SIZE) * math.sqrt(mechanism.variance(0.0, 1))
    present = _NORMAL.inv_cdf(POWER) * math.sqrt(mechanism.variance(share, 1))
    return math.ceil(((absent + present) / share) ** 2)


def devices_to_detect_among(
    mechanism: Mechanism, share: float, asked: int = 1, extra: float = 0.0
) -> int | None:
    """How many devices detect an item among others, with variance that stays.

    Args:
        share: the item's true share, in (0, 1].
        asked: how many items are asked for at once; at least 1.
        extra: variance that is there however many report, at least 0.

    Returns:
        At least 1; None if no number of devices is enough.
    """
    others = _others(mechanism, share, asked)

    def enough(devices: int) -> bool:
        return _power(mechanism, share, others, devices, extra) >= POWER

    low, high = 0, devices_to_detect(mechanism, share)
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_DEVICES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_share(mechanism: Mechanism, devices: int, asked: int = 1) -> float | None:
    """The smallest share of an item that so many devices detect in eight of ten cases.

    Args:
        devices: how many report; at least 1.
        asked: how many items are asked for at once; at least 1.

    Returns:
        A share in (0, 1], or None if not even an item that everybody holds would be seen.
    """

    def seen(share: float) -> bool:
        return _power(mechanism, share, _others(mechanism, share, asked), devices, 0.0) >= POWER

    if not seen(1.0):
        return None
    hidden, visible = 0.0, 1.0
    while visible - hidden > PRECISION * visible:
        middle = (hidden + visible) / 2
        hidden, visible = (hidden, middle) if seen(middle) else (middle, visible)
    return visible


class _Others:
    """The other items that are asked for: so many of each share, with what one report tells.

    Attributes:
        asked: how many items are asked for at once.
        groups: (how many, their share, the variance of one report).
    """

    __slots__ = ("asked", "groups")

    def __init__(self, asked: int, groups: list[tuple[int, float, float]]) -> None:
        self.asked = asked
        self.groups = groups


def _others(mechanism: Mechanism, share: float, asked: int) -> _Others:
    """They share what is left in proportion to 1/rank."""
    ranks: list[tuple[int, float]] = []
    rank = 1
    while rank < asked:
        last = rank if rank <= _BY_THEMSELVES else min(int(rank * _GROUP), asked - 1)
        ranks.append((last - rank + 1, 2 / (rank + last)))
        rank = last + 1
    whole = sum(count * part for count, part in ranks)
    shares = [(count, (1 - share) * part / whole) for count, part in ranks]
    return _Others(asked, [(count, each, mechanism.variance(each, 1)) for count, each in shares])


def _power(
    mechanism: Mechanism, share: float, others: _Others, devices: int, extra: float
) -> float:
    absent = math.sqrt(mechanism.variance(0.0, 1) / devices + extra)
    present = math.sqrt(mechanism.variance(share, 1) / devices + extra)
    groups = [
        (count, each, math.sqrt(variance / devices + extra))
        for count, each, variance in others.groups
    ]
    level, before = SIZE, 1.0
    while before - level > _LEVEL_PRECISION * level:
        needed = -_NORMAL.inv_cdf(level) * absent
        detected = 1 + sum(
            count * _NORMAL.cdf((each - needed) / error) for count, each, error in groups
        )
        before, level = level, SIZE * detected / others.asked
    return _NORMAL.cdf((share + _NORMAL.inv_cdf(level) * absent) / present)
