"""Sampled Hadamard coefficients: the marginals of flags, and of every two of them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.attributes import MAX_ATTRIBUTES, MIN_ATTRIBUTES
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import Mechanism, require_integer
from deniable_shared.mechanisms.losses import losses_of_support
from deniable_shared.mechanisms.oracles.rr import RandomizedResponse
from deniable_shared.mechanisms.smp import SampledAttribute

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest


@frozen
class SampledCoefficients(Mechanism):
    """InpHT (Cormode, Kulkarni and Srivastava, SIGMOD 2018) for marginals of one and two flags.

    A coefficient is a set a of one or two attributes. The device draws one of the
    T = d + d (d - 1) / 2 coefficients and sends the parity of its flags in a through randomized
    response. The draw is public and does not depend on the record, so a whole record has the
    epsilon of that one bit. The mean of (-1)^parity over the n_a reports on a, divided by 1 - 2b
    with b the probability of a lie, estimates theta_a without bias, and k flags have the marginal

        f(g) = 2^-k sum over subsets a of the k flags of (-1)^(sum of g in a) theta_a

    with theta of the empty set 1. The report is the coefficient's number times two, plus the bit.

    Attributes:
        attributes: number of flags d, in [2, 64].
        inner: randomizes the parity.
    """

    name: ClassVar[str] = "pairs"
    title: ClassVar[str] = "sampled Hadamard coefficients"
    types: ClassVar[frozenset[str]] = frozenset({"attributes"})
    estimates_pairs: ClassVar[bool] = True
    attributes: int
    inner: RandomizedResponse

    def __post_init__(self) -> None:
        require_integer("attributes", self.attributes, MIN_ATTRIBUTES, MAX_ATTRIBUTES)
        if not isinstance(self.inner, RandomizedResponse):
            raise ParameterError("pairs inner", "randomized response", self.inner)

    @classmethod
    def for_epsilon(cls, attributes: int, epsilon: Fraction) -> Self:
        """The mechanism over so many flags whose epsilon does not exceed the one given."""
        return cls(attributes=attributes, inner=RandomizedResponse.for_epsilon(2, epsilon))

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options; every attribute has to be a flag."""
        for attribute in request.attributes:
            if attribute.type != "boolean":
                field = f"attributes.{attribute.name}"
                raise ParameterError(field, "boolean for pairs", attribute.values)
        count = len(request.attributes)
        if not MIN_ATTRIBUTES <= count <= MAX_ATTRIBUTES:
            constraint = f"{MIN_ATTRIBUTES} to {MAX_ATTRIBUTES} of them"
            raise ParameterError("attributes", constraint, count)
        return cls.for_epsilon(len(request.attributes), request.epsilon)

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> Self:  # noqa: ARG002
        """The same flags."""
        return self.for_epsilon(self.attributes, epsilon)

    def alternatives(self, devices: int, choice: MechanismChoice) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """One sampled attribute, which tells nothing of pairs."""
        return (SampledAttribute(inner=self.oracles),)

    @property
    def oracles(self) -> tuple[RandomizedResponse, ...]:
        """What each attribute has to fit: flags."""
        return (self.inner,) * self.attributes

    @cached_property
    def coefficients(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each coefficient: all single ones, then all pairs in order."""
        numbers = range(self.attributes)
        return (*((number,) for number in numbers), *itertools.combinations(numbers, 2))

    @property
    def outcomes(self) -> int:
        """How many different reports there are."""
        return self.attributes * (self.attributes + 1)

    @property
    def report_bytes(self) -> int:
        """One byte up to 15 attributes, two above."""
        return ((self.outcomes - 1).bit_length() + 7) // 8

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report about a whole record, in nats."""
        return self.inner.epsilon

    def losses(self) -> LossClasses:
        """Of two records that differ in s flags: in the parities of s + s (d - s) coefficients."""
        most = max(flags * (1 + self.attributes - flags) for flags in range(self.attributes + 1))
        truth, lie = Fraction(most, len(self.coefficients)), Fraction(self.inner.flip, SCALE)
        return losses_of_support(truth * (1 - lie), truth * lie)

    def variance(self, share: float, reports: int) -> float:
        """The variance of a single flag's share, if coefficients come equally often.

        A cell of a pair has about three quarters of it.

        Args:
            share: the flag's true share, in [0, 1].
            reports: how many devices reported, on any coefficient; at least 1.
        """
        size = len(self.coefficients)
        noise = self.inner.variance(share, 1)
        return (size * noise + (size - 1) * share * (1 - share)) / reports
