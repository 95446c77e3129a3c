"""Count-mean sketch: strings of an open domain, hashed into buckets that any oracle randomizes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Final

from deniable_shared.errors import ParameterError
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import (
    IndexOracle,
    Oracle,
    Support,
    SupportMechanism,
    require_integer,
)

MAX_ROWS: Final = 65_536
MAX_CELLS: Final = 1 << 23
"""A tally has at most this many counters in all rows together."""

ASSUMED_SECOND_MOMENT: Final = Fraction(1, 20)
"""The sum of squared shares that sizing assumes: more concentrated than words, less than brands."""

FAMILY_TO_NOISE: Final = 0.05
"""How much the error of one hash family may add to the variance of the noise."""

MIN_ROWS: Final = 64

MAX_PERMANENT_ROWS: Final = 256
"""Rows over an oracle that memoises: a row that a device keeps for good tells devices apart."""


@frozen
class Sketch(SupportMechanism):
    """A count-mean sketch (Apple, Learning with Privacy at Scale, 2017), over any oracle.

    The device draws a row j uniformly, and reports the bucket h_j(x) of its value through the inner
    oracle. The row is public, so epsilon is the inner oracle's. Apple's CMS is the sketch over
    symmetric unary encoding, its HCMS the one over the one-bit Hadamard response; over optimized
    unary encoding or projective geometry response the noise is optimal at every epsilon. The report
    is the row in two bytes, big-endian, and the inner report.

    Over an oracle that memoises, a device keeps one row for good, drawn from its secret: then it
    has one permanent answer per bucket, and so the inner oracle's `memoized_values`, whatever
    strings it ever holds. LOLOHA (Arcolezi et al. 2023) is the sketch over L-GRR with about
    e^epsilon + 1 buckets. The row says nothing about any value, but it is the same in all reports
    of a device: whoever saw them with nothing else to link them by would learn log2(rows) bits of
    who sent them, so such a sketch has at most 256 rows.

    Attributes:
        rows: number of hash functions, in [1, 65536], or [1, 256] where the inner oracle memoises.
        inner: the oracle over the buckets.
    """

    name: ClassVar[str] = "sketch"
    rows: int
    inner: Oracle

    def __post_init__(self) -> None:
        require_integer("sketch rows", self.rows, 1, MAX_ROWS)
        if not isinstance(self.inner, Oracle) or not self.inner.pure:
            raise ParameterError("sketch inner", "a pure oracle", self.inner)
        limit = max_rows(self.inner)
        if self.rows > limit:
            raise ParameterError("sketch rows", f"at most {limit}", self.rows)

    @property
    def title(self) -> str:  # type: ignore[override]  # it depends on what is inside
        """What is sketched, and over what."""
        return f"count-mean sketch over {self.inner.title}"

    @property
    def buckets(self) -> int:
        """Number of buckets m in a row."""
        return self.inner.size

    @property
    def report_bytes(self) -> int:
        """Two bytes for the row, and the inner report."""
        return 2 + self.inner.report_bytes

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return self.inner.epsilon

    @property
    def epsilon_permanent(self) -> float | None:
        """The privacy loss of all reports of one value, in nats: the inner oracle's."""
        return self.inner.epsilon_permanent

    @property
    def memoized_values(self) -> int | None:
        """The inner oracle's: strings that share a bucket share its permanent answer."""
        return self.inner.memoized_values

    @property
    def support(self) -> Support:
        """The probabilities that a report supports an item, over the functions of the family.

        A device that holds the item supports its bucket with the inner p. Another device's value
        falls into the same bucket with probability 1/m, so q = q' + (p - q') / m. The paper's
        estimator, (m / (m - 1)) (sketch mean - 1/m), is the support lemma with these two, and its
        variance contains both the noise and the sampled collisions. A row that a device keeps is as
        uniform and as independent of its value as one drawn for a report.
        """
        inner = self.inner.support
        return Support(inner.p, inner.q + (inner.p - inner.q) / self.buckets)

    def family_variance(self, second_moment: float) -> float:
        """The variance over hash families, which more reports do not reduce.

        Args:
            second_moment: the sum of the squared shares of all other items, in [0, 1].
        """
        return second_moment / (self.rows * (self.buckets - 1))


def row_cells(inner: Oracle) -> int:
    """How many counters a row has, up to a few: one per outcome, or one per bucket.

    Args:
        inner: the oracle over the buckets.
    """
    return inner.outcomes if isinstance(inner, IndexOracle) else inner.size


def max_rows(inner: Oracle) -> int:
    """How many rows there may be: as many as a tally holds, and no more than hide a device.

    Args:
        inner: the oracle over the buckets.
    """
    most = MAX_ROWS if inner.epsilon_permanent is None else MAX_PERMANENT_ROWS
    return min(most, MAX_CELLS // row_cells(inner))


def rows_for(inner: Oracle, devices: int) -> int:
    """The rows that keep the error of the hash family under 5% of the variance of the noise.

    With n devices: rows >= n F2 / (0.05 V (m - 1)), V the variance of a rare item for one report
    and F2 the sum of squared shares, assumed to be 0.05. At least 64; at most `max_rows`.
    """
    noise = inner.variance(0.0, 1)
    needed = devices * float(ASSUMED_SECOND_MOMENT) / (FAMILY_TO_NOISE * noise * (inner.size - 1))
    return max(1, min(max(MIN_ROWS, math.ceil(needed)), max_rows(inner)))
