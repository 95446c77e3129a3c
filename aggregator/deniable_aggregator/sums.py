"""Shares of sets of items, with errors that know how the items' estimates vary together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deniable_aggregator.combination import About, Combination, Part, combine
from deniable_aggregator.tallies import Counted, Shares
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    Mechanism,
    RandomizedResponse,
    Sketch,
    Support,
)
from deniable_shared.mechanisms.unary import UnaryEncoding

if TYPE_CHECKING:
    from collections.abc import Sequence


class Together(NamedTuple):
    """With which probabilities a report supports two given items at once.

    Attributes:
        own: if one of them is the device's.
        other: if neither is.
    """

    own: float
    other: float


@dataclass(frozen=True)
class Sum:
    """The share of the devices that hold any of a set of items.

    Attributes:
        items: the set.
        share: unbiased; may lie outside [0, 1].
        standard_error: of the share.
        low: lower end of its interval.
        high: upper end.
        exact: whether the interval is an exact binomial one.
        covariance: what is known of how the items' estimates vary together.
    """

    items: tuple[str, ...]
    share: float
    standard_error: float
    low: float
    high: float
    exact: bool
    covariance: str

    def as_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "items": list(self.items),
            "share": self.share,
            "standard_error": self.standard_error,
            "low": self.low,
            "high": self.high,
            "method": "exact" if self.exact else "normal",
            "covariance": self.covariance,
        }


def add_up(
    parts: Sequence[Part],
    positions: Sequence[int],
    items: Sequence[str],
    about: About,
    alpha: float,
) -> Sum:
    """The share of a set of items, from every spec that knows all of them.

    Args:
        parts: what the specs say.
        positions: which of their items are added; all different.
        items: the same by name.
        about: these devices, or the population they come from.
        alpha: the probability that the interval may miss, in (0, 1).

    Raises:
        ParameterError: if no spec knows all of the items.
    """
    sums, notes = [], []
    for part in parts:
        place = {position: index for index, position in enumerate(part.known.tolist())}
        if all(position in place for position in positions):
            chosen = np.array([place[position] for position in positions], np.int64)
            shares, note = _sum(part.spec.mechanism, part.shares.of(chosen))
            sums.append(part._replace(known=np.zeros(1, np.int64), shares=shares))
            notes.append(note)
    if not sums:
        raise ParameterError("sum", "items that one spec has together", list(items))
    found: Combination = combine(sums, 1, about)
    limits = found.limits(np.zeros(1, np.int64), alpha)
    return Sum(
        items=tuple(items),
        share=float(found.share[0]),
        standard_error=float(np.sqrt(found.variance[0])),
        low=float(limits.low[0]),
        high=float(limits.high[0]),
        exact=bool(limits.exact[0]),
        covariance="; ".join(dict.fromkeys(notes)),
    )


def together(mechanism: Mechanism) -> Together | None:
    """The probabilities for two items, where they are the same for any two.

    A report of generalized randomized response supports one item only; the bits of a unary
    encoding are independent. In a sketch, two items share a bucket in one row of m, and else are
    two items of the inner oracle, of which a third value hits either with probability 1/m.
    """
    if isinstance(mechanism, GeneralizedRandomizedResponse | RandomizedResponse):
        return Together(0.0, 0.0)
    if isinstance(mechanism, UnaryEncoding):
        p, q = mechanism.support.p, mechanism.support.q
        return Together(p * q, q * q)
    if isinstance(mechanism, Sketch):
        inner = together(mechanism.inner)
        if inner is None:
            return None
        same = 1 / mechanism.buckets
        third = 2 * same * inner.own + (1 - 2 * same) * inner.other
        return Together(
            same * mechanism.inner.support.p + (1 - same) * inner.own,
            same * mechanism.support.q + (1 - same) * third,
        )
    return None


def _sum(mechanism: Mechanism, shares: Shares) -> tuple[Shares, str]:
    """One spec's estimate of the sum as a single item, and what is known of the covariances."""
    share = shares.share.sum(keepdims=True)
    counted, pairs = shares.counted, together(mechanism)
    if shares.covariance is not None:
        variance = shares.covariance.sum(keepdims=True).ravel()
        return Shares(share, variance, variance), "of the regression"
    if counted is None or pairs is None:
        variance = np.sqrt(shares.variance).sum(keepdims=True) ** 2
        null_variance = np.sqrt(shares.null_variance).sum(keepdims=True) ** 2
        return Shares(share, variance, null_variance), (
            "not known in closed form; the error is the largest that any could give"
        )
    size, support = shares.share.size, counted.support
    family = _family_variance(mechanism, counted.family, size, float(share[0]))
    null_variance, variance = (
        _sum_variance(held, size, support, pairs, counted.reports) + family
        for held in (np.zeros(1), np.clip(share, 0.0, 1.0))
    )
    single: Counted | None = None
    if size == 1:
        single = counted
    elif pairs == Together(0.0, 0.0) and size < getattr(mechanism, "size", 0):
        # At most one item is supported at a time, so what supports any is counted as one item.
        either = Support(support.p + (size - 1) * support.q, size * support.q)
        single = Counted(counted.supporting.sum(keepdims=True), counted.reports, either)
    return Shares(share, variance, null_variance, single), "exact"


def _sum_variance(held: Any, size: int, support: Support, pairs: Together, reports: int) -> Any:
    """The variance of a sum of shares, if the items together have the share `held`.

    The sum of all variances and covariances of the numbers of supporters, over n (p - q)^2.
    """
    p, q = support.p, support.q
    own = p * (1 - p) + (size - 1) * (q * (1 - q) + 2 * (pairs.own - p * q))
    own += (size - 1) * (size - 2) * (pairs.other - q * q)
    other = size * q * (1 - q) + size * (size - 1) * (pairs.other - q * q)
    return np.maximum(held * own + (1 - held) * other, 0.0) / (reports * (p - q) ** 2)


def _family_variance(mechanism: Mechanism, family: float, size: int, share: float) -> float:
    """What a hash family adds: the items' own errors, and that they fall on each other.

    A collision of two items of the set moves both, by each other's share.
    """
    if not isinstance(mechanism, Sketch):
        return size * family
    return size * family + mechanism.family_variance(min(max(share, 0.0), 1.0) ** 2)
