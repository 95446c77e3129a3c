"""What mechanisms for numbers have in common: a value's place in its range, and back."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.mechanisms.base import MECHANISMS, Mechanism

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_shared.mechanisms.oracle import Bounds
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

RESOLUTION_BITS: Final = 20
RESOLUTION: Final = 1 << RESOLUTION_BITS
"""A number becomes one of 2^20 + 1 places in its range before anything is randomized.

Everything that follows is integer arithmetic, so no report betrays the last bits of a float
(Mironov, CCS 2012); the mean moves by less than a millionth of the range.
"""

MAX_OUTCOMES: Final = 1 << 15

EXTREME_PLACES: Final = (0.0, 0.5, 1.0)
"""Places in a mean's range, 0 to 1: the variance is extreme at the ends or in the middle."""


class NumericMechanism(Mechanism):
    """A mechanism whose report is one of finitely many outcomes, each standing for a number.

    The average of `outcome_values` over the reports is an unbiased estimate of the mean, in
    widths of the range above its lower end: 0 is the lower end, 1 the upper. The report is the
    number of the outcome, big-endian.
    """

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """How many different reports there are, at most 2^15."""

    @abstractmethod
    def outcome_bounds(self) -> Bounds:
        """How probable outcomes are at least and at most, wherever in the range a value stands."""

    @abstractmethod
    def outcome_values(self) -> Sequence[float]:
        """For each outcome the number it stands for; mostly outside [0, 1]."""

    @abstractmethod
    def variance(self, share: float, reports: int) -> float:
        """The variance of the estimated mean, in squared widths of the range.

        Args:
            share: where the values of all devices stand in the range, in [0, 1].
            reports: how many devices reported; at least 1.
        """

    def worst_variance(self) -> float:
        """The largest variance that one report gives, in squared widths of the range."""
        return max(self.variance(place, 1) for place in EXTREME_PLACES)

    def permanent_variance(self, share: float) -> float | None:  # noqa: ARG002
        """The part of one report's variance that all reports of a device share; None without any.

        Args:
            share: where the values of all devices stand in the range, in [0, 1].
        """
        return None

    @property
    def report_bytes(self) -> int:
        """1 or 2: as few as hold every outcome."""
        return 1 if self.outcomes <= 256 else 2


class FreshMean(NumericMechanism):
    """A mechanism that estimates a mean, follows from epsilon alone and memoises nothing."""

    types: ClassVar[frozenset[str]] = frozenset({"number"})

    @classmethod
    @abstractmethod
    def for_epsilon(cls, epsilon: Fraction) -> Self:
        """The mechanism whose epsilon does not exceed the one given."""

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options."""
        return cls.for_epsilon(request.epsilon)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Self:  # noqa: ARG002
        """The same mechanism."""
        return self.for_epsilon(epsilon)

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[Mechanism]:  # noqa: ARG002
        """All mechanisms of this kind."""
        return fresh_means(Fraction(self.epsilon))


def fresh_means(epsilon: Fraction) -> list[FreshMean]:
    """Every mechanism that estimates a mean from this epsilon alone, by name."""
    kinds = (kind for _, kind in sorted(MECHANISMS.items()) if issubclass(kind, FreshMean))
    return [kind.for_epsilon(epsilon) for kind in kinds]


def rounding_variance(share: float, steps: int) -> float:
    """What rounding at random to a grid adds, in squared widths of the range: r (1 - r) / steps^2.

    Args:
        share: where a value stands in the range, in [0, 1].
        steps: how many steps of the grid make up the range.
    """
    remainder = share * steps % 1.0
    return remainder * (1 - remainder) / steps**2
