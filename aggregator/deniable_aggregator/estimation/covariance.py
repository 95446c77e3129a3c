"""How the estimates of two items vary together: exactly, from what one report can support at once.

Estimates of the support lemma count reports, and reports are independent across devices. So all
that matters is the probability that one report supports both of two items, for a device that holds
one of them and for a device that holds neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.repeated_reports import permanent_support
from deniable_aggregator.tallies import oracle_tally_for
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    HadamardResponse,
    Mechanism,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OptimizedLocalHashing,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Sketch,
    SubsetSelection,
    Support,
)
from deniable_shared.mechanisms.pgr import MAX_SIZE, points
from deniable_shared.mechanisms.unary import UnaryEncoding

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PairSupport(NamedTuple):
    """With which probabilities a report supports two given items at once.

    Attributes:
        own: if one of them is the device's.
        other: if neither is.
    """

    own: float
    other: float


MUTUALLY_EXCLUSIVE = PairSupport(0.0, 0.0)
ONE_ITEM: Final = (GeneralizedRandomizedResponse, MemoizedRandomizedResponse, RandomizedResponse)
"""Oracles whose reports support one item each."""

INDEPENDENT: Final = (MemoizedUnaryEncoding, OptimizedLocalHashing, UnaryEncoding)


def pair_support(mechanism: Mechanism) -> PairSupport | None:
    """The probabilities for two items; None where they are not known.

    They are the same for any two items, but for projective geometry response: there they depend on
    which points lie on a line, and the average is returned.
    """
    if isinstance(mechanism, ONE_ITEM):
        return MUTUALLY_EXCLUSIVE
    if isinstance(mechanism, INDEPENDENT):
        # Independent bits, in both rounds; or an independent hash function for every report.
        p, q = mechanism.support.p, mechanism.support.q
        return PairSupport(p * q, q * q)
    if isinstance(mechanism, SubsetSelection):
        return _subset(mechanism)
    if isinstance(mechanism, HadamardResponse):
        return _hadamard(mechanism)
    if isinstance(mechanism, ProjectiveGeometryResponse):
        return _geometry(mechanism)
    if isinstance(mechanism, Sketch):
        return _sketch(mechanism)
    return None


def permanent_pair_support(mechanism: Mechanism) -> PairSupport | None:
    """The same for permanent answers; None where there are none."""
    permanent = permanent_support(mechanism)
    if permanent is None:
        return None
    if isinstance(mechanism, Sketch):
        inner, support = permanent_pair_support(mechanism.inner), permanent_support(mechanism.inner)
        if inner is None or support is None:
            return None
        return _in_buckets(mechanism.buckets, inner, support)
    if isinstance(mechanism, ONE_ITEM):
        return MUTUALLY_EXCLUSIVE
    return PairSupport(permanent.p * permanent.q, permanent.q**2)


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


def geometry_sum_variance(
    mechanism: ProjectiveGeometryResponse,
    counts: NDArray[np.int64],
    chosen: NDArray[np.int64],
    held: float,
) -> float | None:
    """The same for projective geometry response, from the reports themselves.

    Its items are points, and sets of neighbours have many on a line: their variance was up to 2.7
    times that of a random set. But the tally says how many of the chosen items every single report
    supports. The sample variance of that number estimates the variance about the population without
    bias; about these devices it is less by f (1 - f) / n, since a device that holds one of the
    items supports p - q of them more.

    Args:
        mechanism: over the metric's own domain.
        counts: int64, (points,): its tally.
        chosen: int64, (items,): the items that are summed.
        held: their share together, in [0, 1].

    Returns:
        None if the space is too large.
    """
    if mechanism.outcomes > MAX_SIZE:
        return None
    # A point is on the hyperplane of another if and only if that is on its own.
    everything = oracle_tally_for(replace(mechanism, size=mechanism.outcomes))
    present = np.zeros((1, mechanism.outcomes), np.int64)
    present[0, chosen] = 1
    supported = everything.supporting(present)[0].astype(np.float64)
    reports = int(counts.sum())
    deviation = supported - counts @ supported / reports
    sample = float(counts @ deviation**2) / max(reports - 1, 1)
    support = mechanism.support
    found = sample / (support.p - support.q) ** 2 - held * (1 - held)
    return max(found, 0.0) / reports


def _subset(mechanism: SubsetSelection) -> PairSupport:
    """A set without regard to the device's item is a uniform one of the rest."""
    size, chosen, own = mechanism.size, mechanism.subset, mechanism.own / SCALE
    if size == 2:
        return MUTUALLY_EXCLUSIVE
    with_own = (chosen - 1) * (chosen - 2)
    without = chosen * (chosen - 1)
    return PairSupport(
        own * (chosen - 1) / (size - 1),
        (own * with_own + (1 - own) * without) / ((size - 1) * (size - 2)),
    )


def _hadamard(mechanism: HadamardResponse) -> PairSupport:
    """Of the rows but the first, two columns agree in K/2 - 1 and three in K/4 - 1."""
    rows, own = mechanism.order - 1, mechanism.support.p
    quarter = mechanism.order / 4
    return PairSupport(
        own * (2 * quarter - 1) / rows, ((quarter - 1) * own + quarter * (1 - own)) / rows
    )


def _geometry(mechanism: ProjectiveGeometryResponse) -> PairSupport:
    """Two hyperplanes meet in a space that lies in a third if the three points are on a line."""
    q, t = mechanism.q, mechanism.t
    inside = mechanism.inside / SCALE / mechanism.hyperplane
    outside = (1 - mechanism.inside / SCALE) / mechanism.outside
    two, three = points(q, t - 2), points(q, t - 3) if t > 2 else 0
    on_line = (q - 1) / max(mechanism.outcomes - 2, 1)
    apart = inside * three + outside * (two - three)
    return PairSupport(inside * two, on_line * inside * two + (1 - on_line) * apart)


def _sketch(mechanism: Sketch) -> PairSupport | None:
    """Two items share a bucket in one row of m; else they are two items of the inner oracle.

    A third value hits either bucket with probability 1/m.
    """
    inner = pair_support(mechanism.inner)
    if inner is None:
        return None
    return _in_buckets(mechanism.buckets, inner, mechanism.inner.support)


def _in_buckets(buckets: int, inner: PairSupport, support: Support) -> PairSupport:
    """Two items of a sketch, from two items of the oracle inside."""
    same = 1 / buckets
    third = 2 * same * inner.own + (1 - 2 * same) * inner.other
    either = support.q + (support.p - support.q) * same
    return PairSupport(
        same * support.p + (1 - same) * inner.own, same * either + (1 - same) * third
    )
