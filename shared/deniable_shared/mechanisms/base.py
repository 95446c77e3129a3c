"""What every mechanism states about itself, and the one lemma that most of them need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import float_upper
from deniable_shared.frozen import field_names, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_EPSILON: Final = 8
"""The ceiling of one report's epsilon, in nats: even odds become at most 0.9997."""

MAX_EPSILON_PERMANENT: Final = 16
"""The ceiling, in nats, of what all reports of one unchanged value may cost together."""


@frozen
class Support:
    """The support lemma of pure protocols (Wang et al. 2017, Blocki, Li and Jha; eq. 1 and 2).

    A report supports a set of items: the device's own with probability p, any other item with
    probability q. Then the number of supporting reports, debiased, is an unbiased estimate. Shares
    and counts may be floats or float64 arrays.

    Attributes:
        p: probability that a report supports the device's own item.
        q: probability that it supports a given other item; below p.
    """

    p: float
    q: float

    def share(self, count: Any, reports: int) -> Any:
        """The estimated share of an item that `count` of `reports` reports support."""
        return (count / reports - self.q) / (self.p - self.q)

    def variance(self, share: Any, reports: int) -> Any:
        """The exact variance of that estimate for a true share, over the devices that reported."""
        # Not `** 2`, which is the C library's: the planner compares these on every machine.
        own, other, gap = self.p * (1 - self.p), self.q * (1 - self.q), self.p - self.q
        return (share * own + (1 - share) * other) / (reports * (gap * gap))


@frozen
class Mechanism(ABC):
    """Frozen integer parameters of a randomizer, and what follows from them exactly.

    The fields are necessary and sufficient: the client samples with them, the aggregator debiases
    with them, the spec's digest covers them. A field is never removed, and its meaning never
    changes. What the constructor refuses cannot be registered either.

    Attributes:
        name: the mechanism's name in a registry file.
        title: what the literature calls it.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """The width of one report, in bytes."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """An upper bound of one report's privacy loss, in nats, proven in exact arithmetic."""

    @property
    def epsilon_permanent(self) -> float | None:
        """What all reports of one unchanged value cost together, in nats.

        None where nothing is memoised: then every report costs `epsilon` again.
        """
        return None

    @property
    def memoized_values(self) -> int | None:
        """How many different permanent answers one device can ever give.

        Values that share a permanent answer count once, so this is a number of classes, not of
        values: no device has to remember which it has used. None where nothing is memoised, or
        where an open domain has no end.
        """
        return None

    @property
    def epsilon_total(self) -> float | None:
        """What all reports of one device ever cost together, in nats, rounded up.

        `memoized_values` times `epsilon_permanent`: sequential composition of the permanent
        answers, which all later reports are drawn from. It holds as long as only the values are to
        be hidden: when they changed is not covered. None where `memoized_values` is.
        """
        values, permanent = self.memoized_values, self.epsilon_permanent
        if values is None or permanent is None:
            return None
        return float_upper(values * Fraction(permanent))

    @property
    def delta(self) -> float:
        """The probability with which a report may reveal more than `epsilon`; 0 nearly always."""
        return 0.0

    @abstractmethod
    def variance(self, share: float, reports: int) -> float:
        """The variance of an item's estimated share among the devices that reported.

        Args:
            share: the item's true share, in [0, 1].
            reports: how many devices reported; at least 1.
        """

    def parameters(self) -> dict[str, Any]:
        """The fields by name: integers, or mechanisms inside this one with their own."""
        return {name: _described(getattr(self, name)) for name in field_names(type(self))}

    def description(self) -> dict[str, Any]:
        """Name and parameters, as they stand in a canonical spec."""
        return {"name": self.name, **self.parameters()}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """The mechanism with these fields.

        Raises:
            ParameterError: if a field is missing, unknown, not an integer or out of range.
        """
        names = list(field_names(cls))
        if sorted(parameters) != sorted(names):
            raise ParameterError(f"{cls.name} parameters", f"exactly {names}", sorted(parameters))
        return cls(**parameters)


class SupportMechanism(Mechanism):
    """A mechanism whose reports support items with two probabilities: the support lemma holds."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """With which probabilities a report supports an item, see `Support`."""

    def variance(self, share: float, reports: int) -> float:
        """By the support lemma."""
        return float(self.support.variance(share, reports))


class Oracle(SupportMechanism):
    """A mechanism over the items 0 to size - 1; a category metric, or the buckets of a sketch.

    Attributes:
        size: number of items.
        pure: whether a report supports every item but the device's own with the same probability.
    """

    pure: ClassVar[bool] = True
    size: int


class FreshOracle(Oracle):
    """An oracle that draws all of its noise anew for every report."""

    @classmethod
    @abstractmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        Raises:
            ParameterError: if it cannot carry so many items.
        """


class MemoizedOracle(Oracle):
    """An oracle whose reports of an item are all drawn from one permanent answer of the device."""

    @classmethod
    @abstractmethod
    def for_epsilons(cls, size: int, epsilon: Fraction, epsilon_permanent: Fraction) -> Self:
        """The mechanism over `size` items that exceeds neither epsilon.

        Args:
            size: number of items.
            epsilon: privacy loss of one report, in nats.
            epsilon_permanent: privacy loss of all reports of one value, in nats.

        Raises:
            ParameterError: if it cannot carry so many items, or epsilon is not below
                epsilon_permanent.
        """

    @abstractmethod
    def odds(self, reports: int) -> Fraction:
        """E to the privacy loss of so many reports of one value: exact, and attained.

        Args:
            reports: T, at least 1.
        """

    @property
    def memoized_values(self) -> int:
        """One permanent answer per item."""
        return self.size


class IndexOracle(Oracle):
    """An oracle whose report is one of finitely many outcomes: its number, big-endian."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """How many different reports there are."""

    @property
    def report_bytes(self) -> int:
        """As few bytes as hold every outcome."""
        return max(1, ((self.outcomes - 1).bit_length() + 7) // 8)


class BitsOracle(Oracle):
    """An oracle whose report is one bit per item.

    The first item's bit stands in the highest place of the first byte; places after the last item
    are zero.
    """

    @property
    def report_bytes(self) -> int:
        """As few bytes as hold all bits."""
        return (self.size + 7) // 8


def require_integer(name: str, value: object, low: int, high: int) -> None:
    """Refuses anything but an int in [low, high].

    Raises:
        ParameterError: naming the parameter, the range and the value.
    """
    if type(value) is not int or not low <= value <= high:
        raise ParameterError(name, f"an integer in [{low}, {high}]", value)


def _described(value: Any) -> Any:
    if isinstance(value, Mechanism):
        return value.description()
    return [_described(each) for each in value] if isinstance(value, tuple) else value
