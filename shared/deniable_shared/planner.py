"""Which oracle is best: a pure function of what is asked, so that both sides agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ORACLES, Oracle, RandomizedResponse

if TYPE_CHECKING:
    from fractions import Fraction

BUCKETS: Final = 1_024
"""Buckets in a row of a sketch: sampled collisions then cost less than 1.4% of the noise."""

SMALL_REPORT_BYTES: Final = 16
TOLERANCE: Final = 1.02
"""An oracle this close to the best is as good; the one with the smallest reports is taken."""


def total_variance(oracle: Oracle) -> float:
    """The summed variance of all items for one report, if every item is equally common."""
    return oracle.size * oracle.variance(1 / oracle.size, 1)


def candidates(size: int, epsilon: Fraction, *, max_bytes: int | None = None) -> list[Oracle]:
    """Every oracle that can carry so many items, within a size of reports.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report, in nats.
        max_bytes: the largest report, or None.
    """
    found = []
    for kind in ORACLES.values():
        if kind is RandomizedResponse:
            continue
        try:
            oracle = kind.for_epsilon(size, epsilon)
        except ParameterError:
            continue
        if max_bytes is None or oracle.report_bytes <= max_bytes:
            found.append(oracle)
    return found


def oracle_for(size: int, epsilon: Fraction, *, max_bytes: int | None = None) -> Oracle:
    """The oracle with the least total squared error, or nearly so with smaller reports.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report, in nats.
        max_bytes: the largest report, or None.

    Raises:
        ParameterError: if no oracle can carry so many items.
    """
    found = candidates(size, epsilon, max_bytes=max_bytes) or candidates(size, epsilon)
    if not found:
        raise ParameterError("values", "few enough for an oracle; use a string metric", size)
    best = min(map(total_variance, found))
    good = [oracle for oracle in found if total_variance(oracle) <= TOLERANCE * best]
    return min(good, key=lambda oracle: (oracle.report_bytes, total_variance(oracle), oracle.name))
