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


class ExtremeCounts(NamedTuple):
    """The most surprising of several counts, for each of several slices.

    Attributes:
        p: float64, (slices,): the probability that any of a slice's counts is so surprising; at
            most 1.
        place: int64, (slices,): the index of the count, where a slice's counts are in one row.
    """

    p: NDArray[np.float64]
    place: NDArray[np.int64]


def most_extreme_counts(
    counts: NDArray[np.int64], trials: Any, low: Any, high: Any
) -> ExtremeCounts:
    """The count of each slice that is least likely, given bounds on its probability of success.

    Each count is a sum of independent trials whose probabilities lie between two bounds, so it is
    stochastically between the two binomial counts, and their exact tails bound its own. Corrected
    for the number of counts and both sides (Bonferroni).

    Args:
        counts: int64, (slices, counts) or (slices, groups, counts).
        trials: number of trials of each count, of a shape that can be broadcast to that of counts.
        low: the lowest probability of success, likewise.
        high: the highest.
    """
    slices, size = len(counts), int(np.prod(counts.shape[1:]))
    n = np.asarray(trials, np.float64)
    p, place = np.ones(slices), np.zeros(slices, np.int64)
    for bound, side, tail in ((low, -1, binomial_at_most), (high, 1, binomial_at_least)):
        edge = bound * n + side * LOOKED_AT * np.sqrt(n * bound * (1 - bound))
        found = np.nonzero(counts < edge if side < 0 else counts > edge)
        of = found[0]
        if not of.size:
            continue
        trial, probability = (np.broadcast_to(each, counts.shape)[found] for each in (n, bound))
        tails = tail(counts[found], trial, probability)
        # Of each slice the least tail, and of equal ones the first.
        order = np.lexsort((tails, of))
        first = order[np.diff(of[order], prepend=-1) != 0]
        less = first[tails[first] < p[of[first]]]
        p[of[less]] = tails[less]
        where = tuple(axis[less] for axis in found[1:])
        place[of[less]] = np.ravel_multi_index(where, counts.shape[1:])
    return ExtremeCounts(np.minimum(1.0, 2 * size * p), place)


def most_extreme_of_few(
    slice_of: NDArray[np.int64],
    counts: NDArray[np.int64],
    trials: NDArray[np.int64],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    shape: tuple[int, int],
) -> ExtremeCounts:
    """As `most_extreme_counts`, of slices whose counts are nearly all 0.

    Args:
        slice_of: int64, (counts,): the slice of each count that is looked at. Of those that are
            alike in all else, such as most that are 0, one is enough.
        counts: int64, (counts,).
        trials: int64, (counts,): number of trials of each.
        bounds: float64, (counts,), twice: the lowest and highest probability of success of each.
        shape: how many slices there are, and how many counts each has.

    Returns:
        The place is that among the counts that are looked at.
    """
    slices, size = shape
    tails = np.minimum(
        binomial_at_most(counts, trials, bounds[0]), binomial_at_least(counts, trials, bounds[1])
    )
    order = np.lexsort((tails, slice_of))
    first = order[np.diff(slice_of[order], prepend=-1) != 0]
    p, place = np.ones(slices), np.zeros(slices, np.int64)
    p[slice_of[first]], place[slice_of[first]] = tails[first], first
    return ExtremeCounts(np.minimum(1.0, 2 * size * p), place)


def evenness_test(counts: NDArray[np.int64], shares: Any = None) -> ExtremeCounts:
    """Tests whether reports fall into all places with their probabilities.

    Tests each place by its exact binomial tail and, with enough reports, all places together by
    chi-square; p is corrected for the two tests.

    Args:
        counts: int64, (slices, places), at least one place.
        shares: float64, (places,): the probability of each place; None if all are equal.
    """
    total, size = counts.sum(axis=1), counts.shape[1]
    shares = np.full(size, 1 / size) if shares is None else np.asarray(shares, np.float64)
    single = most_extreme_counts(counts, total[:, None], shares, shares)
    enough = np.flatnonzero(total * shares.min() >= ENOUGH)
    if size < 2 or not enough.size:
        return single
    expected = total[enough, None] * shares
    statistic = ((counts[enough] - expected) ** 2 / expected).sum(axis=1)
    together = special.chdtrc(size - 1, statistic)
    p = single.p.copy()
    p[enough] = np.minimum(1.0, 2 * np.minimum(p[enough], together))
    return ExtremeCounts(p, single.place)


def bennett_bound(deviation: Any, variance: Any, largest: Any) -> Any:
    """An upper bound of the probability that a sum of independent terms is so far from its mean.

    Bennett's inequality (1962), both sides. It holds for any number of terms; where the normal
    approximation is good it is about ten times too large.

    Args:
        deviation: how far the sum is from its mean; a float or float64 array.
        variance: of the sum, or more.
        largest: how far one term can be from its mean, or more.
    """
    return np.minimum(1.0, 2 * np.exp(-bennett_exponent(deviation, variance, largest)))


def bennett_exponent(deviation: Any, variance: Any, largest: Any) -> Any:
    """The negative logarithm of one side of `bennett_bound`, which takes the same."""
    spread = np.maximum(np.asarray(variance, np.float64), np.finfo(np.float64).tiny)
    u = largest * np.abs(deviation) / spread
    exponent = (1 + u) * np.log1p(u)
    exponent -= u
    exponent *= spread / np.square(largest)
    return exponent


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
