"""The wheel in buckets: sets of strings, or of values of a long list, hashed into few buckets."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Support, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.sets.base import MAX_MOST, SetMechanism
from deniable_shared.mechanisms.sketch import FAMILY_TO_NOISE, MAX_BUCKETS, MAX_CELLS, MAX_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

MIN_WHEEL_ROWS: Final = 256
MAX_CHOSEN_CELLS: Final = 1 << 19
"""So many counters in all rows are chosen at most, where a registry does not name the rows."""

MARKER: Final = b"\xff"
"""Stands in a set for what it has more than `most` items; no text is encoded so."""


@frozen
class Wheel(SetMechanism):
    """The wheel (Wang et al., PVLDB 2020) in buckets, with public rows of hash functions.

    The device draws a row uniformly, and hashes its items into the row's g buckets. H are the
    buckets with an item, k of them, at most m. Each bucket of H is reported with probability
    p = own / 2^32, and else one of the g - k others, all with the same probability. A set of more
    than m items is reported as a marker and m - 1 of them, each of its items as probable as all
    others: those from a random one on, in their order. Sets are not filled up to m.

    A bucket outside has (1 - k p) / (g - k), which falls with k as p > 1 / g. So its least, for
    k = m, is the least probability of any report, p is the greatest, and::

        epsilon = ln(own (g - m) / (2^32 - m own))

    for sets of all sizes, empty ones and such with collisions. The row is public and independent of
    the set. The report is the row in two bytes, and the bucket in one, or in two if there are more
    than 256; big-endian.

    Attributes:
        rows: number of hash functions, in [1, 65536].
        buckets: of a row, g; in [2 m, 65536].
        most: how many items a set has at most, m; in [1, 32].
        own: weight of each bucket with an item, over 2^32; above 2^32 / g.
    """

    name: ClassVar[str] = "wheel"
    title: ClassVar[str] = "wheel over hashed buckets"
    hashed: ClassVar[bool] = True
    rows: int
    buckets: int
    most: int
    own: int

    def __post_init__(self) -> None:
        require_integer("wheel rows", self.rows, 1, MAX_ROWS)
        require_integer("wheel most", self.most, 1, MAX_MOST)
        require_integer("wheel buckets", self.buckets, 2 * self.most, MAX_BUCKETS)
        require_integer("wheel own", self.own, SCALE // self.buckets + 1, SCALE // self.most - 1)
        if self.rows * self.buckets > MAX_CELLS:
            constraint = f"at most {MAX_CELLS // self.buckets} with {self.buckets} buckets"
            raise ParameterError("wheel rows", constraint, self.rows)

    @classmethod
    def for_epsilon(
        cls,
        most: int,
        epsilon: Fraction,
        devices: int,
        *,
        buckets: int | None = None,
        rows: int | None = None,
    ) -> Self:
        """The mechanism whose epsilon does not exceed the one given.

        Args:
            most: how many items a set has at most.
            epsilon: privacy loss of one report, in nats.
            devices: how many are expected; decides the rows.
            buckets: of a row; None for the number with the least variance.
            rows: None for as many as `devices` need.

        Raises:
            ParameterError: if a number is out of range.
        """
        require_integer("wheel most", most, 1, MAX_MOST)
        odds = exp_lower(epsilon)
        size = best_buckets(most, odds) if buckets is None else buckets
        require_integer("wheel buckets", size, 2 * most, MAX_BUCKETS)
        own = math.floor(odds * SCALE / (most * odds + size - most))
        if rows is None:
            rows = cls(rows=1, buckets=size, most=most, own=own).rows_for(devices)
        return cls(rows=rows, buckets=size, most=most, own=own)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Options ``buckets`` and ``rows``; what is left open follows from epsilon and devices."""
        options = request.options
        return cls.for_epsilon(
            request.most,
            request.epsilon,
            request.devices,
            buckets=options.integer("buckets", 2 * request.most, MAX_BUCKETS, default=None),
            rows=options.integer("rows", 1, MAX_ROWS, default=None),
        )

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Wheel:  # noqa: ARG002
        """With the buckets that would be chosen there."""
        return self.for_epsilon(self.most, epsilon, 1)

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[SetMechanism]:
        """All mechanisms that can carry sets of texts."""
        return choice.set_candidates(0, self.most, Fraction(self.epsilon), devices)

    def rows_for(self, devices: int) -> int:
        """The rows that keep the error of collisions under 5% of the variance of the noise.

        With n devices: rows >= n / (0.05 V (g - 1)), V the variance of a rare item for one report,
        if the squared shares of all items sum to 1. At least 256, but no more than 2^19 counters.
        """
        noise = self.variance(0.0, 1)
        needed = math.ceil(devices / (FAMILY_TO_NOISE * noise * (self.buckets - 1)))
        most = min(MAX_ROWS, MAX_CHOSEN_CELLS // self.buckets)
        return min(max(MIN_WHEEL_ROWS, needed), most)

    @property
    def bucket_bytes(self) -> int:
        """How many bytes of a report name the bucket."""
        return 1 if self.buckets <= 256 else 2

    @property
    def report_bytes(self) -> int:
        """Two bytes for the row, and one or two for the bucket."""
        return 2 + self.bucket_bytes

    @property
    def least(self) -> Fraction:
        """The probability of a bucket without an item, for a set that fills m buckets."""
        rest = SCALE - self.most * self.own
        return Fraction(rest, SCALE * (self.buckets - self.most))

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(Fraction(self.own, SCALE) / self.least)

    def losses(self) -> LossClasses:
        """Of two sets that fill m buckets each, and none together.

        They dominate every two sets. The exceedance of two sets is convex in the growth. At the
        growth 1 it is the total variation: of two sets one with at least as many buckets, so that
        buckets outside of both are more probable for the other; summed over the buckets of the one
        alone, at most m (p - u), which these classes have. At e^epsilon both are 0, and in between
        that of these classes is a straight line. Below 1 the same follows with the sets exchanged.
        Sets of more than m items are mixtures, and no mixture exceeds all that it is made of.
        """
        return losses_of_support(self.most * Fraction(self.own, SCALE), self.most * self.least)

    @property
    def support(self) -> Support:
        """The probabilities that a report supports an item, over the functions of the family.

        An item of the set has its bucket reported with p, whatever else is in that bucket. Another
        item's bucket is uniform, and independent of the set, so it is the reported one with 1 / g.
        """
        return Support(self.own / SCALE, 1 / self.buckets)

    @property
    def bucket_support(self) -> Support:
        """The same within a row, if a set had one bucket: as of randomized response over buckets.

        It keeps what the other items of a set do to a bucket apart from its own noise.
        """
        own = self.own / SCALE
        return Support(own, (1 - own) / (self.buckets - 1))

    @property
    def outcomes(self) -> int:
        """How many different reports there are of one row."""
        return self.buckets

    def outcome_bounds(self) -> tuple[float, float]:
        """The lowest and the highest probability of a bucket, whatever the set."""
        return float(self.least), self.own / SCALE

    def decode(self, report: bytes) -> tuple[int, int]:
        """The row and the bucket that a report names.

        Args:
            report: of `report_bytes` bytes.

        Raises:
            ValueError: if no device sends such a report.
        """
        row, bucket = int.from_bytes(report[:2], "big"), int.from_bytes(report[2:], "big")
        if row >= self.rows:
            raise ValueError(f"row must be below {self.rows}, got {row}")
        if bucket >= self.buckets:
            raise ValueError(f"bucket must be below {self.buckets}, got {bucket}")
        return row, bucket


def best_buckets(most: int, odds: Fraction) -> int:
    """The number of buckets with the least variance of a rare item; exact.

    That is (g - 1) (g - m + m e)^2 / ((e - 1)^2 (g - m)^2), whose derivative is 0 where x = g - m
    solves x^2 - m e x - 2 m (m - 1) e = 0.

    Args:
        most: how many items a set has at most, m.
        odds: e, the factor by which one report may be more probable for one set than for another.
    """
    filled = most * odds
    scaled = math.floor((filled + 8 * (most - 1)) * filled * (1 << 64))
    root = Fraction(math.isqrt(scaled), 1 << 32)
    low = most + math.floor((filled + root) / 2)

    def variance(size: int) -> Fraction:
        beside = size - most
        return Fraction(size - 1) * ((beside + filled) / beside) ** 2

    best = min((low, low + 1), key=variance)
    return min(max(best, 2 * most), MAX_BUCKETS)
