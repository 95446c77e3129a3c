"""L-GRR: one of k categories; every report randomizes a permanent answer again."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Self

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, ceil_divide, exp_lower, log_upper
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import (
    MUTUALLY_EXCLUSIVE,
    PairSupport,
    Support,
    require_integer,
)
from deniable_shared.mechanisms.oracle import ItemOracle, MemoizedOracle
from deniable_shared.mechanisms.oracles.grr import MAX_SIZE, GeneralizedRandomizedResponse
from deniable_shared.mechanisms.resemblance import RepeatedItem
from deniable_shared.mechanisms.second_round import SecondRound


@frozen
class MemoizedRandomizedResponse(MemoizedOracle, ItemOracle):
    """Two rounds of generalized randomized response (Arcolezi et al. 2022, L-GRR).

    The permanent round draws one answer per item, once and for all: it is derived from a keyed hash
    of a device secret and the item. Each report randomizes that answer afresh. Two such channels
    compose to a third, with the weights P, o of the true and a false item in round one and P', o'
    in round two, over 2^32::

        p = (P P' + (k - 1) o o') / 2^64              the true item
        q = (P o' + o P' + (k - 2) o o') / 2^64       one other item
        epsilon            = ln(p / q)                one report
        epsilon_permanent  = ln(P / o)                all reports of one value

    So one report is exactly generalized randomized response at epsilon. With a = e^permanent and
    c = e^epsilon that asks for P' / o' = (c (a + k - 2) - (k - 1)) / (a - c). The published
    (a c - 1) / (a - c) is right for k = 2 only; for more items it wastes most of epsilon.

    T reports of one value cost ln((p1 x^T + 1 - p1) / (q1 x^T + 1 - q1)), with p1 = P / 2^32,
    q1 = o / 2^32 and x = P' / o'. That may be *more* than T times epsilon where there are many
    items and epsilon is far below epsilon_permanent. Such parameters are refused, because a budget
    adds up epsilons. To check two reports is enough: the cost per report as a function of T rises
    at most once and then falls.

    Attributes:
        size: number of items k, in [2, 1024].
        permanent_other: weight of each false item in the permanent round, over 2^32.
        other: weight of each false item in the round of a report, over 2^32.
    """

    name: ClassVar[str] = "lgrr"
    title: ClassVar[str] = "memoised generalized randomized response"
    types: ClassVar[frozenset[str]] = frozenset({"boolean", "category"})
    size: int
    permanent_other: int
    other: int

    def __post_init__(self) -> None:
        require_integer("lgrr size", self.size, 2, MAX_SIZE)
        limit = (SCALE - 1) // self.size
        require_integer("lgrr permanent_other", self.permanent_other, 1, limit)
        require_integer("lgrr other", self.other, 1, limit)
        if not self.odds(2) <= self.odds(1) ** 2:
            constraint = (
                f"nearer to epsilon_permanent for lgrr over {self.size} values, where two reports "
                "would cost more than twice one; losue has no such limit"
            )
            raise ParameterError("epsilon", constraint, self.epsilon)

    @classmethod
    def for_epsilons(cls, size: int, epsilon: Fraction, epsilon_permanent: Fraction) -> Self:
        """The mechanism over `size` items that exceeds neither epsilon.

        Raises:
            ParameterError: if size is not in [2, 1024], if epsilon is not below epsilon_permanent,
                or if it is so far below that two reports would cost more than twice one.
        """
        first = GeneralizedRandomizedResponse.for_epsilon(size, epsilon_permanent)
        permanent, report = Fraction(first.own, first.other), exp_lower(epsilon)
        if not report < permanent:
            raise ParameterError("epsilon", "below epsilon_permanent", float(epsilon))
        ratio = (report * (permanent + size - 2) - (size - 1)) / (permanent - report)
        other = ceil_divide(SCALE, ratio + size - 1)
        return cls(size=size, permanent_other=first.other, other=other)

    @property
    def permanent_own(self) -> int:
        """The weight of the true item in the permanent round, over 2^32."""
        return SCALE - (self.size - 1) * self.permanent_other

    @property
    def own(self) -> int:
        """The weight of the permanent answer in a report, over 2^32."""
        return SCALE - (self.size - 1) * self.other

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, in nats: of both rounds together."""
        return log_upper(self.odds(1))

    @property
    def epsilon_permanent(self) -> float:
        """The privacy loss of all reports of one value, in nats: that of the permanent round."""
        return log_upper(Fraction(self.permanent_own, self.permanent_other))

    @property
    def second_round(self) -> SecondRound:
        """One draw among k."""
        rarest = log_upper(Fraction(SCALE, self.permanent_other))
        return SecondRound(1, Fraction(self.own, SCALE), Fraction(self.other, SCALE), rarest)

    @property
    def repeated(self) -> RepeatedItem:
        """One answer among k."""
        return RepeatedItem(self.size, self.own / SCALE)

    @property
    def support(self) -> Support:
        """The probabilities of the true item (p) and of one other item (q), over both rounds."""
        return Support(
            (self.permanent_own * self.own + (self.size - 1) * self.permanent_other * self.other)
            / SCALE**2,
            self._false() / SCALE**2,
        )

    def permanent_support(self) -> Support:
        """The probabilities of the true item (p) and of one other item (q) in the first round."""
        return Support(self.permanent_own / SCALE, self.permanent_other / SCALE)

    def permanent_pair_support(self) -> PairSupport:
        """A permanent answer is one item."""
        return MUTUALLY_EXCLUSIVE

    def odds(self, reports: int) -> Fraction:
        """E to the privacy loss of several reports of one value: exact, and attained.

        Args:
            reports: T, at least 1.
        """
        remained, replaced = self.own**reports, self.other**reports
        own, other = self.permanent_own, self.permanent_other
        return Fraction(
            own * remained + (SCALE - own) * replaced, other * remained + (SCALE - other) * replaced
        )

    def _false(self) -> int:
        """The weight of one false item in a report, over 2^64."""
        own, other = self.permanent_own, self.permanent_other
        return own * self.other + other * self.own + (self.size - 2) * other * self.other
