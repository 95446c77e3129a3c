"""Tail probabilities of counts: exact or too large, at any number of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKED_AT: Final = 3.0
"""Counts within this many standard deviations of their bounds have p = 1: no tail is computed."""

ENOUGH: Final = 100.0
"""From this expected count on, the chi-square approximation is used."""


class ExtremeCount(NamedTuple):
    """The most surprising of several counts.

    Attributes:
        p: the probability that any of the counts is so surprising; at most 1.
        place: the index of the count.
    """

    p: float
    place: int


def most_extreme_count(counts: NDArray[np.int64], trials: Any, low: Any, high: Any) -> ExtremeCount:
    """The count that is least likely, given bounds on its probability of success.

    Each count is a sum of independent trials whose probabilities lie between two bounds, so it is
    stochastically between the two binomial counts, and their exact tails bound its own. Corrected
    for the number of counts and both sides (Bonferroni).

    Args:
        counts: int64, (counts,).
        trials: number of trials of each count: one number, or (counts,).
        low: the lowest probability of success: one number, or (counts,).
        high: the highest.
    """
    n, low, high = (
        np.broadcast_to(np.asarray(x, np.float64), counts.shape) for x in (trials, low, high)
    )
    below = (low * n - counts) > LOOKED_AT * np.sqrt(n * low * (1 - low))
    above = (counts - high * n) > LOOKED_AT * np.sqrt(n * high * (1 - high))
    tails = np.ones(counts.size)
    tails[below] = binomial_at_most(counts[below], n[below], low[below])
    tails[above] = binomial_at_least(counts[above], n[above], high[above])
    index = int(tails.argmin())
    return ExtremeCount(min(1.0, 2 * counts.size * float(tails[index])), index)


def evenness_test(counts: NDArray[np.int64], shares: Any = None) -> ExtremeCount:
    """Tests whether reports fall into all places with their probabilities.

    Tests each place by its exact binomial tail and, with enough reports, all places together by
    chi-square; p is corrected for the two tests.

    Args:
        counts: int64, (places,), at least one place.
        shares: float64, (places,): the probability of each place; None if all are equal.
    """
    total, size = int(counts.sum()), counts.size
    shares = np.full(size, 1 / size) if shares is None else np.asarray(shares, np.float64)
    single = most_extreme_count(counts, total, shares, shares)
    expected = total * shares
    if size < 2 or expected.min() < ENOUGH:
        return single
    statistic = float(((counts - expected) ** 2 / expected).sum())
    together = float(special.chdtrc(size - 1, statistic))
    return ExtremeCount(min(1.0, 2 * min(single.p, together)), single.place)


def bennett_bound(deviation: Any, variance: Any, largest: Any) -> Any:
    """An upper bound of the probability that a sum of independent terms is so far from its mean.

    Bennett's inequality (1962), both sides. It holds for any number of terms; where the normal
    approximation is good it is about ten times too large.

    Args:
        deviation: how far the sum is from its mean; a float or float64 array.
        variance: of the sum, or more.
        largest: how far one term can be from its mean, or more.
    """
    spread = np.maximum(np.asarray(variance, np.float64), np.finfo(np.float64).tiny)
    u = largest * np.abs(deviation) / spread
    exponent = spread / np.square(largest) * ((1 + u) * np.log1p(u) - u)
    return np.minimum(1.0, 2 * np.exp(-exponent))


def binomial_at_most(count: Any, trials: Any, probability: Any) -> NDArray[np.float64]:
    """P(Bin(trials, probability) <= count), not computed as 1 minus the other tail."""
    inside = (count >= 0) & (count < trials)
    k, n = np.where(inside, count, 0), np.where(inside, trials, 1)
    found = special.betainc(n - k, k + 1.0, 1 - probability)
    return np.asarray(np.where(inside, found, count >= 0), np.float64)


def binomial_at_least(count: Any, trials: Any, probability: Any) -> NDArray[np.float64]:
    """P(Bin(trials, probability) >= count), not computed as 1 minus the other tail."""
    inside = (count > 0) & (count <= trials)
    k, n = np.where(inside, count, 1), np.where(inside, trials, 1)
    found = special.betainc(k, n - k + 1.0, probability)
    return np.asarray(np.where(inside, found, count <= 0), np.float64)
