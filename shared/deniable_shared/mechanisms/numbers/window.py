"""Mechanisms that report a place near the value more often: a window that moves with it."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.numbers.numeric import (
    FreshMean,
    NumericMechanism,
    rounding_variance,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

MAX_SIZE: Final = 1_025
MAX_WINDOW: Final = 1_025
PIECEWISE_STEPS: Final = 256


@frozen
class WindowMechanism(NumericMechanism):
    """Of k inputs, input j lands in the outcomes j to j + w - 1 with probability inside / 2^32.

    Within its window every outcome is equally likely, and so is each of the k - 1 outcomes outside.
    So every entry of the channel is one of two, and epsilon is their ratio,
    ln(inside (k - 1) / ((2^32 - inside) w)), attained whatever was rounded. The mean of the
    outcome's number is linear in j, which makes a debiased average possible.

    Attributes:
        size: number of inputs k, in [2, 1025].
        window: number of outcomes w in a window, in [1, 1025].
        inside: weight of the window, over 2^32.
    """

    size: int
    window: int
    inside: int

    def __post_init__(self) -> None:
        require_integer(f"{self.name} size", self.size, 2, MAX_SIZE)
        require_integer(f"{self.name} window", self.window, 1, MAX_WINDOW)
        require_integer(f"{self.name} inside", self.inside, 1, SCALE - 1)
        if not self._ratio > 1:
            constraint = "above the window's part of all outcomes"
            raise ParameterError(f"{self.name} inside", constraint, self.inside)

    @classmethod
    def with_shape(cls, size: int, window: int, epsilon: Fraction) -> Self:
        """The mechanism of a shape whose epsilon does not exceed the one given."""
        near = exp_lower(epsilon) * window
        return cls(size=size, window=window, inside=int(SCALE * near / (near + size - 1)))

    @property
    def outcomes(self) -> int:
        """All windows together: k + w - 1."""
        return self.size + self.window - 1

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        return log_upper(self._ratio)

    @property
    def outcome_probabilities(self) -> tuple[float, float]:
        """The probability of one outcome inside the window, and of one outside it."""
        inside = self.inside / SCALE
        return inside / self.window, (1 - inside) / (self.size - 1)

    def outcome_bounds(self) -> tuple[list[float], list[float]]:
        """An outcome that all windows hold, or none, has one probability only."""
        near, far = self.outcome_probabilities
        low = []
        for outcome in range(self.outcomes):
            first, last = max(outcome - self.window + 1, 0), min(outcome, self.size - 1)
            low.append(near if last - first + 1 == self.size else far)
        return low, [near] * self.outcomes

    def losses(self) -> LossClasses:
        """Of two inputs whose windows have as little in common as any two's."""
        apart, inside = min(self.window, self.size - 1), Fraction(self.inside, SCALE)
        return losses_of_support(
            apart * inside / self.window, apart * (1 - inside) / (self.size - 1)
        )

    @abstractmethod
    def position(self, number: float) -> float:
        """Where input `number` stands in the range; linear."""

    def outcome_values(self) -> Sequence[float]:
        """The input that every outcome would have to come from, were its number the mean."""
        origin, slope = self._line
        return [self.position((outcome - origin) / slope) for outcome in range(self.outcomes)]

    def input_variance(self, number: int) -> float:
        """The variance of one report of an input, in squared widths of the range."""
        near, far = self.outcome_probabilities
        total, first, last = self.outcomes, number, number + self.window - 1
        mean = far * total * (total - 1) / 2 + (near - far) * self.window * (first + last) / 2
        square = far * _squares(total - 1) + (near - far) * (_squares(last) - _squares(first - 1))
        spacing = self.position(1) - self.position(0)
        return (square - mean**2) * (spacing / self._line[1]) ** 2

    @property
    def _line(self) -> tuple[float, float]:
        """The mean number of the outcome at input 0, and what each further input adds."""
        near, far = self.outcome_probabilities
        slope = (near - far) * self.window
        total = self.outcomes
        return far * total * (total - 1) / 2 + slope * (self.window - 1) / 2, slope

    @property
    def _ratio(self) -> Fraction:
        return Fraction(self.inside * (self.size - 1), (SCALE - self.inside) * self.window)


@frozen
class Piecewise(WindowMechanism, FreshMean):
    """The Piecewise Mechanism (Wang et al., ICDE 2019, algorithm 2), on a grid.

    The range is divided into k - 1 steps and a value rounded at random to one of the two points
    beside it, which keeps the mean. The window is e^(-eps / 2) of the range: that is the paper's
    C - 1, in steps, when its window moves one step with the value.
    """

    name: ClassVar[str] = "piecewise"
    title: ClassVar[str] = "piecewise mechanism"

    @classmethod
    def for_epsilon(cls, epsilon: Fraction) -> Self:
        """The mechanism on 256 steps whose epsilon does not exceed the one given."""
        window = max(1, round(PIECEWISE_STEPS / exp_lower(epsilon / 2)))
        return cls.with_shape(PIECEWISE_STEPS + 1, window, epsilon)

    def position(self, number: float) -> float:
        """Input 0 is the lower end, the last input the upper."""
        return number / (self.size - 1)

    def variance(self, share: float, reports: int) -> float:
        """Nearly ((2y - 1)^2 / (z - 1) + (z + 3) / (3 (z - 1)^2)) / (4 n), z = e^(eps / 2)."""
        steps = self.size - 1
        below = min(int(share * steps), steps - 1)
        remainder = share * steps - below
        noise = (1 - remainder) * self.input_variance(below) + remainder * self.input_variance(
            below + 1
        )
        return (noise + rounding_variance(share, steps)) / reports


@frozen
class SquareWave(WindowMechanism):
    """Square Wave (Li et al., SIGMOD 2020, section 5), over the bins of a histogram.

    The inputs are the bins. The window is the nearest whole number of bins, at least one, to
    2b = (eps e - e + 1) / (e (e - 1 - eps)) of the range, which maximises the mutual information.
    The histogram is reconstructed from the exact channel.
    """

    name: ClassVar[str] = "sw"
    title: ClassVar[str] = "square wave"
    types: ClassVar[frozenset[str]] = frozenset({"distribution"})

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options."""
        return cls.for_epsilon(request.size, request.epsilon)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Self:  # noqa: ARG002
        """The same over as many bins."""
        return self.for_epsilon(self.size, epsilon)

    @classmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` bins whose epsilon does not exceed the one given."""
        e = exp_lower(epsilon)  # no float: the spec's digest depends on the shape
        width = (epsilon * e - e + 1) / (e * (e - 1 - epsilon))
        return cls.with_shape(size, max(1, round(width * size)), epsilon)

    def position(self, number: float) -> float:
        """A bin stands for its middle."""
        return (number + 0.5) / self.size

    def variance(self, share: float, reports: int) -> float:
        """That of the mean of the bins' middles, if all values are in the bin at `share`."""
        return self.input_variance(min(int(share * self.size), self.size - 1)) / reports


def _squares(last: int) -> float:
    """1 + 4 + 9 + ... + last^2; 0 for -1."""
    return last * (last + 1) * (2 * last + 1) / 6
