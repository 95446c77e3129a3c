"""One-bit Hadamard response: one noisy entry of the item's column of a Hadamard matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import PairSupport, Support, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import DecodedReport, FreshOracle, IndexOracle

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.oracle import Bounds

MAX_SIZE: Final = 1 << 20


@frozen
class HadamardResponse(IndexOracle, FreshOracle):
    """HT1 (Apple 2017, algorithm 5; Bassily, Nissim, Stemmer and Thakurta 2017).

    Let H be Sylvester's Hadamard matrix of order K, the least power of two that is not below the
    number of items: H[j, x] = (-1)^(number of ones in j AND x). The device draws a row j and sends
    it with H[j, x], negated with probability b = flip / 2^32. The row is public and independent of
    the item, so this is randomized response on one bit, and epsilon is ln((1 - b) / b).

    The row is uniform over the K - 1 rows after the first, which is constant and would say nothing.
    Any two columns then agree in K / 2 - 1 rows and differ in K / 2, whatever the items, so the
    support lemma holds. Leaving the first row out divides the variance by (K / (K - 1))^2, which
    for 4 items is almost a half.

    The report is the number 2 (j - 1) + s of an outcome, s = 1 for a negative entry.

    Attributes:
        size: number of items, in [2, 2^20]; any, not only powers of two.
        flip: weight of a false sign, over 2^32; in [1, 2^31 - 1].
    """

    name: ClassVar[str] = "ht"
    title: ClassVar[str] = "one-bit Hadamard response"
    size: int
    flip: int

    def __post_init__(self) -> None:
        require_integer("ht size", self.size, 2, MAX_SIZE)
        require_integer("ht flip", self.flip, 1, SCALE // 2 - 1)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given."""
        return cls(size=size, flip=ceil_divide(SCALE, 1 + exp_lower(epsilon)))

    @property
    def order(self) -> int:
        """The order K of the matrix: a power of two, at least `size`."""
        return 1 << (self.size - 1).bit_length()

    @property
    def outcomes(self) -> int:
        """A row and a sign."""
        return 2 * (self.order - 1)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(Fraction(SCALE - self.flip, self.flip))

    def losses(self) -> LossClasses:
        """The K / 2 rows in which two items differ, and all others."""
        truth, lie = Fraction(self.order // 2, self.order - 1), Fraction(self.flip, SCALE)
        return losses_of_support(truth * (1 - lie), truth * lie)

    @property
    def support(self) -> Support:
        """The probabilities that the sign is the one of the device's item (p) or of another (q)."""
        half, own = self.order // 2, SCALE - self.flip
        other = ((half - 1) * own + half * self.flip) / (SCALE * (self.order - 1))
        return Support(own / SCALE, other)

    def outcome_bounds(self) -> Bounds:
        """A row is uniform; its sign is false with `flip` and true otherwise."""
        rows, lie = self.order - 1, self.flip / SCALE
        return lie / rows, (1 - lie) / rows

    def pair_support(self) -> PairSupport:
        """Of the K - 1 rows, two columns agree in K/2 - 1 and three in K/4 - 1."""
        rows, own, quarter = self.order - 1, self.support.p, self.order / 4
        return PairSupport(
            own * (2 * quarter - 1) / rows, ((quarter - 1) * own + quarter * (1 - own)) / rows
        )

    def decode(self, report: bytes) -> DecodedReport:
        """The items with this sign in this row: given the row, a report is one bit."""
        number = int.from_bytes(report, "big")
        row, sign = 1 + number // 2, number % 2
        items = (item for item in range(self.size) if (row & item).bit_count() % 2 == sign)
        own = self.support.p
        return DecodedReport("random_group", items, 1 / 2, own, 1 - own)
