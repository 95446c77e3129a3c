"""How much values tell of whose they are, in bits, and who is alone with one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def surprisal(probability: float) -> float:
    """How many bits somebody learns to whom something of this probability is told: -log2 p.

    Args:
        probability: in (0, 1].
    """
    return -math.log2(probability) + 0.0  # without the minus sign of -0.0


def entropy(probabilities: Iterable[float]) -> float:
    """The bits that one of several values tells on average: the sum of -p log2 p.

    Args:
        probabilities: of all values; they add up to 1. Those of 0 count for nothing.
    """
    return (
        math.fsum(
            -probability * math.log2(probability)
            for probability in probabilities
            if probability > 0
        )
        + 0.0
    )


def binary_entropy(probability: float) -> float:
    """The entropy of a yes or no, in bits; in [0, 1].

    Args:
        probability: of a yes, in [0, 1].
    """
    return entropy((probability, 1 - probability))


def share_alone(devices: int, bits: float) -> float:
    """The share of devices that no other device is like, if 2^bits values are equally common.

    Exactly (1 - 1/d)^(n - 1) with d = 2^bits: nobody of the others has the same.

    Args:
        devices: how many there are, n; at least 1.
        bits: of the values, at least 0.
    """
    if devices == 1:
        return 1.0
    return 0.0 if bits <= 0 else math.exp((devices - 1) * math.log1p(-math.exp2(-bits)))


def share_alone_approximately(devices: int, bits: float) -> float:
    """The same as e^(-n/d), as it is often quoted.

    Args:
        devices: n, at least 1.
        bits: log2 of d.
    """
    return math.exp(-devices / math.exp2(bits))


def share_in_pairs(devices: int, bits: float) -> float:
    """The share of devices that exactly one other is like: r e^-r, with r = n/d.

    This counts people, of whom there are twice as many as pairs.

    Args:
        devices: n, at least 1.
        bits: log2 of d.
    """
    ratio = devices / math.exp2(bits)
    return ratio * math.exp(-ratio)


def posterior(prior: float, if_so: float, if_not: float) -> float:
    """How probable something is after an answer, by Bayes' rule.

    For Warner's randomized response, where a coin is answered instead of the truth but for a part t
    of the devices, the answers "yes" have probabilities (1 + t) / 2 and (1 - t) / 2, and the
    posterior of a "yes" is (1 + t) p / (1 - t + 2 t p).

    Args:
        prior: how probable it was, in [0, 1].
        if_so: the probability of the answer if it is so; greater than 0.
        if_not: the probability of the answer if it is not so.
    """
    return prior * if_so / (prior * if_so + (1 - prior) * if_not)
