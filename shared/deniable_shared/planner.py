"""Which oracle is best: a pure function of what is asked, so that both sides agree.

The choice is part of the meaning of ``registry = 1``, and tests/vectors/choices.json pins it. It is
made from integers and the basic operations of IEEE arithmetic, so no machine decides otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ORACLES, Oracle, RandomizedResponse, Sketch
from deniable_shared.mechanisms.base import IndexOracle
from deniable_shared.mechanisms.sketch import rows_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

BUCKETS: Final = 1_024
"""Buckets in a row of a sketch, or more: sampled collisions cost less than 1.4% of the noise."""

MAX_ROW_CELLS: Final = 8_192
"""Integers in a row of a planned sketch, so that a thousand rows are a tally."""

MAX_REPORT_BYTES: Final = 4_096
TOLERANCE: Final = 1.03
"""An oracle whose noise is this close to the least is as good; the smallest reports are taken.

Intervals are then at most 1.5% wider than they might be. At epsilon 1 this is what it costs to send
2 bytes (projective geometry over three elements) instead of a bit per item.
"""


def total_variance(oracle: Oracle) -> float:
    """The summed variance of all items for one report, if every item is equally common.

    It is over the noise alone, for given devices. Drawing the devices adds 1 - 1/size whatever the
    oracle, so an oracle that is near the best here is at least as near in total risk.
    """
    return oracle.size * oracle.variance(1 / oracle.size, 1)


def optimum(size: int, epsilon: float) -> float:
    """The least total squared error over all items that any mechanism reaches, times the reports.

    Asymptotic minimax risk for devices drawn from a population, n E||estimate - share||^2 (Ye and
    Barg 2018, attained by subset selection with subsets of w items, at uniform shares)::

        min over w of (k - 1)^2 (w e^eps + k - w)^2 / (k w (k - w) (e^eps - 1)^2)

    Args:
        size: number of items k, at least 2.
        epsilon: privacy loss of one report, in nats; greater than 0.
    """
    odds = math.exp(epsilon)

    def risk(w: int) -> float:
        return (size - 1) ** 2 * (w * odds + size - w) ** 2 / (
            size * w * (size - w) * math.expm1(epsilon) ** 2
        )  # fmt: skip

    # Convex in w, with its minimum at k / (e^eps + 1).
    best = size / (odds + 1)
    near = {min(max(w, 1), size - 1) for w in (math.floor(best), math.ceil(best))}
    return min(map(risk, near))


def optimum_for_rare(epsilon: float) -> float:
    """What `optimum` becomes for one of very many items: 4 e^eps / (e^eps - 1)^2.

    Args:
        epsilon: privacy loss of one report, in nats; greater than 0.
    """
    return 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2


def candidates(size: int, epsilon: Fraction) -> list[Oracle]:
    """Every oracle that can carry so many items in reports of at most 4 KiB.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report, in nats.
    """
    found = []
    for kind in ORACLES.values():
        if kind is RandomizedResponse:
            continue
        try:
            oracle = kind.for_epsilon(size, epsilon)
        except ParameterError:
            continue
        if oracle.report_bytes <= MAX_REPORT_BYTES:
            found.append(oracle)
    return found


def oracle_for(size: int, epsilon: Fraction) -> Oracle:
    """The oracle with the least total squared error, or nearly so with smaller reports.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report, in nats.

    Raises:
        ParameterError: if no oracle can carry so many items.
    """
    found = candidates(size, epsilon)
    if not found:
        raise ParameterError("values", "few enough for an oracle; use a string metric", size)
    return _best(found, total_variance)


def inner_candidates(epsilon: Fraction, buckets: int | None = None) -> list[Oracle]:
    """The oracles that a sketch may have inside: pure, and with rows that a tally can hold.

    A projective geometry has as many points as fill it, so where nothing else is asked for a row
    has a bucket for every point: the collisions are fewer and the tally is no larger.

    Args:
        epsilon: privacy loss of one report, in nats.
        buckets: of a row; None for `BUCKETS`, or more where they cost nothing.
    """
    found = []
    for oracle in candidates(buckets or BUCKETS, epsilon):
        if not oracle.pure or (buckets is None and _row_cells(oracle) > MAX_ROW_CELLS):
            continue
        if buckets is None:
            filled = type(oracle).for_epsilon(_row_cells(oracle), epsilon)
            if _row_cells(filled) == _row_cells(oracle):
                oracle = filled
        found.append(oracle)
    return found


def sketch_for(epsilon: Fraction, devices: int, buckets: int | None = None) -> Sketch:
    """The sketch with the least noise, or nearly so with smaller reports.

    Args:
        epsilon: privacy loss of one report, in nats.
        devices: how many are expected; decides the rows, see `rows_for`.
        buckets: of a row; None for `BUCKETS`, or more where they cost nothing.
    """
    inner = _best(inner_candidates(epsilon, buckets), sketched_variance)
    return Sketch(rows=rows_for(inner, devices), inner=inner)


def sketched_variance(inner: Oracle) -> float:
    """The variance of a rare string for one report: noise and sampled collisions."""
    return Sketch(rows=1, inner=inner).variance(0.0, 1)


def _best(found: list[Oracle], variance: Callable[[Oracle], float]) -> Oracle:
    limit = TOLERANCE * min(map(variance, found))
    good = [oracle for oracle in found if variance(oracle) <= limit]
    return min(good, key=lambda oracle: (oracle.report_bytes, variance(oracle), oracle.name))


def _row_cells(oracle: Oracle) -> int:
    return oracle.outcomes if isinstance(oracle, IndexOracle) else oracle.size
