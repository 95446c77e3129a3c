"""How the estimates of items vary together: exactly, from what one report can support at once.

Estimates of the support lemma count reports, and reports are independent across devices. So all
that matters is the probability that one report supports both of two items, for a device that holds
one of them and for a device that holds neither: `Mechanism.pair_support`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from deniable_shared.mechanisms import PairSupport, Support


def sum_variance(held: Any, size: int, support: Support, pairs: PairSupport, reports: int) -> Any:
    """The variance of the summed estimates of items that together have the share `held`.

    The sum of all variances and covariances of the numbers of supporters, over (n (p - q))^2.

    Args:
        held: the true share of all of them, in [0, 1]; a float or float64 array.
        size: how many items are summed, at least 1.
        support: with which probabilities a report supports one item.
        pairs: with which it supports two.
        reports: how many there are, at least 1.
    """
    p, q = support.p, support.q
    own = p * (1 - p) + (size - 1) * (q * (1 - q) + 2 * (pairs.own - p * q))
    own += (size - 1) * (size - 2) * (pairs.other - q * q)
    other = size * q * (1 - q) + size * (size - 1) * (pairs.other - q * q)
    return np.maximum(held * own + (1 - held) * other, 0.0) / (reports * (p - q) ** 2)
