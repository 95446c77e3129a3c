"""One bit for a mean: the cheapest mechanism for numbers, and for most epsilons the best."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION, FreshMean, NumericMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.mechanisms.losses import LossClasses


class BitMean(NumericMechanism):
    """A mechanism whose report is a bit that is 1 with probability b + y (1 - 2b).

    y is where the device's value stands in the range, in [0, 1]. Epsilon is ln((1 - b) / b),
    attained by the ends of the range. A 1 stands for (1 - b) / (1 - 2b), a 0 for -b / (1 - 2b).
    """

    @property
    @abstractmethod
    def lie(self) -> Fraction:
        """The probability b of a 1 at the lower end, and of a 0 at the upper; below 1/2."""

    @property
    def outcomes(self) -> int:
        """Two."""
        return 2

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper((1 - self.lie) / self.lie)

    def outcome_bounds(self) -> tuple[float, float]:
        """Those of the ends of the range."""
        lie = float(self.lie)
        return lie, 1 - lie

    def outcome_values(self) -> Sequence[float]:
        """One below the range and one above it."""
        lie = float(self.lie)
        return (-lie / (1 - 2 * lie), (1 - lie) / (1 - 2 * lie))

    def losses(self) -> LossClasses:
        """Those of the ends of the range; all other values are mixtures of the two."""
        return losses_of_support(1 - self.lie, self.lie)

    def variance(self, share: float, reports: int) -> float:
        """(e / (e - 1)^2 + y (1 - y)) / n."""
        lie = float(self.lie)
        chance_of_one = lie + share * (1 - 2 * lie)
        return chance_of_one * (1 - chance_of_one) / ((1 - 2 * lie) ** 2 * reports)


@frozen
class OneBitMean(BitMean, FreshMean):
    """Duchi, Jordan and Wainwright (2013); the 1BitMean of Ding, Kulkarni and Yekhanin (2017).

    A device whose value stands at y in [0, 1] of the range sends a 1 with probability
    b + y (1 - 2b), b = flip / 2^32. The probability is an integer between flip and 2^32 - flip
    whatever the value.

    Attributes:
        flip: weight of a 1 at the lower end, and of a 0 at the upper, over 2^32; in [1, 2^31 - 1].
    """

    name: ClassVar[str] = "duchi"
    title: ClassVar[str] = "one-bit mean"
    flip: int

    def __post_init__(self) -> None:
        require_integer("duchi flip", self.flip, 1, SCALE // 2 - 1)

    @classmethod
    def for_epsilon(cls, epsilon: Fraction) -> Self:
        """The mechanism whose epsilon does not exceed the one given."""
        return cls(flip=ceil_divide(SCALE, 1 + exp_lower(epsilon)))

    def weight(self, place: int) -> int:
        """The weight of a 1, over 2^32, rounded to nearest.

        Args:
            place: where the value stands, in [0, 2^20].
        """
        return self.flip + ((SCALE - 2 * self.flip) * place + RESOLUTION // 2) // RESOLUTION

    @property
    def lie(self) -> Fraction:
        """What stands in `flip`."""
        return Fraction(self.flip, SCALE)
