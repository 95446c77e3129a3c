"""One bit for a mean, asked again and again: a permanent bit for each point of a coarse grid."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, float_upper, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import require_integer
from deniable_shared.mechanisms.numbers.duchi import BitMean, OneBitMean
from deniable_shared.mechanisms.numbers.flips import composed_flip, weights_for
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION
from deniable_shared.mechanisms.resemblance import RepeatedBits
from deniable_shared.mechanisms.second_round import SecondRound, bits_flipped

if TYPE_CHECKING:
    from deniable_shared.mechanisms.request import MechanismRequest

MAX_STEPS: Final = 256
DEFAULT_STEPS: Final = 1
"""Two grid points, the ends of the range.

The variance of a mean is the same whatever the steps. The total is least with one, and so, nearly,
is the probability that a change of the value shows: the permanent bits of two values d widths apart
differ with probability d (1 - 2b + 2b^2), and no way to draw them can bring that below d (1 - 2b).
More steps help only averages over many periods, by giving each device more independent bits.
"""


@frozen
class MemoizedOneBitMean(BitMean):
    """1BitMean with alpha-point rounding, memoisation and output perturbation.

    Ding, Kulkarni and Yekhanin (NIPS 2017), sections 2 to 4. The range is divided into s steps. A
    device draws alpha once, uniform over a step, and a value that stands r above the grid point
    below it is rounded up if r + alpha reaches the next one: over the devices the mean is kept, and
    the variance is that of unrounded bits, whatever s. For each of the s + 1 grid points the device
    has one permanent bit, that of `OneBitMean` with b1 = permanent / 2^32. A report is the bit of
    the value's grid point, flipped afresh with probability b2 = flip / 2^32; together b = b1 (1 -
    b2) + (1 - b1) b2.

    `epsilon_permanent` is ln((1 - b1) / b1), attained by the ends of the range. `epsilon_total` is
    the sum over the grid points of |ln(w / (1 - w))|, w the probability that a point's bit is 1: no
    two histories in which the same reports share a grid point differ by more, and some differ by as
    much. Other histories are not covered.

    Attributes:
        steps: how many steps make up the range; a power of two in [1, 256].
        permanent: weight of a lie of the permanent bit at an end, over 2^32; in [1, 2^31 - 1].
        flip: weight of flipping it in a report, over 2^32; in [0, 2^31 - 1].
    """

    name: ClassVar[str] = "lduchi"
    title: ClassVar[str] = "memoised one-bit mean"
    types: ClassVar[frozenset[str]] = frozenset({"number"})
    memoized: ClassVar[bool] = True
    steps: int
    permanent: int
    flip: int

    def __post_init__(self) -> None:
        require_integer("lduchi steps", self.steps, 1, MAX_STEPS)
        require_integer("lduchi permanent", self.permanent, 1, SCALE // 2 - 1)
        require_integer("lduchi flip", self.flip, 0, SCALE // 2 - 1)
        if self.steps & (self.steps - 1):
            raise ParameterError("lduchi steps", "a power of two", self.steps)

    @classmethod
    def for_epsilons(
        cls, epsilon: Fraction, epsilon_permanent: Fraction, steps: int = DEFAULT_STEPS
    ) -> Self:
        """The mechanism that exceeds neither epsilon.

        Args:
            epsilon: privacy loss of one report, in nats.
            epsilon_permanent: privacy loss of all reports of one value, in nats.
            steps: how many steps make up the range.

        Raises:
            ParameterError: if epsilon is above epsilon_permanent, or there cannot be so many steps.
        """
        permanent, flip = weights_for(epsilon, epsilon_permanent)
        return cls(steps=steps, permanent=permanent, flip=flip)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Option ``steps``: how many steps make up the range."""
        default = DEFAULT_STEPS
        steps = request.options.integer("steps", 1, MAX_STEPS, default=default) or default
        return cls.for_epsilons(request.epsilon, request.permanent, steps)

    def weight(self, point: int) -> int:
        """The weight of a 1 of a grid point's permanent bit, over 2^32.

        Args:
            point: in [0, steps].
        """
        return OneBitMean(flip=self.permanent).weight(point * RESOLUTION // self.steps)

    @property
    def repeated(self) -> RepeatedBits:
        """One bit, as often 1 as 0."""
        flip = self.flip / SCALE
        return RepeatedBits(1, 0.5, 1 - flip, flip)

    def permanent_variance(self, share: float) -> float:
        """That of the permanent bit."""
        return OneBitMean(flip=self.permanent).variance(share, 1)

    @property
    def lie(self) -> Fraction:
        """The probability of one flip out of two."""
        return composed_flip(self.permanent, self.flip)

    @property
    def epsilon_permanent(self) -> float:
        """The privacy loss of all reports of one value, in nats."""
        return log_upper(Fraction(SCALE - self.permanent, self.permanent))

    @property
    def second_round(self) -> SecondRound:
        """A flip of one bit."""
        return bits_flipped(1, self.flip, log_upper(Fraction(SCALE, self.permanent)))

    @property
    def memoized_values(self) -> int:
        """One for each grid point."""
        return self.steps + 1

    @cached_property
    def epsilon_total(self) -> float:
        """The privacy loss of all reports of a device, in nats; at most one for each grid point."""
        ones = [self.weight(point) for point in range(self.steps + 1)]
        odds = (
            Fraction(max(weight, SCALE - weight), min(weight, SCALE - weight)) for weight in ones
        )
        return float_upper(sum((Fraction(log_upper(ratio)) for ratio in odds), Fraction(0)))
