"""Binary randomized response: one flag, told truthfully with probability e^eps / (e^eps + 1)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Support, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracle import FreshOracle, ItemOracle

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice


@frozen
class RandomizedResponse(ItemOracle, FreshOracle):
    """Warner's randomized response (1965): the bit is flipped with probability flip / 2^32.

    The report is one byte, 0 or 1. Epsilon is ln((1 - b) / b) with b = flip / 2^32: two outputs,
    one ratio, attained. The estimate of the share of true devices has variance
    b (1 - b) / (n (1 - 2b)^2) = e^eps / (n (e^eps - 1)^2), whatever the truth.

    Attributes:
        flip: weight of a lie, over 2^32; in [1, 2^31 - 1].
    """

    name: ClassVar[str] = "rr"
    title: ClassVar[str] = "binary randomized response"
    types: ClassVar[frozenset[str]] = frozenset({"boolean"})
    flip: int

    def __post_init__(self) -> None:
        require_integer("rr flip", self.flip, 1, SCALE // 2 - 1)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over 2 items whose epsilon does not exceed the one given."""
        require_integer("rr size", size, 2, 2)
        return cls(flip=ceil_divide(SCALE, 1 + exp_lower(epsilon)))

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Self:  # noqa: ARG002
        """The same: nothing else carries a flag."""
        return self.for_epsilon(2, epsilon)

    def alternatives(self, devices: int, choice: MechanismChoice) -> tuple[()]:  # noqa: ARG002
        """None."""
        return ()

    @property
    def size(self) -> int:  # type: ignore[override]  # not a field: there is nothing to choose
        """Two: false and true."""
        return 2

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(Fraction(SCALE - self.flip, self.flip))

    def losses(self) -> LossClasses:
        """True and false."""
        lie = Fraction(self.flip, SCALE)
        return losses_of_support(1 - lie, lie)

    @property
    def support(self) -> Support:
        """The probabilities of reporting 1 when the flag is true (p) and false (q)."""
        return Support(1 - self.flip / SCALE, self.flip / SCALE)
