"""Compares what was found of a metric with what its version states."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from deniable._audit.failure import AuditFailure
from deniable_shared.exact_bounds import exp_lower
from deniable_shared.mechanisms import DiscreteGaussian, DiscreteLaplace, Rappor, Wheel

if TYPE_CHECKING:
    from deniable._audit.laws.draws import Draw
    from deniable._audit.laws.worst import Worst
    from deniable._audit.sections import Section

ROUNDED = Fraction(1, 1 << 40)
"""Powers of e are no fractions: noise made of them is compared within this, relatively."""

ATTAINED = 1 - Fraction(1, 10**12)
"""A largest ratio of this part of e^epsilon, or more, attains epsilon: the rest is rounding."""

DELTA_ROUNDED = Fraction(1, 10**6)
"""A stated delta is this part above the exact one at most: it is added up in floats."""


class Verdict(NamedTuple):
    """What the audit of a metric says.

    Attributes:
        section: what was found.
        parts: the same of the mechanisms inside.
        tolerance: within which part of it the ratio was compared; 0 if it is exact.
        delta: the enumerated delta, rounded up; None of pure epsilons.
    """

    section: Section
    parts: tuple[Verdict, ...]
    tolerance: Fraction
    delta: Fraction | None

    @property
    def draws(self) -> frozenset[Draw]:
        """All primitives that were called, also inside."""
        return self.section.draws.union(*(part.draws for part in self.parts))


def verdict_on(section: Section) -> Verdict:
    """Checks both epsilons of a mechanism, and those of what is inside.

    Raises:
        AuditFailure: if a report, or all reports of a value, reveal more than is stated; or if one
            report reveals less, as it is then another mechanism than the one stated.
    """
    parts = tuple(map(verdict_on, section.parts))
    mechanism = section.mechanism
    if isinstance(mechanism, DiscreteGaussian):
        return Verdict(section, parts, ROUNDED, _checked_delta(mechanism, section))
    tolerance = ROUNDED if isinstance(mechanism, DiscreteLaplace) else Fraction(0)
    # The filters of all strings that were looked at may overlap; and codes of one level never
    # use the oracle of the deeper ones, whose epsilon is stated if it is the larger one. So is
    # that of piecewise by a hybrid that never draws it.
    attains = not isinstance(mechanism, Rappor) and getattr(mechanism, "levels", 2) > 1
    attains = attains and getattr(mechanism, "heads", 1) > 0
    # Of a short list no two sets need be disjoint.
    listed = any(walk.of_values is not None for walk in section.walks)
    attains = attains and not (isinstance(mechanism, Wheel) and listed)
    _check("one report reveals", section.report, mechanism.epsilon, tolerance, attains=attains)
    if section.kept is not None:
        assert mechanism.epsilon_permanent is not None
        permanent = mechanism.epsilon_permanent
        what = "all reports of a value together reveal"
        _check(what, section.kept, permanent, tolerance, attains=attains)
    return Verdict(section, parts, tolerance, None)


def _check(what: str, worst: Worst, epsilon: float, tolerance: Fraction, *, attains: bool) -> None:
    stated = exp_lower(Fraction(epsilon))
    if not worst.ratio * (1 - tolerance) <= stated:
        raise AuditFailure(f"{what} {worst.nats} nats, and {epsilon} are stated")
    if attains and not worst.ratio * (1 + tolerance) >= stated * ATTAINED:
        raise AuditFailure(
            f"{what} {worst.nats} nats, less than the {epsilon} that are stated: it is not the "
            "mechanism of the metric"
        )


def _checked_delta(mechanism: DiscreteGaussian, section: Section) -> Fraction:
    """The probability mass that is more than e^epsilon times as likely for one end of the range."""
    growth = exp_lower(Fraction(mechanism.epsilon))
    (factor,) = section.report.factors
    found = max(
        sum(
            (count * max(Fraction(0), pair[0] - growth * pair[1]) for count, *pair in classes),
            start=Fraction(0),
        )
        / factor.of
        for classes in (factor.classes, [(n, other, one) for n, one, other in factor.classes])
    )
    stated = Fraction(mechanism.delta)
    if not stated * (1 - DELTA_ROUNDED) <= found <= stated:
        raise AuditFailure(f"delta is {float(found)}, and {mechanism.delta} is stated")
    return found
