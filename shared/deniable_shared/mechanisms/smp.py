"""One sampled attribute (SMP): a record's device speaks of one attribute, with all its epsilon."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, cast

from deniable_shared.attributes import MAX_ATTRIBUTES, MIN_ATTRIBUTES
from deniable_shared.errors import ParameterError
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms.base import MECHANISMS, Mechanism
from deniable_shared.mechanisms.losses import mixed_losses
from deniable_shared.mechanisms.oracle import FreshOracle, Oracle
from deniable_shared.mechanisms.oracles.rr import RandomizedResponse

if TYPE_CHECKING:
    from deniable_shared.mechanisms.losses import LossClasses
    from deniable_shared.mechanisms.pairs import SampledCoefficients
    from deniable_shared.mechanisms.request import MechanismChoice, MechanismRequest


@frozen
class SampledAttribute(Mechanism):
    """SMP (Nguyên et al. 2016; Arcolezi et al. 2021): report one attribute of d, drawn uniformly.

    Which attribute is reported is public and does not depend on the record, so the whole record,
    which may differ in all attributes at once, has the largest epsilon of the oracles inside. With
    n_j of n reports on attribute j, an item's share among all n devices is estimated by the oracle
    from those n_j; given n_j, exactly,

        variance = V(f) / n_j + f (1 - f) (n - n_j) / (n_j (n - 1))

    where V is the oracle's variance for one report; the second term is the sampling of n_j devices
    without replacement. For the population that the devices were drawn from, add f (1 - f) / n:
    the sum is (V(f) + f (1 - f)) / n_j.

    The report is the attribute's number in one byte and the inner report, filled up with zero
    bytes to the widest, so that its length does not tell the attribute.

    Attributes:
        inner: the oracle of each attribute, 2 to 64.
    """

    name: ClassVar[str] = "smp"
    title: ClassVar[str] = "one sampled attribute"
    types: ClassVar[frozenset[str]] = frozenset({"attributes"})
    inner: tuple[Oracle, ...]

    def __post_init__(self) -> None:
        if not MIN_ATTRIBUTES <= len(self.inner) <= MAX_ATTRIBUTES:
            constraint = f"{MIN_ATTRIBUTES} to {MAX_ATTRIBUTES} of them"
            raise ParameterError("attributes", constraint, len(self.inner))
        for oracle in self.inner:
            if not isinstance(oracle, FreshOracle):
                raise ParameterError("smp inner", "oracles that memoise nothing", oracle)

    @classmethod
    def from_options(cls, request: MechanismRequest) -> Self:
        """Has no options; each attribute gets the oracle that would be chosen for it alone."""
        oracles = (
            RandomizedResponse.for_epsilon(2, request.epsilon)
            if attribute.type == "boolean"
            else request.choice.oracle_for(attribute.size, request.epsilon)
            for attribute in request.attributes
        )
        return cls(inner=tuple(oracles))

    def at_epsilon(self, epsilon: Fraction, choice: MechanismChoice) -> SampledAttribute:
        """What would be chosen there for each attribute."""
        oracles = (cast("Oracle", oracle.at_epsilon(epsilon, choice)) for oracle in self.inner)
        return SampledAttribute(inner=tuple(oracles))

    def alternatives(self, devices: int, choice: MechanismChoice) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """Sampled coefficients, if all attributes are flags; they tell pairs as well."""
        if not all(isinstance(oracle, RandomizedResponse) for oracle in self.inner):
            return ()
        pairs = cast("type[SampledCoefficients]", MECHANISMS["pairs"])  # it imports this file
        return (pairs.for_epsilon(len(self.inner), Fraction(self.epsilon)),)

    @property
    def oracles(self) -> tuple[Oracle, ...]:
        """What randomizes each attribute."""
        return self.inner

    @property
    def report_bytes(self) -> int:
        """One byte for the attribute, and the widest inner report."""
        return 1 + max(oracle.report_bytes for oracle in self.inner)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report about a whole record, in nats."""
        return max(oracle.epsilon for oracle in self.inner)

    def losses(self) -> LossClasses:
        """Of two records that differ in every attribute; the report says which one was drawn."""
        share = Fraction(1, len(self.inner))
        return mixed_losses((share, oracle.losses()) for oracle in self.inner)

    def variance(self, share: float, reports: int) -> float:
        """The variance of an item of the noisiest attribute, if attributes come equally often.

        Args:
            share: the item's true share, in [0, 1].
            reports: how many devices reported, on any attribute; at least 1.
        """
        noise = max(oracle.variance(share, 1) for oracle in self.inner)
        size = len(self.inner)
        return (size * noise + (size - 1) * share * (1 - share)) / reports
