"""PrivSet: a set of listed items, told by one outcome."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import (
    MUTUALLY_EXCLUSIVE,
    PairSupport,
    Support,
    require_integer,
)
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.sets.base import MAX_MOST, SetMechanism

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest

MAX_SIZE: Final = 1024
"""The largest domain: that of a list of values in a registry."""


@frozen
class PrivSet(SetMechanism):
    """PrivSet with one reported outcome (Wang et al., INFOCOM 2018, with k = 1).

    Outcomes are the d items, a marker "more than m" where d > m, and m fillers: D in all. A device
    of s items holds these and the first m - s fillers; one of more than m items holds m - 1 random
    ones of them and the marker. So every device holds exactly m outcomes. With probability
    w / 2^32 it reports a uniform one of these, else a uniform one of the others: an outcome that
    it holds with p = w / (m 2^32), any other with q = (2^32 - w) / ((D - m) 2^32). Every
    probability is one of the two, so epsilon is ln(p / q). A report is the outcome's number.

    Attributes:
        size: number of items d, in [1, 1024].
        most: number of outcomes m that a device holds, in [1, 32] and at most `size`.
        inside: weight w of the outcomes that a device holds together, over 2^32.
    """

    name: ClassVar[str] = "privset"
    title: ClassVar[str] = "PrivSet, of one outcome"
    size: int
    most: int
    inside: int

    def __post_init__(self) -> None:
        require_integer("privset size", self.size, 1, MAX_SIZE)
        require_integer("privset most", self.most, 1, min(MAX_MOST, self.size))
        require_integer("privset inside", self.inside, 1, SCALE - 1)
        if not self.inside * self.outside_count > self.most * (SCALE - self.inside):
            least = f"above 2^32 * {self.most} / {self.outcomes}"
            raise ParameterError("privset inside", least, self.inside)

    @classmethod
    def for_epsilon(cls, size: int, most: int, epsilon: Fraction) -> Self:
        """The mechanism over `size` items whose epsilon does not exceed the one given.

        Raises:
            ParameterError: if size is not in [1, 1024], or most not in [1, 32] or above it.
        """
        require_integer("privset size", size, 1, MAX_SIZE)
        require_integer("privset most", most, 1, min(MAX_MOST, size))
        others = size + (size > most)
        outside = ceil_divide(SCALE * others, most * exp_lower(epsilon) + others)
        return cls(size=size, most=most, inside=SCALE - outside)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options."""
        if not request.size:
            raise ParameterError("values", f"given for {cls.name}", None)
        return cls.for_epsilon(request.size, request.most, request.epsilon)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> PrivSet:  # noqa: ARG002
        """The same sets at another epsilon."""
        return self.for_epsilon(self.size, self.most, epsilon)

    def alternatives(self, devices: int, choice: MechanismChoice) -> Iterable[SetMechanism]:
        """All mechanisms that can carry these sets."""
        return choice.set_candidates(self.size, self.most, Fraction(self.epsilon), devices)

    @property
    def marker(self) -> int | None:
        """The outcome of a set of more than `most` items; None if there is no such set."""
        return self.size if self.size > self.most else None

    @property
    def first_filler(self) -> int:
        """The first of `most` fillers: filler j is held by devices of less than most - j items."""
        return self.outcomes - self.most

    @property
    def outcomes(self) -> int:
        """How many different reports there are."""
        return self.size + (self.size > self.most) + self.most

    @property
    def outside_count(self) -> int:
        """How many outcomes a device does not hold."""
        return self.outcomes - self.most

    @property
    def report_bytes(self) -> int:
        """As few bytes as hold every outcome."""
        return 1 if self.outcomes <= 1 << 8 else 2

    def decode(self, report: bytes) -> int:
        """The outcome that a report names.

        Raises:
            ValueError: if no device sends such a report.
        """
        outcome = int.from_bytes(report, "big")
        if outcome >= self.outcomes:
            raise ValueError(f"a report must be below {self.outcomes}, got {outcome}")
        return outcome

    def outcome_bounds(self) -> tuple[float, float]:
        """Q of an outcome that a device does not hold, p of one that it holds."""
        return self.support.q, self.support.p

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats."""
        outside = SCALE - self.inside
        return log_upper(Fraction(self.inside * self.outside_count, self.most * outside))

    def losses(self) -> LossClasses:
        """Two sets that share no outcome: those of the one, those of the other, and all further."""
        outside = SCALE - self.inside
        return losses_of_support(
            Fraction(self.inside, SCALE), Fraction(self.most * outside, SCALE * self.outside_count)
        )

    @property
    def support(self) -> Support:
        """The probabilities of an outcome that a device holds (p) and of another one (q)."""
        inside = self.inside / SCALE
        return Support(inside / self.most, (1 - inside) / self.outside_count)

    def pair_support(self) -> PairSupport:
        """A report supports one outcome."""
        return MUTUALLY_EXCLUSIVE
