"""How much two reports that repeat one permanent answer resemble each other.

Fresh noise hides a permanent answer in each report, but both are drawn from the same. Their mutual
information, given the device's value and class, is what two reports tell on average of having come
from one device: with b bits, one pair of 2^b looks as alike by chance. It grows with the length of
a report and with how near epsilon is to epsilon_permanent, and no epsilon bounds it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def resemblance_of_bits(permanent: float, if_one: float, if_zero: float) -> float:
    """The mutual information of two reports of one permanent bit, in bits.

    Args:
        permanent: probability that the permanent bit is 1.
        if_one: probability of reporting a 1 if it is 1.
        if_zero: the same if it is 0.
    """
    single_bit = permanent * if_one + (1 - permanent) * if_zero
    joint = permanent * if_one**2 + (1 - permanent) * if_zero**2
    mixed, neither = single_bit - joint, 1 - 2 * single_bit + joint
    terms = [
        (joint, single_bit * single_bit, 1),
        (mixed, single_bit * (1 - single_bit), 2),
        (neither, (1 - single_bit) ** 2, 1),
    ]
    return _information(terms)


def resemblance_of_items(size: int, own: float, answered_truth: float) -> float:
    """The mutual information of two reports of one permanent answer among several, in bits.

    Both rounds are generalized randomized response.

    Args:
        size: how many items k there are.
        own: probability that the permanent answer is the device's item.
        answered_truth: probability that a report is the permanent answer.
    """
    others = size - 1
    other, missed = (1 - own) / others, (1 - answered_truth) / others
    gap = answered_truth - missed

    def single(permanent: float) -> float:
        return missed + gap * permanent

    def pair(first_own: float, two: float, *, same: bool) -> float:
        return (
            missed**2 + missed * gap * (first_own + two) + (gap * gap * first_own if same else 0.0)
        )

    return _information(
        [
            (pair(own, own, same=True), single(own) ** 2, 1),
            (pair(own, other, same=False), single(own) * single(other), 2 * others),
            (pair(other, other, same=True), single(other) ** 2, others),
            (pair(other, other, same=False), single(other) ** 2, others * (others - 1)),
        ]
    )


def _information(terms: Iterable[tuple[float, float, int]]) -> float:
    """The sum of joint log2(joint / product), of as many equal terms each."""
    return max(
        0.0,
        sum(
            count * joint * math.log2(joint / product)
            for joint, product, count in terms
            if count and joint > 0
        ),
    )
