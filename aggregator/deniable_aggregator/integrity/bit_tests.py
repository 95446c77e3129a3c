"""What reports of bits must look like: how many ones, and which of them come together."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.integrity.tail_bounds import (
    ExtremeCount,
    bennett_bound,
    most_extreme_count,
)
from deniable_aggregator.tallies.diagnostics import BitPairCounters, OnesHistogram
from deniable_shared.mechanisms import GroupedBins, Rappor, Sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Mechanism, Support

MARGIN: Final = 5.0
"""Shares that a variance depends on are taken so many standard errors above their estimates."""


class Expected(NamedTuple):
    """The probabilities of the bins of `Sizes`, as they are or between bounds.

    Attributes:
        low: float64, (bins,).
        high: float64, (bins,); the same where no value of a device makes a difference.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def ones_histogram_test(mechanism: Mechanism, counts: NDArray[np.int64]) -> ExtremeCount:
    """Whether numbers of ones come as often as they must, whatever devices hold.

    Args:
        mechanism: made the reports.
        counts: int64, (bins,), as `Sizes` has them.
    """
    expected = _expected(mechanism)
    return most_extreme_count(counts, int(counts.sum()), expected.low, expected.high)


@lru_cache(256)
def _expected(mechanism: Mechanism) -> Expected:
    if isinstance(mechanism, Sketch):
        return _expected(mechanism.inner)
    if isinstance(mechanism, Rappor):
        # A value sets up to `hashes` different bits.
        bits, support, skip = mechanism.bits, mechanism.support, 2
        laws = [ones_distribution(bits, own, support) for own in range(1, mechanism.hashes + 1)]
    elif isinstance(mechanism, GroupedBins):
        # A group is drawn without looking at the value, whose bin is in it with d / k.
        bits, support, skip = mechanism.buckets, mechanism.support, 2
        asked = bits / mechanism.size
        laws = [
            asked * ones_distribution(bits, 1, support)
            + (1 - asked) * ones_distribution(bits, 0, support)
        ]
    else:
        bits, support, skip = mechanism.size, mechanism.support, 0  # type: ignore[attr-defined]
        laws = [ones_distribution(bits, 1, support)]
    sizes = OnesHistogram(bits, support, skip)
    bins = sizes.bin_of(np.arange(bits + 1))
    binned = np.array([np.bincount(bins, law, minlength=sizes.cells) for law in laws])
    return Expected(binned.min(axis=0), np.minimum(binned.max(axis=0), 1.0))


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
    # scipy.stats has it too, and takes longer to import than all of the server.
    ones = np.arange(trials + 1)
    zeros = trials - ones
    ways = special.gammaln(trials + 1) - special.gammaln(ones + 1) - special.gammaln(zeros + 1)
    logarithm = ways + special.xlogy(ones, probability) + special.xlog1py(zeros, -probability)
    return np.asarray(np.exp(logarithm))


def pairs_test(
    pairs: BitPairCounters,
    counts: NDArray[np.int64],
    ones: NDArray[np.int64],
    reports: int,
    support: Support,
) -> ExtremeCount:
    """Whether runs of bits come together as often as they must, whatever devices hold.

    A device has one own bit, so of two different runs at least one has only bits that are ones with
    probability q, independently of all others: the product of both runs' deviations from q has mean
    0. For a run with itself, its square less a multiple of itself has a known mean.

    Args:
        pairs: how they were counted.
        counts: int64, (pairs,).
        ones: int64, (bits,): how often each bit was 1.
        reports: in how many reports.
        support: with which probabilities bits are ones.

    Returns:
        The index is that of a pair.
    """
    p, q = support.p, support.q
    rest, own = q * (1 - q), p * (1 - p) + (p - q) ** 2
    edges = np.concatenate([[0], np.cumsum(pairs.lengths)[:-1]])
    lengths = pairs.lengths.astype(np.float64)
    sums = np.add.reduceat(ones, edges).astype(np.float64)
    null = support.variance(0.0, reports)
    held = (sums - reports * q * lengths) / (reports * (p - q)) + MARGIN * np.sqrt(null * lengths)
    held = np.clip(held, 0.0, 1.0)
    one, other = pairs.rows, pairs.columns
    deviation = (
        counts
        - q * (lengths[other] * sums[one] + lengths[one] * sums[other])
        + reports * q * q * lengths[one] * lengths[other]
    )
    more = max(own - rest, 0.0)
    variance = (
        rest * (rest * lengths[one] * lengths[other])
        + rest * more * (held[one] * lengths[other] + held[other] * lengths[one])
    ) * reports
    largest = max(q, 1 - q) ** 2 * lengths[one] * lengths[other]
    for index in np.flatnonzero(one == other).tolist():
        run = int(one[index])
        square = _square(int(pairs.lengths[run]), support)
        deviation[index] -= square.slope * (sums[run] - reports * q * lengths[run])
        deviation[index] -= reports * rest * lengths[run]
        variance[index] = reports * max(
            square.other + held[run] * (square.own - square.other), square.other
        )
        largest[index] = square.largest
    found = bennett_bound(deviation, variance, largest)
    index = int(found.argmin())
    return ExtremeCount(min(1.0, found.size * float(found[index])), index)


class _Square(NamedTuple):
    """A run's squared deviation less `slope` times itself: variances, and the largest distance."""

    slope: float
    own: float
    other: float
    largest: float


@lru_cache(256)
def _square(length: int, support: Support) -> _Square:
    p, q = support.p, support.q
    rest, own = q * (1 - q), p * (1 - p) + (p - q) ** 2
    slope = (own - rest) / (p - q)
    deviation: Any = np.arange(length + 1) - length * q
    term = deviation**2 - slope * deviation - length * rest
    of_own, of_other = (
        float(ones_distribution(length, have, support) @ term**2) for have in (1, 0)
    )
    return _Square(slope, of_own, of_other, float(np.abs(term).max()))
