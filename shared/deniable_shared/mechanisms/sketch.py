"""Count-mean sketch: strings of an open domain, hashed into buckets that any oracle randomizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

from deniable_shared.errors import ParameterError
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


@dataclass(frozen=True)
class Sketch(SupportMechanism):
    """A count-mean sketch (Apple, Learning with Privacy at Scale, 2017), over any oracle.

    The device draws a row j uniformly, and reports the bucket h_j(x) of its value through the inner
    oracle. The row is public, so epsilon is the inner oracle's. Apple's CMS is the sketch over
    symmetric unary encoding, its HCMS the one over the one-bit Hadamard response; over optimized
    unary encoding or projective geometry response the noise is optimal at every epsilon. The report
    is the row in two bytes, big-endian, and the inner report.

    Attributes:
        rows: number of hash functions, in [1, 65536].
        inner: the oracle over the buckets.
    """

    name: ClassVar[str] = "sketch"
    rows: int
    inner: Oracle

    def __post_init__(self) -> None:
        require_integer("sketch rows", self.rows, 1, MAX_ROWS)
        if not isinstance(self.inner, Oracle) or not self.inner.pure:
            raise ParameterError("sketch inner", "a pure oracle", self.inner)
        limit = MAX_CELLS // row_cells(self.inner)
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
    def support(self) -> Support:
        """The probabilities that a report supports an item, over the functions of the family.

        A device that holds the item supports its bucket with the inner p. Another device's value
        falls into the same bucket with probability 1/m, so q = q' + (p - q') / m. The paper's
        estimator, (m / (m - 1)) (sketch mean - 1/m), is the support lemma with these two, and its
        variance contains both the noise and the sampled collisions.
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


def rows_for(inner: Oracle, devices: int) -> int:
    """The rows that keep the error of the hash family under 5% of the variance of the noise.

    With n devices: rows >= n F2 / (0.05 V (m - 1)), V the variance of a rare item for one report
    and F2 the sum of squared shares, assumed to be 0.05. At least 64; at most what a tally holds.
    """
    noise = inner.variance(0.0, 1)
    needed = devices * float(ASSUMED_SECOND_MOMENT) / (FAMILY_TO_NOISE * noise * (inner.size - 1))
    return max(1, min(max(MIN_ROWS, math.ceil(needed)), MAX_ROWS, MAX_CELLS // row_cells(inner)))
