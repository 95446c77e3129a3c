"""What every mechanism states about itself, and the lemma that most estimates follow from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import exp_lower, float_upper
from deniable_shared.frozen import field_names, frozen
from deniable_shared.mechanisms.losses import losses_of_support

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.oracle import Oracle
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest
    from deniable_shared.mechanisms.resemblance import RepeatedBits, RepeatedItem
    from deniable_shared.mechanisms.second_round import SecondRound

MAX_EPSILON: Final = 8
"""The ceiling of one report's epsilon, in nats: even odds become at most 0.9997."""

MAX_EPSILON_PERMANENT: Final = 16
"""The ceiling, in nats, of what all reports of one unchanged value may cost together."""

FRESH: Final = "fresh"
MEMOIZE: Final = "memoize"
REPEAT: Final = (FRESH, MEMOIZE)
"""How a device answers again: with fresh noise, or from a permanent answer of its own."""

MECHANISMS: Final[dict[str, type[Mechanism]]] = {}
"""Every mechanism by its name in a canonical spec. A class that has a name enters itself."""


@frozen
class Support:
    """The support lemma of pure protocols (Wang et al. 2017, Blocki, Li and Jha; eq. 1 and 2).

    A report supports a set of items: the device's own item with probability p, any other item with
    probability q. Then (count / n - q) / (p - q), with the count of supporting reports, is an
    unbiased estimate of a share. Shares and counts may be floats or float64 arrays.

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
        """The exact variance of that estimate, for a true share among the devices that reported."""
        # Not `** 2`: it may round differently by C library, and the planner compares variances.
        own, other, gap = self.p * (1 - self.p), self.q * (1 - self.q), self.p - self.q
        return (share * own + (1 - share) * other) / (reports * (gap * gap))


@frozen
class PairSupport:
    """With which probabilities a report supports two given items at once.

    Attributes:
        own: if one of the two is the device's.
        other: if neither is.
        averaged: whether both differ from pair to pair, and these are averages over all.
    """

    own: float
    other: float
    averaged: bool = False


MUTUALLY_EXCLUSIVE: Final = PairSupport(0.0, 0.0)
"""No report supports two items."""


def independent_pairs(support: Support) -> PairSupport:
    """Two items that a report supports independently of each other, given the device's item."""
    return PairSupport(support.p * support.q, support.q * support.q)


@frozen
class Mechanism(ABC):
    """Frozen integer parameters of a randomizer, and what follows from them exactly.

    The fields are all that the client samples with, that the aggregator debiases with, and that the
    spec's digest covers. A field is never removed, and its meaning never changes. Parameters that
    the constructor refuses cannot be registered either.

    Attributes:
        name: the mechanism's name in a registry file and in a canonical spec.
        title: what the literature calls it.
        types: the metric types that it can carry, such as ``category``.
        memoized: whether its reports come from permanent answers, and a registry has to say
            ``repeat = "memoize"``.
        takes_delta: whether a registry has to give a delta.
        estimates_pairs: whether reports on attributes also tell the joint shares of every two.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    types: ClassVar[frozenset[str]]
    memoized: ClassVar[bool] = False
    takes_delta: ClassVar[bool] = False
    estimates_pairs: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            if cls.name in MECHANISMS:
                raise TypeError(f"name must be one of a mechanism's own, got {cls.name!r} again")
            MECHANISMS[cls.name] = cls

    @classmethod
    def registry_names(cls, repeat: str) -> tuple[str, ...]:
        """The names that a registry may use for it.

        Args:
            repeat: ``fresh`` or ``memoize``.

        Returns:
            Its own name; none if it does not answer repeated questions in this way.
        """
        return (cls.name,) if cls.memoized == (repeat == MEMOIZE) else ()

    @classmethod
    @abstractmethod
    def from_options(cls, request: MechanismRequest) -> Mechanism:
        """The mechanism that a registry asks for; it exceeds none of the declared epsilons.

        Args:
            request: what the registry says of the metric, and the mechanism's own options.

        Raises:
            ParameterError: naming the field that has to change.
        """

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Mechanism | None:  # noqa: ARG002
        """The mechanism that would be used at another epsilon; None if epsilon does not decide it.

        Args:
            epsilon: privacy loss of one report, in nats.
            choice: chooses among mechanisms, where the registry did not.
        """
        return None

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[Mechanism]:  # noqa: ARG002
        """Mechanisms that could carry the same metric at the same epsilons, for comparison.

        Args:
            devices: how many devices are expected.
            choice: knows all oracles.
        """
        return ()

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
        """The privacy loss of all reports of one unchanged value together, in nats.

        None if nothing is memoised: then every report costs `epsilon` again.
        """
        return None

    @property
    def memoized_values(self) -> int | None:
        """How many different permanent answers one device can ever give.

        Values that share a permanent answer count once, so this is a number of classes of values,
        and a device need not remember which it has used. None if nothing is memoised, or if the
        domain is open and so has no limit.
        """
        return None

    @property
    def epsilon_total(self) -> float | None:
        """The privacy loss of all permanent answers of a device, in nats, rounded up.

        `memoized_values` times `epsilon_permanent`: the permanent answers, from which all reports
        are drawn, compose sequentially. It holds for two histories in which the same reports share
        permanent answers, and for no others: see `deniable_shared.accounting.histories`. None where
        `memoized_values` is None.
        """
        values, permanent = self.memoized_values, self.epsilon_permanent
        if values is None or permanent is None:
            return None
        return float_upper(values * Fraction(permanent))

    @property
    def second_round(self) -> SecondRound | None:
        """How reports are drawn from permanent answers; None if nothing is memoised."""
        return None

    @property
    def permanent_groups(self) -> int:
        """How many public groups devices are in for good; 1 if no report shows a lasting group.

        At most `CLASSES`: a device's group follows from its class, see `device_classes`.
        """
        return 1

    @property
    def repeated(self) -> RepeatedBits | RepeatedItem | None:
        """What all reports of one value repeat, beneath fresh noise; None if nothing is memoised.

        Groups that reports show for good are not part of it, see `permanent_groups`.
        """
        return None

    def permanent_support(self) -> Support | None:
        """With which probabilities a device's permanent answer supports an item; None without."""
        return None

    def pair_support(self) -> PairSupport | None:
        """With which probabilities a report supports two items at once; None if not known.

        Without it the error of a sum of items is the largest that any covariance can give.
        """
        return None

    def permanent_pair_support(self) -> PairSupport | None:
        """The same for permanent answers; None without, or if it is not known."""
        return None

    @property
    def oracles(self) -> tuple[Oracle, ...]:
        """What randomizes each attribute of a record; empty unless it carries ``attributes``."""
        return ()

    @property
    def delta(self) -> float:
        """What is added to e^epsilon times the probability of any event; 0 nearly always.

        No event is more than e^epsilon times as probable for one value as for another, plus this.
        """
        return 0.0

    def losses(self) -> LossClasses:
        """The loss classes of one report: how much it tells the worst two values apart, how often.

        They dominate every two values of a device, see `deniable_shared.mechanisms.losses`. A
        mechanism that does not say more counts as binary randomized response, the worst of all with
        the same epsilon (Kairouz, Oh and Viswanath, ICML 2015).

        Returns:
            Of each class the weight under the one value and under the other.
        """
        odds = exp_lower(Fraction(self.epsilon))  # proven not to lie below the largest ratio
        return losses_of_support(odds / (1 + odds), 1 / (1 + odds))

    @abstractmethod
    def variance(self, share: float, reports: int) -> float:
        """The variance of an item's estimated share among the devices that reported.

        Args:
            share: the item's true share, in [0, 1].
            reports: how many devices reported; at least 1.
        """

    def parameters(self) -> dict[str, Any]:
        """The fields by name: integers, or mechanisms inside this one with their own."""
        return {name: _as_data(getattr(self, name)) for name in field_names(type(self))}

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


def require_integer(name: str, value: object, low: int, high: int) -> None:
    """Refuses anything but an int in [low, high].

    Raises:
        ParameterError: naming the parameter, the range and the value.
    """
    if type(value) is not int or not low <= value <= high:
        raise ParameterError(name, f"an integer in [{low}, {high}]", value)


def _as_data(value: Any) -> Any:
    if isinstance(value, Mechanism):
        return value.description()
    return [_as_data(item) for item in value] if isinstance(value, tuple) else value
