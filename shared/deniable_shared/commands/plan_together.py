"""What all metrics of a file cost a device together, in a plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from deniable_shared.accounting import (
    DEFAULT_DELTA,
    Bounds,
    bounds_of,
    components_of,
    counted_epsilon,
)
from deniable_shared.accounting.bounds import ROUNDING
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.upper_bounds import power, upper, upper_power

if TYPE_CHECKING:
    from deniable_shared.registry import Registry
    from deniable_shared.spec import Spec


def together_as_json(registry: Registry, days: int) -> dict[str, Any]:
    """What is printed for programs; null where there is no bound.

    Args:
        days: for how many days devices report.
    """
    bounds, unchanging = (_bounds(registry, days, changing=each) for each in (True, False))
    total = bounds.sum.epsilon
    return {
        "days": days,
        "delta": DEFAULT_DELTA,
        "epsilon": bounds.renyi,
        "epsilon_of_unchanging_values": unchanging.renyi,
        "sum_of_epsilons": total if total < math.inf else None,
        "sum_of_deltas": bounds.sum.delta,
        "counted_without_a_budget": counted_epsilon(_specs(registry), days),
    }


def together_text(registry: Registry, days: int) -> str:
    """The same in a sentence.

    Args:
        days: for how many days devices report.
    """
    bounds, unchanging = (_bounds(registry, days, changing=each) for each in (True, False))
    period = "a year" if days == DAYS_OF_A_YEAR else f"{days:,} days"
    counted, limit = counted_epsilon(_specs(registry), days), registry.budget.epsilon_lifetime
    deltas = f" (and their deltas to {upper_power(bounds.sum.delta)})" if bounds.sum.delta else ""
    total = f"devices count by epsilons, which add up to {upper(counted)}{deltas}"
    if counted > limit * (1 + ROUNDING):
        total = (
            f"the device stops when epsilons add up to {upper(limit)}{deltas}, its lifetime "
            f"budget; all reports would make {upper(counted)}"
        )
    if unchanging.renyi is None:
        return f"{period.capitalize()} of this: {total}."
    figure = f"epsilon {upper(unchanging.renyi)} together"
    if any(spec.mechanism.epsilon_permanent is not None for spec in _specs(registry)):
        changing = "without a bound" if bounds.renyi is None else f"{upper(bounds.renyi)} at most"
        figure += f" while no remembered value changes, {changing} if they do"
    return (
        f"{period.capitalize()} of this costs a device at most {figure}, with delta "
        f"{power(DEFAULT_DELTA)} (Renyi composition); {total}."
    )


def _specs(registry: Registry) -> list[Spec]:
    return [metric.spec for metric in registry.metrics.values()]


def _bounds(registry: Registry, days: int, *, changing: bool) -> Bounds:
    components = components_of(_specs(registry), days, changing=changing)
    return bounds_of(components, DEFAULT_DELTA, registry.budget.epsilon_lifetime)
