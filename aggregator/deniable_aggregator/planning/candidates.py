"""The mechanisms that could carry a metric, and how far each is from the least error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from deniable_shared import mechanism_choice
from deniable_shared.disclosure_figures import Z
from deniable_shared.mechanisms import (
    Mechanism,
    NumericMechanism,
    Oracle,
    SampledAttribute,
    Sketch,
)
from deniable_shared.mechanisms.sketch import ASSUMED_SECOND_MOMENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.spec import Spec

AnyMechanism = TypeVar("AnyMechanism", bound=Mechanism)

EXTREME_PLACES: Final = (0.0, 0.5, 1.0)
"""Where in its range a mean may lie: the ends and the middle have the extremes of its variance."""


@dataclass(frozen=True)
class Candidate:
    """One mechanism that could carry a metric.

    Attributes:
        mechanism: with its parameters.
        excess: its squared error over the least that is possible, or for numbers over the least of
            all candidates.
        chosen: whether it is the metric's.
        variance: of one report: of a rare item's share, or the largest of a mean.
        family: variance that is there however many devices report.
    """

    mechanism: Mechanism
    excess: float
    chosen: bool
    variance: float
    family: float

    def half_width(self, devices: float) -> float:
        """Of the 95% interval of a rare item or a mean."""
        return Z * math.sqrt(self.variance / devices + self.family)


def rank_candidates(spec: Spec, devices: int) -> tuple[Candidate, ...]:
    """The mechanisms that could stand in the place of a metric's own, the best first.

    For a domain of k items errors are measured against the least total risk of any mechanism (Ye
    and Barg), for strings against the noise of one of very many items, and for a mean against the
    best of the candidates, each at its worst place in the range.
    """
    mechanism, unit = spec.mechanism, mean_unit(spec)
    others = () if spec.type == "boolean" else mechanism.alternatives(devices)
    every: tuple[Mechanism, ...] = (mechanism, *_other_kinds(mechanism, others))
    errors = list(map(worst_variance, every))
    if isinstance(mechanism, Oracle) and spec.type == "category":
        # The devices are drawn from a population, as the optimum assumes.
        drawn = 1 - 1 / mechanism.size
        errors = [
            mechanism_choice.total_variance(each) + drawn
            for each in every
            if isinstance(each, Oracle)
        ]
        least = mechanism_choice.least_total_error(mechanism.size, mechanism.epsilon)
    elif spec.type == "string":
        least = mechanism_choice.least_error_of_rare_item(mechanism.epsilon)
    elif spec.type == "attributes":
        # Of single flags; pairs answers for every two of them as well.
        least = SampledAttribute(inner=mechanism.oracles).variance(0.0, 1)
    else:
        least = min(errors)
    found = [(error / least, each) for error, each in zip(errors, every, strict=True)]
    found.sort(key=lambda pair: pair[0])
    return tuple(
        Candidate(
            mechanism=each,
            excess=excess,
            chosen=each is mechanism,
            variance=unit**2 * worst_variance(each),
            family=family_variance(each),
        )
        for excess, each in found
    )


def short_name(mechanism: Mechanism) -> str:
    """A short name: what a registry file calls it, with a sketch's inner oracle."""
    if isinstance(mechanism, Sketch):
        return f"{mechanism.name} over {mechanism.inner.name}"
    return mechanism.name


def family_variance(mechanism: Mechanism) -> float:
    """What a sketch's one hash family adds to the variance, however many devices report."""
    if not isinstance(mechanism, Sketch):
        return 0.0
    return mechanism.family_variance(float(ASSUMED_SECOND_MOMENT))


def worst_variance(mechanism: Mechanism) -> float:
    """The variance of one report: of a rare item, or of a mean where it is largest."""
    if isinstance(mechanism, NumericMechanism):
        return max(mechanism.variance(place, 1) for place in EXTREME_PLACES)
    return mechanism.variance(0.0, 1)


def mean_unit(spec: Spec) -> float:
    """The width of a mean's range, in the metric's own unit; 1 for shares."""
    if spec.range is None or not isinstance(spec.mechanism, NumericMechanism):
        return 1.0
    return float(spec.range[1] - spec.range[0])


def _other_kinds(mechanism: Mechanism, others: Iterable[AnyMechanism]) -> list[AnyMechanism]:
    """The others that are not of the mechanism's own kind, which stands for itself."""
    return [each for each in others if short_name(each) != short_name(mechanism)]
