"""Count-mean sketch: strings from an open domain, hashed into a row and randomized bit by bit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import Mechanism, Support, require_integer
from deniable_shared.rationals import SCALE, ceil_divide, exp_lower, log_upper

MAX_ROWS: Final = 65_536
MAX_BUCKETS: Final = 4_096
MAX_CELLS: Final = 1 << 23
"""A tally has at most this many integers: 64 MiB a day."""

DEFAULT_BUCKETS: Final = 1_024
ASSUMED_SECOND_MOMENT: Final = Fraction(1, 20)
"""The sum of squared shares that sizing assumes: more concentrated than words, less than brands."""


@dataclass(frozen=True)
class CountMeanSketch(Mechanism):
    """Apple's count-mean sketch (Learning with Privacy at Scale, 2017, algorithms 3 to 5).

    The device draws a row j uniformly, sets the bit of bucket h_j(x) in a vector of m bits, and
    flips every bit with probability b = flip / 2^32. Two values differ in two bits, so epsilon is
    2 ln((1 - b) / b), attained when they fall into different buckets. The report is the row in two
    bytes, big-endian, and the bits, the first in the highest place of the first byte.

    Attributes:
        rows: number of hash functions, in [1, 65536].
        buckets: number of bits m, a multiple of 8 in [8, 4096].
        flip: weight of flipping one bit, over 2^32; in [1, 2^31 - 1].
    """

    name: ClassVar[str] = "cms"
    title: ClassVar[str] = "count-mean sketch"
    rows: int
    buckets: int
    flip: int

    def __post_init__(self) -> None:
        require_integer("cms rows", self.rows, 1, MAX_ROWS)
        require_integer("cms buckets", self.buckets, 8, MAX_BUCKETS)
        require_integer("cms flip", self.flip, 1, SCALE // 2 - 1)
        if self.buckets % 8:
            raise ParameterError("cms buckets", "a multiple of 8", self.buckets)
        if self.rows * self.buckets > MAX_CELLS:
            raise ParameterError("cms rows", f"at most {MAX_CELLS // self.buckets}", self.rows)

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, *, rows: int, buckets: int = DEFAULT_BUCKETS) -> Self:
        """The sketch of this shape whose epsilon does not exceed the one given.

        Raises:
            ParameterError: if the shape is out of range.
        """
        return cls(rows=rows, buckets=buckets, flip=_flip(epsilon))

    @classmethod
    def rows_for(cls, epsilon: Fraction, devices: int, buckets: int = DEFAULT_BUCKETS) -> int:
        """The rows that keep the error of the hash family under 5% of the variance of the noise.

        With n devices: rows >= n F2 / (0.05 V (m - 1)), V the noise of one report and F2 the sum
        of squared shares, assumed to be 0.05. At least 64; at most what a tally may hold.
        """
        flip = _flip(epsilon) / SCALE
        noise = flip * (1 - flip) / (1 - 2 * flip) ** 2
        needed = devices * float(ASSUMED_SECOND_MOMENT) / (0.05 * noise * (buckets - 1))
        return min(max(64, math.ceil(needed)), MAX_ROWS, MAX_CELLS // buckets)

    @property
    def report_bytes(self) -> int:
        """Two bytes for the row, and the bits."""
        return 2 + self.buckets // 8

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(Fraction(SCALE - self.flip, self.flip) ** 2)

    @property
    def support(self) -> Support:
        """The probabilities of a 1 in an item's bucket, over the hash functions of the family.

        A device that holds the item sets the bit with p = 1 - b. Another device's value falls into
        the same bucket with probability 1/m, so q = b + (p - b) / m. The paper's estimator,
        (m / (m - 1)) (sketch mean - 1/m), is the support lemma with these two, and its variance
        contains both the noise and the sampled collisions.
        """
        flip = self.flip / SCALE
        return Support(1 - flip, flip + (1 - 2 * flip) / self.buckets)

    def family_variance(self, second_moment: float) -> float:
        """The variance over hash families, which more reports do not reduce.

        Args:
            second_moment: the sum of the squared shares of all *other* items, in [0, 1].
        """
        return second_moment / (self.rows * (self.buckets - 1))


def _flip(epsilon: Fraction) -> int:
    """The smallest b with ((2^32 - b) / b)^2 <= e^epsilon, taken through e^(epsilon / 2)."""
    return ceil_divide(SCALE, 1 + exp_lower(epsilon / 2))
