"""Which oracle is best: a pure function of what is asked, so that both sides agree.

The choice is part of the meaning of ``registry = 1``, and tests/vectors/choices.json pins it. It is
made from integers and the basic operations of IEEE arithmetic, so no machine decides otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import exp_lower
from deniable_shared.mechanisms import (
    MEMOIZED_ORACLES,
    ORACLES,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    Oracle,
    Sketch,
)
from deniable_shared.mechanisms.grr import MAX_SIZE
from deniable_shared.mechanisms.sketch import MAX_CELLS, MIN_ROWS, row_cells, rows_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction

BUCKETS: Final = 1_024
"""Buckets in a row of a sketch, or more: sampled collisions cost less than 1.4% of the noise."""

PLANNED_ORACLES: Final = ("grr", "pgr", "ss", "oue", "ht", "rhr")
"""The oracles that the planner takes, the simplest to read first. The list is as fixed as the rest.

Left out are sue, which oue beats, and olh, which costs the server a hash per report and item for
what pgr gives for nothing; a registry may name them.
"""

MAX_ROW_CELLS: Final = MAX_CELLS // MIN_ROWS
MAX_REPORT_BYTES: Final = 4_096
NEAR_OPTIMAL: Final = 1.03
"""An oracle whose noise is this close to the least is as good; the smallest reports are taken.

Intervals are then at most 1.5% wider than they might be. At epsilon 1 this is what it costs to send
2 bytes (projective geometry over three elements) instead of a bit per item.
"""

EQUAL_NOISE: Final = 1.005
"""Oracles of the same size whose noise differs by less than this: the simplest is taken."""


_CATEGORY_ORACLES: Final = tuple(
    name for name, oracle in ORACLES.items() if "category" in oracle.types
)


def total_variance(oracle: Oracle) -> float:
    """The summed variance of all items for one report, if every item is equally common.

    It is over the noise alone, for given devices. Drawing the devices adds 1 - 1/size whatever the
    oracle, so an oracle that is near the best here is at least as near in total risk.
    """
    return oracle.size * oracle.variance(1 / oracle.size, 1)


def least_total_error(size: int, epsilon: float) -> float:
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


def least_error_of_rare_item(epsilon: float) -> float:
    """What `optimum` becomes for one of very many items: 4 e^eps / (e^eps - 1)^2.

    Args:
        epsilon: privacy loss of one report, in nats; greater than 0.
    """
    return 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2


def candidate_oracles(
    size: int, epsilon: Fraction, names: Iterable[str] = PLANNED_ORACLES
) -> list[Oracle]:
    """Every oracle that can carry so many items in reports of at most 4 KiB.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report, in nats.
        names: of oracles; those that the planner may take, unless others are to be compared.
    """
    found: list[Oracle] = []
    for name in names:
        try:
            oracle = ORACLES[name].for_epsilon(size, epsilon)
        except ParameterError:
            continue
        if oracle.report_bytes <= MAX_REPORT_BYTES:
            found.append(oracle)
    return found


def comparable_oracles(size: int, epsilon: Fraction) -> list[Oracle]:
    """Every oracle of categories that can carry so many items, whether it is ever chosen or not."""
    return candidate_oracles(size, epsilon, _CATEGORY_ORACLES)


def oracle_for(size: int, epsilon: Fraction) -> Oracle:
    """The oracle with the least total squared error, or nearly so with smaller reports.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report, in nats.

    Raises:
        ParameterError: if no oracle can carry so many items.
    """
    found = candidate_oracles(size, epsilon)
    if not found:
        raise ParameterError("values", "few enough for an oracle; use a string metric", size)
    return _choose(found, total_variance)


def memoized_candidate_oracles(
    size: int, epsilon: Fraction, epsilon_permanent: Fraction
) -> list[Oracle]:
    """The oracles that can carry so many items and draw reports from a permanent answer.

    Left out is what would not be charged in full by adding up epsilons, see
    `MemoizedRandomizedResponse`.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report, in nats.
        epsilon_permanent: privacy loss of all reports of one value, in nats.

    Raises:
        ParameterError: if no oracle can carry so many items, or epsilon is not below
            epsilon_permanent.
    """
    found: list[Oracle] = []
    refused = None
    for kind in MEMOIZED_ORACLES.values():
        try:
            found.append(kind.for_epsilons(size, epsilon, epsilon_permanent))
        except ParameterError as error:
            refused = error
    if refused is not None and not found:
        raise refused
    return found


def memoized_oracle_for(size: int, epsilon: Fraction, epsilon_permanent: Fraction) -> Oracle:
    """Of those, the one with the least total squared error, or nearly so with smaller reports.

    It is decided as `oracle_for` decides, by the variance of one report; that depends on epsilon
    alone, so both are what their one-time counterparts are at the same epsilon.
    """
    return _choose(memoized_candidate_oracles(size, epsilon, epsilon_permanent), total_variance)


def local_hashing_buckets(epsilon: Fraction) -> int:
    """The buckets of a row in local hashing: round(e^epsilon) + 1, as many as L-GRR can have.

    The integer with the least variance, to within 1% of 4 e^epsilon / (e^epsilon - 1)^2.
    """
    return min(1 + round(exp_lower(epsilon)), MAX_SIZE)


def memoized_inner_candidates(epsilon: Fraction, epsilon_permanent: Fraction) -> list[Oracle]:
    """What a sketch may have inside where reports are memoised: L-OSUE, or L-GRR as LOLOHA has it.

    Args:
        epsilon: privacy loss of one report, in nats.
        epsilon_permanent: privacy loss of all reports of one value, in nats.
    """
    buckets = local_hashing_buckets(epsilon)
    return [
        MemoizedUnaryEncoding.for_epsilons(BUCKETS, epsilon, epsilon_permanent),
        MemoizedRandomizedResponse.for_epsilons(buckets, epsilon, epsilon_permanent),
    ]


def inner_candidates(
    epsilon: Fraction, buckets: int | None = None, names: Iterable[str] = PLANNED_ORACLES
) -> list[Oracle]:
    """The oracles that a sketch may have inside: pure, and with rows that a tally can hold.

    A projective geometry has as many points as fill it, so where nothing else is asked for a row
    has a bucket for every point: the collisions are fewer and the tally is no larger.

    Args:
        epsilon: privacy loss of one report, in nats.
        buckets: of a row; None for `BUCKETS`, or more where they cost nothing.
        names: see `candidates`.
    """
    found = [
        oracle for oracle in candidate_oracles(buckets or BUCKETS, epsilon, names) if oracle.pure
    ]
    if buckets is None:
        found = [
            _with_item_for_each_outcome(oracle)
            for oracle in found
            if row_cells(oracle) <= MAX_ROW_CELLS
        ]
    return found


def comparable_inner_oracles(epsilon: Fraction) -> list[Oracle]:
    """Every oracle that a sketch may have inside, whether it is ever chosen or not."""
    return inner_candidates(epsilon, names=_CATEGORY_ORACLES)


def sketch_for(epsilon: Fraction, devices: int, buckets: int | None = None) -> Sketch:
    """The sketch with the least noise, or nearly so with smaller reports.

    Args:
        epsilon: privacy loss of one report, in nats.
        devices: how many are expected; decides the rows, see `rows_for`.
        buckets: of a row; None for `BUCKETS`, or more where they cost nothing.
    """
    inner = _choose(inner_candidates(epsilon, buckets), sketch_variance)
    return Sketch(rows=rows_for(inner, devices), inner=inner)


def sketch_variance(inner: Oracle) -> float:
    """The variance of a rare string for one report: noise and sampled collisions."""
    return Sketch(rows=1, inner=inner).variance(0.0, 1)


def _choose(found: list[Oracle], variance: Callable[[Oracle], float]) -> Oracle:
    """The first of the best of the smallest of the good."""
    limit = NEAR_OPTIMAL * min(map(variance, found))
    good = [oracle for oracle in found if variance(oracle) <= limit]
    smallest = min(oracle.report_bytes for oracle in good)
    small = [oracle for oracle in good if oracle.report_bytes == smallest]
    limit = EQUAL_NOISE * min(map(variance, small))
    return next(oracle for oracle in small if variance(oracle) <= limit)


def _with_item_for_each_outcome(oracle: Oracle) -> Oracle:
    """The same oracle with an item for every outcome, if that needs no more outcomes."""
    cells = row_cells(oracle)
    if cells == oracle.size:
        return oracle
    try:
        filled = oracle.from_parameters({**oracle.parameters(), "size": cells})
    except ParameterError:
        return oracle
    return filled if row_cells(filled) == cells else oracle
