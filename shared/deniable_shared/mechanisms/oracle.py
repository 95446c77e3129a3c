"""Oracles: mechanisms over a known list of items."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import (
    MUTUALLY_EXCLUSIVE,
    Mechanism,
    PairSupport,
    SupportMechanism,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

    Bounds = tuple[float | Sequence[float], float | Sequence[float]]
    """The lowest and the highest probability: of every outcome alike, or one for each."""

ReportKind = Literal["item", "set", "bits", "random_group"]


@frozen
class DecodedReport:
    """What one report of an oracle says about its items.

    Attributes:
        kind: how the report speaks of items, and so what p and q are the probabilities of.
            ``item``: it names one item; p if that is the device's own, q if it is not.
            ``set``: it names several; p that the own item is among them, q that another is.
            ``bits``: it answers yes or no for each item; p of a yes to the own, q to another.
            ``random_group``: items are split into groups at random, independently of the device's
            item, and the report names one group; p if the own item is in it, q if not, given the
            split.
        items: the numbers of the items that it names.
        named_share: how many items it names, one by one or on average over the split, as a share
            of all.
        p: see `kind`.
        q: see `kind`.
    """

    kind: ReportKind
    items: Iterable[int]
    named_share: float
    p: float
    q: float


class Oracle(SupportMechanism):
    """A mechanism over the items 0 to size - 1; a category metric, or the buckets of a sketch.

    Attributes:
        size: number of items.
        pure: whether a report supports every item but the device's own with the same probability.
    """

    types: ClassVar[frozenset[str]] = frozenset({"category"})
    pure: ClassVar[bool] = True
    size: int

    @abstractmethod
    def decode(self, report: bytes) -> DecodedReport:
        """What a report says, for the person whose device sent it.

        Args:
            report: of `report_bytes` bytes.

        Raises:
            ValueError: if no device sends such a report.
        """


class FreshOracle(Oracle):
    """An oracle that draws all of its noise anew for every report."""

    @classmethod
    @abstractmethod
    def for_epsilon(cls, size: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        Raises:
            ParameterError: if it cannot carry so many items.
        """

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options."""
        return cls.for_epsilon(request.size, request.epsilon)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Mechanism:
        """The oracle that is chosen for that epsilon, possibly one of another kind."""
        return choice.oracle_for(self.size, epsilon)

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[Oracle]:  # noqa: ARG002
        """All oracles that can carry so many items."""
        return choice.comparable_oracles(self.size, Fraction(self.epsilon))


class MemoizedOracle(Oracle):
    """An oracle whose reports of an item are all drawn from one permanent answer of the device."""

    memoized: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def for_epsilons(cls, size: int, epsilon: Fraction, epsilon_permanent: Fraction) -> Self:
        """The mechanism over `size` items that exceeds neither epsilon.

        Args:
            epsilon: privacy loss of one report, in nats.
            epsilon_permanent: privacy loss of all reports of one value, in nats.

        Raises:
            ParameterError: if it cannot carry so many items, or epsilon is not below
                epsilon_permanent.
        """

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options."""
        return cls.for_epsilons(request.size, request.epsilon, request.permanent)

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[Oracle]:  # noqa: ARG002
        """All oracles that memoise and can carry so many items."""
        permanent = Fraction(self.epsilon_permanent)
        return choice.memoized_candidate_oracles(self.size, Fraction(self.epsilon), permanent)

    @property
    @abstractmethod
    def epsilon_permanent(self) -> float:
        """The privacy loss of all reports of one value, in nats."""

    @abstractmethod
    def odds(self, reports: int) -> Fraction:
        """E to the privacy loss of several reports of one value: exact, and attained.

        Args:
            reports: how many reports, T; at least 1.
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

    @abstractmethod
    def outcome_bounds(self) -> Bounds:
        """The lowest and the highest probability of each outcome over all items of a device.

        Reports in which an outcome is more rare or more frequent than this are called forged. So
        there is no default: with another mechanism's bounds, honest reports would be called forged.
        """

    @property
    def report_bytes(self) -> int:
        """As few bytes as hold every outcome."""
        return max(1, ((self.outcomes - 1).bit_length() + 7) // 8)


class ItemOracle(IndexOracle):
    """An oracle whose outcomes are the items themselves: randomized response of some kind."""

    @property
    def outcomes(self) -> int:
        """The items."""
        return self.size

    def outcome_bounds(self) -> Bounds:
        """Q for an item that a device does not hold, p for its own."""
        return self.support.q, self.support.p

    def pair_support(self) -> PairSupport:
        """A report supports one item."""
        return MUTUALLY_EXCLUSIVE

    def decode(self, report: bytes) -> DecodedReport:
        """One item."""
        item = int.from_bytes(report, "big")
        if item >= self.size:
            raise ValueError(f"a report must be below {self.size}, got {item}")
        return DecodedReport("item", (item,), 1 / self.size, self.support.p, self.support.q)


class BitsOracle(Oracle):
    """An oracle whose report is one bit per item.

    The first item's bit stands in the highest place of the first byte; places after the last item
    are zero.
    """

    @property
    def report_bytes(self) -> int:
        """As few bytes as hold all bits."""
        return (self.size + 7) // 8

    def decode(self, report: bytes) -> DecodedReport:
        """Yes to the items whose bits are set, no to the others."""
        items = set_bits(report, self.size)
        share = len(items) / self.size
        return DecodedReport("bits", items, share, self.support.p, self.support.q)


def set_bits(report: bytes, size: int) -> list[int]:
    """Which of the first `size` bits are set, counted from the highest place of the first byte."""
    bits = int.from_bytes(report, "big") >> 8 * len(report) - size
    return [index for index in range(size) if bits >> size - 1 - index & 1]
