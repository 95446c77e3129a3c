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
        places = np.nonzero(counts < edge if side < 0 else counts > edge)
        rows = places[0]
        if not rows.size:
            continue
        trial, probability = (np.broadcast_to(array, counts.shape)[places] for array in (n, bound))
        tails = tail(counts[places], trial, probability)
        # Of each slice the least tail, and of equal ones the first.
        order = np.lexsort((tails, rows))
        first = order[np.diff(rows[order], prepend=-1) != 0]
        less = first[tails[first] < p[rows[first]]]
        p[rows[less]] = tails[less]
        where = tuple(axis[less] for axis in places[1:])
        place[rows[less]] = np.ravel_multi_index(where, counts.shape[1:])
    return ExtremeCounts(np.minimum(1.0, 2 * size * p), place)


def most_extreme_of_groups(
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    trials: NDArray[np.int64],
    bounds: tuple[Any, Any],
    size: int,
) -> ExtremeCounts:
    """As `most_extreme_counts`, of groups of counts whose trials and bounds are the same.

    Args:
        least: int64, (slices, groups): the least count of each.
        most: int64, (slices, groups): the largest.
        trials: int64, (slices, groups): number of trials of each of its counts.
        bounds: the lowest and the highest probability of success of a group's counts.
        size: how many counts all groups of a slice have.

    Returns:
        The place is that of the group, and behind the groups that of one whose least count it is.
    """
    tails = np.hstack(
        [binomial_at_least(most, trials, bounds[1]), binomial_at_most(least, trials, bounds[0])]
    )
    place = tails.argmin(axis=1)
    return ExtremeCounts(np.minimum(1.0, 2 * size * tails.min(axis=1)), place)


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
    cdf = special.betainc(n - k, k + 1.0, 1 - probability)
    return np.asarray(np.where(inside, cdf, count >= 0), np.float64)


def binomial_at_least(count: Any, trials: Any, probability: Any) -> NDArray[np.float64]:
    """P(Bin(trials, probability) >= count), not computed as 1 minus the other tail."""
    inside = (count > 0) & (count <= trials)
    k, n = np.where(inside, count, 1), np.where(inside, trials, 1)
    upper_tail = special.betainc(k, n - k + 1.0, probability)
    return np.asarray(np.where(inside, upper_tail, count <= 0), np.float64)
