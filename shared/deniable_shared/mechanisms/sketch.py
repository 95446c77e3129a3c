"""Count-mean sketch: strings of an open domain, hashed into buckets that any oracle randomizes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, cast

from deniable_shared.device_classes import CLASSES, classes_by_group
from deniable_shared.errors import ParameterError
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import (
    MECHANISMS,
    MEMOIZE,
    Mechanism,
    PairSupport,
    Support,
    SupportMechanism,
    require_integer,
)
from deniable_shared.mechanisms.oracle import FreshOracle, IndexOracle, MemoizedOracle, Oracle
from deniable_shared.mechanisms.oracles.ht import HadamardResponse
from deniable_shared.mechanisms.oracles.losue import MemoizedUnaryEncoding
from deniable_shared.mechanisms.request import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest
    from deniable_shared.mechanisms.resemblance import RepeatedBits, RepeatedItem
    from deniable_shared.mechanisms.second_round import SecondRound

ORACLE_OF_NAME: Final[Mapping[str, str]] = {"cms": "sue", "hcms": "ht", "loloha": "lgrr"}
"""Names that a registry may use for a sketch, and the oracle that each has inside."""

LOLOHA: Final = "loloha"
"""The sketch over L-GRR with about e^epsilon + 1 buckets (Arcolezi et al. 2023)."""

MAX_BUCKETS: Final = 65_536
MAX_ROWS: Final = 65_536
MAX_CELLS: Final = 1 << 23
"""A tally has at most this many counters in all rows together."""

ASSUMED_SECOND_MOMENT: Final = Fraction(1, 20)
"""The sum of squared shares that sizing assumes: more concentrated than words, less than brands."""

FAMILY_TO_NOISE: Final = 0.05
"""How much the error of one hash family may add to the variance of the noise."""

MIN_ROWS: Final = 64

FITTED_BUCKETS: Final = 128
"""Sketches of at most so many buckets are read by least squares, together with common strings."""

_FITTED_ABOVE: Final = 4.0
"""Strings of so many standard errors are fitted, and then add nothing to the errors of others."""


@frozen
class Sketch(SupportMechanism):
    """A count-mean sketch (Apple, Learning with Privacy at Scale, 2017), over any oracle.

    The device draws a row j uniformly, and reports the bucket h_j(x) of its value through the inner
    oracle. The row is public, so epsilon is the inner oracle's. Apple's CMS is the sketch over
    symmetric unary encoding, its HCMS the one over the one-bit Hadamard response; over optimized
    unary encoding or projective geometry response the noise is optimal at every epsilon. The report
    is the row in two bytes, big-endian, and the inner report.

    Over an oracle that memoises, a device keeps one row for good: then it has one permanent answer
    per bucket, and so the inner oracle's `memoized_values`, whatever strings it ever holds. LOLOHA
    (Arcolezi et al. 2023) is the sketch over L-GRR with about e^epsilon + 1 buckets. The row
    follows from the device's class, so such a sketch has at most 64 rows.

    Attributes:
        rows: number of hash functions, in [1, 65536], or [1, 64] where the inner oracle memoises.
        inner: the oracle over the buckets.
    """

    name: ClassVar[str] = "sketch"
    types: ClassVar[frozenset[str]] = frozenset({"string"})
    rows: int
    inner: Oracle

    def __post_init__(self) -> None:
        require_integer("sketch rows", self.rows, 1, MAX_ROWS)
        if not isinstance(self.inner, Oracle) or not self.inner.pure:
            raise ParameterError("sketch inner", "a pure oracle", self.inner)
        limit = max_rows(self.inner)
        if self.rows > limit:
            raise ParameterError("sketch rows", f"at most {limit}", self.rows)

    @classmethod
    def registry_names(cls, repeat: str) -> tuple[str, ...]:
        """Some sketches have a name of their own, which decides the oracle inside."""
        return (LOLOHA, cls.name) if repeat == MEMOIZE else ("cms", "hcms", cls.name)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Sketch:
        """Options ``buckets`` and ``rows``, and under the name ``sketch`` the oracle ``inner``.

        What is left open is chosen for the declared epsilons and the expected devices.
        """
        memoized = request.epsilon_permanent is not None
        options = request.options
        buckets = options.integer("buckets", 2, MAX_BUCKETS, default=None)
        most_rows = CLASSES if memoized else MAX_ROWS
        rows = options.integer("rows", 1, most_rows, default=None)
        inner = ORACLE_OF_NAME.get(request.name)
        if request.name == cls.name:
            inner = options.choice("inner", _inner_names(memoized=memoized), default=None)
        try:
            oracle = (_memoized_inner if memoized else _fresh_inner)(request, inner, buckets)
        except ParameterError as error:
            if not error.name.endswith(" size"):
                raise
            # A registry says buckets where the oracle says size.
            raise ParameterError("sketch buckets", error.constraint, error.value) from error
        return cls(rows=rows or rows_for(oracle, request.devices), inner=oracle)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Sketch | None:
        """The sketch that would be chosen there."""
        return None if self.epsilon_permanent else choice.sketch_for(epsilon, 1)

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[Mechanism]:
        """Sketches over all pure oracles."""
        return sketches(Fraction(self.epsilon), self.epsilon_permanent, devices, choice)

    @property
    def title(self) -> str:  # type: ignore[override]  # depends on the inner oracle
        """What is sketched, and over what."""
        return f"count-mean sketch over {self.inner.title}"

    @property
    def buckets(self) -> int:
        """Number of buckets m in a row."""
        return self.inner.size

    @property
    def is_fitted(self) -> bool:
        """Whether common strings are fitted to all rows, instead of leaving rows out."""
        return self.buckets <= FITTED_BUCKETS

    @property
    def report_bytes(self) -> int:
        """Two bytes for the row, and the inner report."""
        return 2 + self.inner.report_bytes

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return self.inner.epsilon

    def losses(self) -> LossClasses:
        """The inner oracle's, as for two strings that share no bucket: the row is public."""
        return self.inner.losses()

    @property
    def epsilon_permanent(self) -> float | None:
        """The privacy loss of all reports of one value, in nats: the inner oracle's."""
        return self.inner.epsilon_permanent

    @property
    def memoized_values(self) -> int | None:
        """The inner oracle's: strings that share a bucket share its permanent answer."""
        return self.inner.memoized_values

    @property
    def second_round(self) -> SecondRound | None:
        """The inner oracle's."""
        return self.inner.second_round

    @property
    def permanent_groups(self) -> int:
        """The rows, if a device keeps one."""
        return 1 if self.epsilon_permanent is None else self.rows

    @property
    def repeated(self) -> RepeatedBits | RepeatedItem | None:
        """The inner oracle's."""
        return self.inner.repeated

    @property
    def support(self) -> Support:
        """The probabilities that a report supports an item, over the functions of the family.

        A device that holds the item supports its bucket with the inner p. Another device's value
        falls into the same bucket with probability 1/m, so q = q' + (p - q') / m. The paper's
        estimator, (m / (m - 1)) (sketch mean - 1/m), is the support lemma with these two, and its
        variance contains both the noise and the sampled collisions. A row that a device keeps is as
        independent of its value as one drawn for a report.
        """
        return self._with_collisions(self.inner.support)

    def permanent_support(self) -> Support | None:
        """A device that memoises keeps its row too, so collisions are permanent."""
        inner = self.inner.permanent_support()
        return None if inner is None else self._with_collisions(inner)

    def pair_support(self) -> PairSupport | None:
        """Two strings share a bucket in one row of m; else they are two items of the oracle."""
        return self._pairs(self.inner.pair_support(), self.inner.support)

    def permanent_pair_support(self) -> PairSupport | None:
        """The same for permanent answers."""
        return self._pairs(self.inner.permanent_pair_support(), self.inner.permanent_support())

    def _with_collisions(self, inner: Support) -> Support:
        return Support(inner.p, inner.q + (inner.p - inner.q) / self.buckets)

    def _pairs(self, inner: PairSupport | None, support: Support | None) -> PairSupport | None:
        """Two strings, from two items of the oracle inside; a third hits either's bucket by 1/m."""
        if inner is None or support is None:
            return None
        same, either = 1 / self.buckets, self._with_collisions(support).q
        third = 2 * same * inner.own + (1 - 2 * same) * inner.other
        return PairSupport(
            same * support.p + (1 - same) * inner.own, same * either + (1 - same) * third
        )

    def family_variance(self, second_moment: float) -> float:
        """The variance over hash families, which more reports do not reduce.

        Args:
            second_moment: the sum of the squared shares of all other items, in [0, 1].
        """
        return second_moment / (self._evenly_used_rows * (self.buckets - 1))

    def collision_variance(self, devices: float) -> float:
        """The variance that collisions with the strings that planning assumes add.

        Rows of many buckets are left out where a common string is, and what is assumed stays. Of
        few buckets, strings above four standard errors s are fitted. If the strings' shares are c /
        1, c / 2, ..., the squares of the others sum to about 4 c s.

        Args:
            devices: how many report; greater than 0.
        """
        moment = float(ASSUMED_SECOND_MOMENT)
        if self.is_fitted:
            largest = math.sqrt(6 * moment) / math.pi
            error = math.sqrt(self.variance(0.0, 1) / devices)
            moment = min(moment, _FITTED_ABOVE * largest * error)
        return self.family_variance(moment)

    @property
    def _evenly_used_rows(self) -> float:
        """The number of equally common rows with the same error of the hash family."""
        if self.permanent_groups == 1:
            return self.rows
        return CLASSES**2 / sum(count * count for count in classes_by_group(self.rows))


def sketches(
    epsilon: Fraction, permanent: float | None, devices: int, choice: MechanismChoice
) -> list[Sketch]:
    """One sketch over each oracle that can stand inside, without options of a registry.

    Args:
        epsilon: privacy loss of one report, in nats.
        permanent: privacy loss of all reports of one value, in nats; None without memoising.
        devices: how many are expected; decides the rows.
        choice: knows all oracles.
    """
    inners = (
        choice.comparable_inner_oracles(epsilon)
        if permanent is None
        else choice.memoized_inner_candidates(epsilon, Fraction(permanent))
    )
    return [Sketch(rows=rows_for(inner, devices), inner=inner) for inner in inners]


def _inner_names(*, memoized: bool) -> list[str]:
    """What a registry may name as the oracle inside."""
    kind = MemoizedOracle if memoized else FreshOracle
    return [
        name
        for name, mechanism in sorted(MECHANISMS.items())
        if issubclass(mechanism, kind) and mechanism.pure
    ]


def _fresh_inner(request: MechanismRequest, name: str | None, buckets: int | None) -> Oracle:
    if name is None:
        return request.choice.sketch_for(request.epsilon, request.devices, buckets).inner
    if name == HadamardResponse.name and buckets is not None and buckets & (buckets - 1):
        # Any number would do, but the next power of two costs the same and has fewer collisions.
        raise ParameterError("sketch buckets", "a power of two over ht", buckets)
    kind = cast("type[FreshOracle]", MECHANISMS[name])
    return kind.for_epsilon(buckets or request.choice.BUCKETS, request.epsilon)


def _memoized_inner(request: MechanismRequest, name: str | None, buckets: int | None) -> Oracle:
    """The oracle inside is L-OSUE unless the registry names another.

    At equal epsilons RAPPOR has at least twice its variance (with two hashes; with one, more too),
    collisions aside, and decodes a limited list of candidates only.
    """
    if buckets is None:
        buckets = {
            AUTO: request.choice.MEMOIZED_BUCKETS,
            LOLOHA: request.choice.local_hashing_buckets(request.epsilon),
        }.get(request.name, request.choice.BUCKETS)
    kind = cast("type[MemoizedOracle]", MECHANISMS[name or MemoizedUnaryEncoding.name])
    return kind.for_epsilons(buckets, request.epsilon, request.permanent)


def row_cells(inner: Oracle) -> int:
    """How many counters a row has, to within one: one per outcome, or one per bucket.

    Args:
        inner: the oracle over the buckets.
    """
    return inner.outcomes if isinstance(inner, IndexOracle) else inner.size


def max_rows(inner: Oracle) -> int:
    """How many rows there may be: as many as a tally holds, and no more than classes of devices.

    Args:
        inner: the oracle over the buckets.
    """
    most = MAX_ROWS if inner.epsilon_permanent is None else CLASSES
    return min(most, MAX_CELLS // row_cells(inner))


def rows_for(inner: Oracle, devices: int) -> int:
    """The rows that keep the error of the hash family under 5% of the variance of the noise.

    With n devices: rows >= n F2 / (0.05 V (m - 1)), V the variance of a rare item for one report
    and F2 the sum of squared shares, assumed to be 0.05. At least 64; at most `max_rows`.
    """
    noise = inner.variance(0.0, 1)
    needed = devices * float(ASSUMED_SECOND_MOMENT) / (FAMILY_TO_NOISE * noise * (inner.size - 1))
    return max(1, min(max(MIN_ROWS, math.ceil(needed)), max_rows(inner)))
