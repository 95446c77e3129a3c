"""Unary encodings: one bit per item, each randomized by itself."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import PairSupport, Support, independent_pairs, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import BitsOracle, FreshOracle

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses

MAX_SIZE: Final = 4_096


@frozen
class UnaryEncoding(BitsOracle, FreshOracle):
    """The device's own bit is 1 with probability p = own / 2^32, any other with q = other / 2^32.

    Two values differ in two bits, which are independent, so epsilon is ln(p (1 - q) / ((1 - p) q)),
    attained (Wang et al. 2017, equations 3 and 4).

    Attributes:
        size: number of items, in [2, 4096].
        own: weight of a 1 for the device's item, over 2^32; above `other`.
        other: weight of a 1 for any other item, over 2^32; at least 1.
    """

    size: int
    own: int
    other: int

    def __post_init__(self) -> None:
        require_integer(f"{self.name} size", self.size, 2, MAX_SIZE)
        require_integer(f"{self.name} own", self.own, 2, SCALE - 1)
        require_integer(f"{self.name} other", self.other, 1, SCALE - 1)
        if not self.other < self.own:
            raise ParameterError(f"{self.name} other", f"below own, {self.own}", self.other)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        lie = Fraction(self.own, SCALE - self.own) * Fraction(SCALE - self.other, self.other)
        return log_upper(lie)

    def losses(self) -> LossClasses:
        """Bits that are set for one of two items and not for the other."""
        own, other = Fraction(self.own, SCALE), Fraction(self.other, SCALE)
        return losses_of_support(own * (1 - other), other * (1 - own))

    @property
    def support(self) -> Support:
        """The probabilities of a 1 for the device's item (p) and for any other (q)."""
        return Support(self.own / SCALE, self.other / SCALE)

    def pair_support(self) -> PairSupport:
        """Bits are independent."""
        return independent_pairs(self.support)


@frozen
class SymmetricUnaryEncoding(UnaryEncoding):
    """SUE, basic one-time RAPPOR: every bit is flipped with probability 1 / (1 + e^(eps / 2))."""

    name: ClassVar[str] = "sue"
    title: ClassVar[str] = "symmetric unary encoding"

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The encoding of `size` items whose epsilon does not exceed the one given."""
        flip = ceil_divide(SCALE, 1 + exp_lower(epsilon / 2))
        return cls(size=size, own=SCALE - flip, other=flip)


@frozen
class OptimizedUnaryEncoding(UnaryEncoding):
    """OUE: the own bit is a fair coin, any other a 1 with probability 1 / (1 + e^eps).

    This is the choice with the least variance for rare items, (4 e^eps / (e^eps - 1)^2 + f) / n
    (Wang et al. 2017, section 4.3).
    """

    name: ClassVar[str] = "oue"
    title: ClassVar[str] = "optimized unary encoding"

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The encoding of `size` items whose epsilon does not exceed the one given."""
        return cls(size=size, own=SCALE // 2, other=ceil_divide(SCALE, 1 + exp_lower(epsilon)))
