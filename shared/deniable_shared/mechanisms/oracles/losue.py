"""L-OSUE: one bit per item, from permanent bits that every report flips again."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import PairSupport, Support, independent_pairs, require_integer
from deniable_shared.mechanisms.oracle import BitsOracle, MemoizedOracle
from deniable_shared.mechanisms.oracles.unary import MAX_SIZE
from deniable_shared.mechanisms.resemblance import RepeatedBits
from deniable_shared.mechanisms.second_round import SecondRound, bits_flipped

HALF: Final = SCALE // 2


@frozen
class MemoizedUnaryEncoding(MemoizedOracle, BitsOracle):
    """Optimized unary encoding once and for all, then symmetric flips (Arcolezi et al. 2022).

    The permanent round draws, for each item that a device may hold, one bit per item of the domain:
    a fair coin for the item itself and a 1 with probability q1 = permanent_other / 2^32 for every
    other. They are derived from a keyed hash of a device secret and the item. Each report flips
    every permanent bit with probability b = flip / 2^32. A fair coin stays fair, so one report is
    exactly optimized unary encoding at epsilon::

        p = 1/2,  q = q1 (1 - b) + (1 - q1) b
        epsilon            = ln((1 - q) / q)          one report
        epsilon_permanent  = ln((1 - q1) / q1)        all reports of one value

    With a = e^permanent and c = e^epsilon, 1 - b is (a c - 1) / ((a - 1) (c + 1)). The variance is
    that of one report at epsilon, (4 c / (c - 1)^2 + f) / n. T reports of one value never cost more
    than T times epsilon: as a function of T the cost is concave.

    Attributes:
        size: number of items, in [2, 4096].
        permanent_other: weight of a permanent 1 for another item, over 2^32; in [1, 2^31 - 1].
        flip: weight of flipping a permanent bit in a report, over 2^32; in [1, 2^31 - 1].
    """

    name: ClassVar[str] = "losue"
    title: ClassVar[str] = "memoised optimized unary encoding"
    size: int
    permanent_other: int
    flip: int

    def __post_init__(self) -> None:
        require_integer("losue size", self.size, 2, MAX_SIZE)
        require_integer("losue permanent_other", self.permanent_other, 1, HALF - 1)
        require_integer("losue flip", self.flip, 1, HALF - 1)

    @classmethod
    def for_epsilons(cls, size: int, epsilon: Fraction, epsilon_permanent: Fraction) -> Self:
        """The mechanism over `size` items that exceeds neither epsilon.

        Raises:
            ParameterError: if size is not in [2, 4096], or epsilon is not below epsilon_permanent.
        """
        other = ceil_divide(SCALE, 1 + exp_lower(epsilon_permanent))
        permanent = Fraction(other, SCALE)
        flip = (1 / (1 + exp_lower(epsilon)) - permanent) / (1 - 2 * permanent)
        if not flip > 0:
            raise ParameterError("epsilon", "below epsilon_permanent", float(epsilon))
        return cls(size=size, permanent_other=other, flip=ceil_divide(flip * SCALE, 1))

    @property
    def permanent_own(self) -> int:
        """The weight of a permanent 1 for the device's item, over 2^32: a fair coin."""
        return HALF

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats: of both rounds together."""
        return log_upper(self.odds(1))

    @property
    def epsilon_permanent(self) -> float:
        """The privacy loss of all reports of one value, in nats: that of the permanent round."""
        return log_upper(Fraction(SCALE - self.permanent_other, self.permanent_other))

    @property
    def second_round(self) -> SecondRound:
        """A flip of each bit: permanent answers of two items may differ in all of them."""
        rarest = log_upper(Fraction(2)) + (self.size - 1) * log_upper(
            Fraction(SCALE, self.permanent_other)
        )
        return bits_flipped(self.size, self.flip, rarest)

    @property
    def repeated(self) -> RepeatedBits:
        """The item's own bit, a fair coin, and all others."""
        return RepeatedBits.of_items(
            self.size,
            own=1,
            own_one=0.5,
            other_one=self.permanent_other / SCALE,
            if_one=1 - self.flip / SCALE,
            if_zero=self.flip / SCALE,
        )

    @property
    def support(self) -> Support:
        """The probabilities of a 1 for the device's item (p) and another (q), over both rounds."""
        first, flip = self.permanent_other, self.flip
        other = first * (SCALE - flip) + (SCALE - first) * flip
        return Support(0.5, other / SCALE**2)

    def pair_support(self) -> PairSupport:
        """Bits are independent, in both rounds."""
        return independent_pairs(self.support)

    def permanent_support(self) -> Support:
        """The probabilities of a permanent 1 for the device's item (p) and another (q)."""
        return Support(self.permanent_own / SCALE, self.permanent_other / SCALE)

    def permanent_pair_support(self) -> PairSupport:
        """Permanent bits are independent."""
        return independent_pairs(self.permanent_support())

    def odds(self, reports: int) -> Fraction:
        """E to the privacy loss of several reports of one value: exact, and attained.

        Two values differ in two bits; the worst reports have a 1 for the one and a 0 for the other
        every time.

        Args:
            reports: T, at least 1.
        """
        remained, flipped = (SCALE - self.flip) ** reports, self.flip**reports
        other = self.permanent_other
        return Fraction(
            (SCALE - other) * remained + other * flipped,
            other * remained + (SCALE - other) * flipped,
        )
