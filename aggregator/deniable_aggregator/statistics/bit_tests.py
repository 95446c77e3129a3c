"""How many ones honest reports of bits have, and how often two bits are ones together."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.binomial import log_probabilities
from deniable_aggregator.statistics.tail_bounds import ExtremeCounts, bennett_exponent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support

MARGIN: Final = 5.0
"""A variance that depends on a share uses the estimate plus this many standard errors."""


def ones_distribution(bits: int, own: int, support: Support) -> NDArray[np.float64]:
    """How probable each number of ones is: float64, (bits + 1,).

    Args:
        bits: how many bits there are.
        own: how many of them are a device's own, and ones with probability p.
        support: p, and the probability q of the others.
    """
    law = _binomial(bits - own, support.q)
    return np.convolve(law, _binomial(own, support.p)) if own else law


def _binomial(trials: int, probability: float) -> NDArray[np.float64]:
    """The law of a number of successes: float64, (trials + 1,)."""
    return np.asarray(np.exp(log_probabilities(np.arange(trials + 1), trials, probability)))


def bit_pairs_test(
    lengths: NDArray[np.int64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    counts: NDArray[np.int64],
    ones: NDArray[np.int64],
    reports: NDArray[np.int64],
    support: Support,
) -> ExtremeCounts:
    """Tests whether two runs of bits have ones together as often as they must, for any values.

    A device has one own bit, so of two different runs at least one has only bits that are ones with
    probability q, independently of all others: the product of both runs' deviations from q has mean
    0. For a run with itself, its square less a multiple of itself has a known mean.

    Args:
        lengths: int64, (runs,): how many bits each run has.
        pairs: int64, (pairs,) twice: the first and the second run of each pair.
        counts: int64, (slices, pairs): summed over the reports, the product of both runs' ones.
        ones: int64, (slices, bits): how often each bit was 1.
        reports: int64, (slices,): in how many reports.
        support: with which probabilities bits are ones.

    Returns:
        The most surprising pair of each slice.
    """
    p, q = support.p, support.q
    base, own = q * (1 - q), p * (1 - p) + (p - q) ** 2
    edges = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sizes = lengths.astype(np.float64)
    sums = np.add.reduceat(ones, edges, axis=1).astype(np.float64)
    n = reports[:, None].astype(np.float64)
    null = support.variance(0.0, 1) / n
    shares = (sums - n * q * sizes) / (n * (p - q)) + MARGIN * np.sqrt(null * sizes)
    shares = np.clip(shares, 0.0, 1.0)
    first_bit, second_bit = pairs
    size_product = sizes[first_bit] * sizes[second_bit]
    # Of runs i and j, s_i s_j (w_i + w_j) is q (s_j S_i + s_i S_j) - n q^2 s_i s_j.
    expected = q * sums / sizes - n * (q * q / 2)
    deviation = counts - size_product * (expected[:, first_bit] + expected[:, second_bit])
    more = max(own - base, 0.0)
    spread = n * base * (base / 2 + more * shares / sizes)
    variance = size_product * (spread[:, first_bit] + spread[:, second_bit])
    largest = max(q, 1 - q) ** 2 * size_product
    for index in np.flatnonzero(first_bit == second_bit).tolist():
        run = int(first_bit[index])
        square = _square(int(lengths[run]), support)
        deviation[:, index] -= square.slope * (sums[:, run] - reports * q * sizes[run])
        deviation[:, index] -= reports * base * sizes[run]
        of_report = square.other + shares[:, run] * (square.own - square.other)
        variance[:, index] = reports * np.maximum(of_report, square.other)
        largest[index] = square.largest
    exponents = bennett_exponent(deviation, variance, largest)
    place = exponents.argmax(axis=1)
    p_of_pair = np.minimum(1.0, 2 * np.exp(-exponents[np.arange(len(place)), place]))
    return ExtremeCounts(np.minimum(1.0, exponents.shape[1] * p_of_pair), place)


class _Square(NamedTuple):
    """A run's squared deviation less `slope` times itself: variances, and the largest distance."""

    slope: float
    own: float
    other: float
    largest: float


@lru_cache(256)
def _square(length: int, support: Support) -> _Square:
    p, q = support.p, support.q
    base, own = q * (1 - q), p * (1 - p) + (p - q) ** 2
    slope = (own - base) / (p - q)
    deviation: Any = np.arange(length + 1) - length * q
    term = deviation**2 - slope * deviation - length * base
    of_own, of_other = (
        float(ones_distribution(length, have, support) @ term**2) for have in (1, 0)
    )
    return _Square(slope, of_own, of_other, float(np.abs(term).max()))
