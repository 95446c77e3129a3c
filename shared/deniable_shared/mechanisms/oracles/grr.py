"""Generalized randomized response: one of k categories, told truthfully more often than not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Support, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import FreshOracle, ItemOracle

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses

MAX_SIZE: Final = 1024
"""The largest domain: above it the rounding of 32-bit weights would waste epsilon."""


@frozen
class GeneralizedRandomizedResponse(ItemOracle, FreshOracle):
    """k-ary randomized response (Kairouz, Oh and Viswanath 2014; Wang et al. 2017, section 4.1).

    Item x is reported with probability p = 1 - (k - 1) q, every other item with probability
    q = other / 2^32. Epsilon is ln(p / q): every entry of the channel is p or q. The report is the
    item's index.

    Attributes:
        size: number of items k, in [2, 1024].
        other: weight of each false item, over 2^32; smaller than the weight of the true one.
    """

    name: ClassVar[str] = "grr"
    title: ClassVar[str] = "generalized randomized response"
    size: int
    other: int

    def __post_init__(self) -> None:
        require_integer("grr size", self.size, 2, MAX_SIZE)
        require_integer("grr other", self.other, 1, SCALE - 1)
        if not self.own > self.other:
            raise ParameterError("grr other", f"below 2^32 / size for size {self.size}", self.other)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        Raises:
            ParameterError: if size is not in [2, 1024].
        """
        require_integer("grr size", size, 2, MAX_SIZE)
        return cls(size=size, other=ceil_divide(SCALE, exp_lower(epsilon) + size - 1))

    @property
    def own(self) -> int:
        """The weight of the true item, over 2^32."""
        return SCALE - (self.size - 1) * self.other

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(Fraction(self.own, self.other))

    def losses(self) -> LossClasses:
        """The device's item, the other one, and all further ones."""
        return losses_of_support(Fraction(self.own, SCALE), Fraction(self.other, SCALE))

    @property
    def support(self) -> Support:
        """The probabilities of the true item (p) and of one other item (q)."""
        return Support(self.own / SCALE, self.other / SCALE)
