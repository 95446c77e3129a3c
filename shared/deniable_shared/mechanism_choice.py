"""Chooses the mechanism of a metric whose registry names none.

Devices and the aggregator each make the choice, and must make the same one. So it depends on the
registry alone, uses only integers and the basic operations of IEEE arithmetic, and never changes
for ``registry = 1``: tests/vectors/choices.json holds it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import exp_lower
from deniable_shared.mechanisms import (
    MEMOIZED_ORACLES,
    ORACLES,
    FreshMean,
    Hybrid,
    Mechanism,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    NumericMechanism,
    OneBitMean,
    Oracle,
    Piecewise,
    PrivSet,
    SetMechanism,
    Sketch,
    Wheel,
)
from deniable_shared.mechanisms.oracles.grr import MAX_SIZE
from deniable_shared.mechanisms.sketch import MAX_CELLS, MIN_ROWS, row_cells, rows_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction

AnyMechanism = TypeVar("AnyMechanism", bound=Mechanism)

BUCKETS: Final = 1_024
"""Buckets in a row of a sketch: with so many, collisions add less than 1.4% to the noise."""

MEMOIZED_BUCKETS: Final = 32
"""Buckets in a row of a sketch whose reports are memoised.

With more of them two reports of a device look more alike, with fewer strings collide more often: at
epsilon 1 and epsilon_permanent 2, one of 10,000 devices is told by a second report in 8% of cases
with 32, in 17% with 64, and always with 1,024.
"""

PLANNED_ORACLES: Final = ("grr", "pgr", "ss", "oue", "ht", "rhr")
"""The oracles to choose from, the simplest to understand first. The list never changes, either.

It lacks sue, whose noise is larger than that of oue, and olh, for which the server computes a hash
per report and item while pgr is as accurate without. A registry may name both.
"""

PLANNED_MEANS: Final[tuple[type[FreshMean], ...]] = (OneBitMean, Piecewise, Hybrid)
"""The mechanisms for means to choose from, the simplest first. The list never changes, either.

It lacks laplace, whose noise is larger than hybrid's at every epsilon, and gaussian, which needs a
delta.
"""

MAX_ROW_CELLS: Final = MAX_CELLS // MIN_ROWS
MAX_REPORT_BYTES: Final = 4_096
NEAR_OPTIMAL: Final = 1.03
"""How much more variance than the least is accepted for smaller reports, as a factor.

Intervals are at most 1.5% wider for it. At epsilon 1 that is the price of sending 2 bytes
(projective geometry over three elements) instead of a bit per item.
"""

REMEMBERED_CHOICES: Final = 1_024
"""A choice takes a millisecond, and most metrics of a large registry are alike."""

EQUAL_NOISE: Final = 1.005
"""Variances that differ by less than this factor count as equal: the simpler oracle is chosen."""


SHARE_OF_SETS: Final = 0.1
"""The share of an item for which the mechanism over sets is chosen."""


_CATEGORY_ORACLES: Final = tuple(
    name for name, oracle in ORACLES.items() if "category" in oracle.types
)


def total_variance(oracle: Oracle) -> float:
    """The variance of one report, summed over all items, if every item is equally common.

    This is the variance of the noise alone. Drawing the devices from a population adds 1 - 1/size
    for every oracle, so an oracle that is near the best here is at least as near with it.
    """
    return oracle.size * oracle.variance(1 / oracle.size, 1)


def least_total_error(size: int, epsilon: float) -> float:
    """The least total squared error over all items of any mechanism, times the number of reports.

    Asymptotic minimax risk for devices drawn from a population, n E||estimate - share||^2 (Ye and
    Barg 2018, attained by subset selection with subsets of w items, at uniform shares)::

        min over w of (k - 1)^2 (w e^eps + k - w)^2 / (k w (k - w) (e^eps - 1)^2)

    Args:
        size: number of items k, at least 2.
        epsilon: privacy loss of one report; greater than 0.
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
    """The limit of `least_total_error` for one of very many items: 4 e^eps / (e^eps - 1)^2.

    Args:
        epsilon: privacy loss of one report; greater than 0.
    """
    return 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2


def candidate_oracles(
    size: int, epsilon: Fraction, names: Iterable[str] = PLANNED_ORACLES
) -> list[Oracle]:
    """Every oracle that can carry so many items in reports of at most 4 KiB.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report.
        names: which oracles to consider.
    """
    oracles: list[Oracle] = []
    for name in names:
        try:
            oracle = ORACLES[name].for_epsilon(size, epsilon)
        except ParameterError:
            continue
        if oracle.report_bytes <= MAX_REPORT_BYTES:
            oracles.append(oracle)
    return oracles


def comparable_oracles(size: int, epsilon: Fraction) -> list[Oracle]:
    """Every oracle of categories that can carry so many items, whether it is ever chosen or not."""
    return candidate_oracles(size, epsilon, _CATEGORY_ORACLES)


@lru_cache(maxsize=REMEMBERED_CHOICES)
def oracle_for(size: int, epsilon: Fraction) -> Oracle:
    """The oracle with the least total squared error, or nearly the least and smaller reports.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report.

    Raises:
        ParameterError: if no oracle can carry so many items.
    """
    oracles = candidate_oracles(size, epsilon)
    if not oracles:
        raise ParameterError("values", "few enough for an oracle; use a string metric", size)
    return _choose(oracles, total_variance)


@lru_cache(maxsize=REMEMBERED_CHOICES)
def mean_for(epsilon: Fraction) -> FreshMean:
    """The mechanism with the least variance for the number that suits it least, or nearly so.

    Args:
        epsilon: privacy loss of one report.
    """
    means = [kind.for_epsilon(epsilon) for kind in PLANNED_MEANS]
    return _choose(means, NumericMechanism.worst_variance)


def memoized_candidate_oracles(
    size: int, epsilon: Fraction, epsilon_permanent: Fraction
) -> list[Oracle]:
    """The oracles that can carry so many items and draw reports from a permanent answer.

    Oracles whose privacy loss is more than the sum of the epsilons charged for it are left out, see
    `MemoizedRandomizedResponse`.

    Args:
        size: number of items, at least 2.
        epsilon: privacy loss of one report.
        epsilon_permanent: privacy loss of all reports of one value.

    Raises:
        ParameterError: if no oracle can carry so many items, or epsilon is not below
            epsilon_permanent.
    """
    oracles: list[Oracle] = []
    refused = None
    for kind in MEMOIZED_ORACLES.values():
        try:
            oracles.append(kind.for_epsilons(size, epsilon, epsilon_permanent))
        except ParameterError as error:
            refused = error
    if refused is not None and not oracles:
        raise refused
    return oracles


@lru_cache(maxsize=REMEMBERED_CHOICES)
def memoized_oracle_for(size: int, epsilon: Fraction, epsilon_permanent: Fraction) -> Oracle:
    """Of these oracles, the one that `oracle_for` would choose by the variance of one report.

    The variance of one report depends on epsilon alone, and not on epsilon_permanent.
    """
    return _choose(memoized_candidate_oracles(size, epsilon, epsilon_permanent), total_variance)


def local_hashing_buckets(epsilon: Fraction) -> int:
    """The buckets of a row in local hashing: round(e^epsilon) + 1, or the most that L-GRR can have.

    This integer has the least variance, within 1% of 4 e^epsilon / (e^epsilon - 1)^2.
    """
    return min(1 + round(exp_lower(epsilon)), MAX_SIZE)


def memoized_inner_candidates(epsilon: Fraction, epsilon_permanent: Fraction) -> list[Oracle]:
    """The oracles inside a sketch whose reports are memoised: L-OSUE, or L-GRR as in LOLOHA.

    Args:
        epsilon: privacy loss of one report.
        epsilon_permanent: privacy loss of all reports of one value.
    """
    buckets = local_hashing_buckets(epsilon)
    return [
        MemoizedUnaryEncoding.for_epsilons(MEMOIZED_BUCKETS, epsilon, epsilon_permanent),
        MemoizedRandomizedResponse.for_epsilons(buckets, epsilon, epsilon_permanent),
    ]


def inner_candidates(
    epsilon: Fraction, buckets: int | None = None, names: Iterable[str] = PLANNED_ORACLES
) -> list[Oracle]:
    """The oracles that a sketch may have inside: pure, and with rows that fit into a tally.

    A projective geometry usually has more points than items. Unless the number of buckets is given,
    a row gets a bucket for every point: fewer values collide, and the tally is no larger.

    Args:
        epsilon: privacy loss of one report.
        buckets: of a row; None for `BUCKETS`, or more where more take no space.
        names: which oracles to consider.
    """
    oracles = [
        oracle for oracle in candidate_oracles(buckets or BUCKETS, epsilon, names) if oracle.pure
    ]
    if buckets is None:
        oracles = [
            _with_item_for_each_outcome(oracle)
            for oracle in oracles
            if row_cells(oracle) <= MAX_ROW_CELLS
        ]
    return oracles


def comparable_inner_oracles(epsilon: Fraction) -> list[Oracle]:
    """Every oracle that a sketch may have inside, whether it is ever chosen or not."""
    return inner_candidates(epsilon, names=_CATEGORY_ORACLES)


@lru_cache(maxsize=REMEMBERED_CHOICES)
def sketch_for(epsilon: Fraction, devices: int, buckets: int | None = None) -> Sketch:
    """The sketch with the least noise, or nearly the least and smaller reports.

    Args:
        epsilon: privacy loss of one report.
        devices: how many are expected; decides the rows, see `rows_for`.
        buckets: of a row; None for `BUCKETS`, or more where more take no space.
    """
    inner = _choose(inner_candidates(epsilon, buckets), sketch_variance)
    return Sketch(rows=rows_for(inner, devices), inner=inner)


def sketch_variance(inner: Oracle) -> float:
    """The variance that one report gives for a string that nobody has: noise and collisions."""
    return Sketch(rows=1, inner=inner).variance(0.0, 1)


def set_candidates(
    size: int,
    most: int,
    epsilon: Fraction,
    devices: int,
) -> list[SetMechanism]:
    """Every mechanism that can carry sets, the simplest to understand first.

    Args:
        size: number of listed items; 0 if items are any texts.
        most: how many items of a device a report covers.
        epsilon: privacy loss of one report.
        devices: how many are expected.
    """
    listed = [PrivSet.for_epsilon(size, most, epsilon)] if size else []
    return [*listed, Wheel.for_epsilon(most, epsilon, devices)]


def set_variance(mechanism: SetMechanism) -> float:
    """The variance that one report gives for an item that one device in ten holds."""
    return mechanism.variance(SHARE_OF_SETS, 1)


@lru_cache(maxsize=REMEMBERED_CHOICES)
def set_mechanism_for(size: int, most: int, epsilon: Fraction, devices: int) -> SetMechanism:
    """The mechanism over sets with the least variance, see `set_variance`.

    Args:
        size: as of `set_candidates`, as are the others.
        most: see there.
        epsilon: see there.
        devices: see there.
    """
    return min(set_candidates(size, most, epsilon, devices), key=set_variance)


def _choose(
    candidates: list[AnyMechanism], variance: Callable[[AnyMechanism], float]
) -> AnyMechanism:
    """Chooses among near-optimal mechanisms by report size, then by variance, then by order."""
    limit = NEAR_OPTIMAL * min(map(variance, candidates))
    near_optimal = [candidate for candidate in candidates if variance(candidate) <= limit]
    smallest = min(candidate.report_bytes for candidate in near_optimal)
    small = [candidate for candidate in near_optimal if candidate.report_bytes == smallest]
    limit = EQUAL_NOISE * min(map(variance, small))
    return next(candidate for candidate in small if variance(candidate) <= limit)


def _with_item_for_each_outcome(oracle: Oracle) -> Oracle:
    """The same oracle with an item for every outcome, if that makes no more outcomes."""
    cells = row_cells(oracle)
    if cells == oracle.size:
        return oracle
    try:
        filled = oracle.from_parameters({**oracle.parameters(), "size": cells})
    except ParameterError:
        return oracle
    return filled if row_cells(filled) == cells else oracle
