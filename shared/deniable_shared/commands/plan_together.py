"""What all metrics of a file cost a device together, in a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_shared.accounting import DEFAULT_DELTA, Bounds, bounds_of, components_of
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.upper_bounds import power, upper, upper_power

if TYPE_CHECKING:
    from deniable_shared.registry import Registry


def together_as_json(registry: Registry, days: int) -> dict[str, Any]:
    """What is printed for programs.

    Args:
        days: for how many days devices report.
    """
    bounds = _bounds(registry, days)
    return {
        "days": days,
        "delta": DEFAULT_DELTA,
        "epsilon": bounds.renyi,
        "sum_of_epsilons": bounds.sum.epsilon,
        "sum_of_deltas": bounds.sum.delta,
        "sum_without_a_budget": bounds.of_all_reports,
    }


def together_text(registry: Registry, days: int) -> str:
    """The same in a sentence.

    Args:
        days: for how many days devices report.
    """
    bounds = _bounds(registry, days)
    period = "a year" if days == DAYS_OF_A_YEAR else f"{days:,} days"
    deltas = f" (and their deltas to {upper_power(bounds.sum.delta)})" if bounds.sum.delta else ""
    total = f"epsilons add up to {upper(bounds.sum.epsilon)}{deltas}, and devices count by that"
    if bounds.is_stopped:
        total = (
            f"the device stops when epsilons add up to {upper(bounds.sum.epsilon)}{deltas}, its "
            f"lifetime budget; all reports would make {upper(bounds.of_all_reports)}"
        )
    if bounds.renyi is None:
        return f"{period.capitalize()} of this: {total}."
    return (
        f"{period.capitalize()} of this costs a device at most epsilon {upper(bounds.renyi)} "
        f"together, with delta {power(DEFAULT_DELTA)} (Renyi composition); {total}."
    )


def _bounds(registry: Registry, days: int) -> Bounds:
    components = components_of((metric.spec for metric in registry.metrics.values()), days)
    return bounds_of(components, DEFAULT_DELTA, registry.budget.epsilon_lifetime)
