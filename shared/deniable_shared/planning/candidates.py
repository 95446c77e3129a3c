"""The mechanisms that could carry a metric, and how far each is from the least error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deniable_shared import mechanism_choice
from deniable_shared.mechanisms import (
    Mechanism,
    NumericMechanism,
    Oracle,
    SampledAttribute,
    Sketch,
)
from deniable_shared.planning.disclosure_figures import Z

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.spec import Spec

AnyMechanism = TypeVar("AnyMechanism", bound=Mechanism)


@dataclass(frozen=True)
class Candidate:
    """One mechanism that could carry a metric.

    Attributes:
        mechanism: with its parameters.
        excess: its squared error over the least possible one, or for numbers over the least of all
            candidates.
        chosen: whether it is the metric's own.
        variance: the variance that one report gives: of the share of a value that nobody has, or of
            a mean where it is largest.
        collision_variance: the variance that a sketch's hash collisions add if as many devices
            report as were asked about; 0 without a sketch.
    """

    mechanism: Mechanism
    excess: float
    chosen: bool
    variance: float
    collision_variance: float

    def half_width(self, devices: float) -> float:
        """Half the width of the 95% interval of a mean, or of a value that hardly anybody has.

        Args:
            devices: how many report; greater than 0.
        """
        return Z * math.sqrt(self.variance / devices + self.collision_variance)


def rank_candidates(spec: Spec, devices: int) -> tuple[Candidate, ...]:
    """The mechanisms that could carry a metric, its own among them, the least error first.

    The error of a category is compared with the least total squared error of any mechanism (Ye and
    Barg 2018), that of a string with the least for one of very many items, and that of a mean with
    the best of the candidates, each at its worst place in the range.

    Args:
        devices: how many report; decides the rows of sketches.
    """
    mechanism, unit = spec.mechanism, mean_unit(spec)
    alternatives = (
        () if spec.type == "boolean" else mechanism.alternatives(devices, mechanism_choice)
    )
    every: tuple[Mechanism, ...] = (mechanism, *_other_kinds(mechanism, alternatives))
    errors = list(map(worst_variance, every))
    if isinstance(mechanism, Oracle) and spec.type == "category":
        # The bound is for devices drawn from a population: drawing them adds this variance.
        sampling = 1 - 1 / mechanism.size
        errors = [
            mechanism_choice.total_variance(oracle) + sampling
            for oracle in every
            if isinstance(oracle, Oracle)
        ]
        least = mechanism_choice.least_total_error(mechanism.size, mechanism.epsilon)
    elif spec.type == "string":
        least = mechanism_choice.least_error_of_rare_item(mechanism.epsilon)
    elif spec.type == "attributes":
        # Compared for single flags, though `pairs` also answers for every two together.
        least = SampledAttribute(inner=mechanism.oracles).variance(0.0, 1)
    else:
        least = min(errors)
    ranked = [(error / least, candidate) for error, candidate in zip(errors, every, strict=True)]
    ranked.sort(key=lambda pair: pair[0])
    return tuple(
        Candidate(
            mechanism=candidate,
            excess=excess,
            chosen=candidate is mechanism,
            variance=unit**2 * worst_variance(candidate),
            collision_variance=collision_variance(candidate, devices),
        )
        for excess, candidate in ranked
    )


def short_name(mechanism: Mechanism) -> str:
    """The name in a registry file; of a sketch, also that of its inner oracle."""
    if isinstance(mechanism, Sketch):
        return f"{mechanism.name} over {mechanism.inner.name}"
    return mechanism.name


def collision_variance(mechanism: Mechanism, devices: float) -> float:
    """The variance that a sketch's hash collisions add where so many devices report.

    Args:
        devices: greater than 0.
    """
    return mechanism.collision_variance(devices) if isinstance(mechanism, Sketch) else 0.0


def worst_variance(mechanism: Mechanism) -> float:
    """The variance that one report gives: of a value that nobody has, or of a mean at its worst."""
    if isinstance(mechanism, NumericMechanism):
        return mechanism.worst_variance()
    return mechanism.variance(0.0, 1)


def mean_unit(spec: Spec) -> float:
    """The width of a mean's range, in the metric's own unit; 1 for shares."""
    if spec.range is None or not isinstance(spec.mechanism, NumericMechanism):
        return 1.0
    return float(spec.range[1] - spec.range[0])


def _other_kinds(mechanism: Mechanism, alternatives: Iterable[AnyMechanism]) -> list[AnyMechanism]:
    return [
        candidate for candidate in alternatives if short_name(candidate) != short_name(mechanism)
    ]
