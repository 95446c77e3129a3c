"""What all metrics of a registry together cost a device, and how long its budget lasts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deniable_shared.registry import Registry

MAX_DAYS: Final = 10_000_000
"""No budget that a registry may state lasts longer."""

_PERIOD_DAYS: Final = {"day": 1, "week": 7, "month": 30}


def epsilon_of_busiest_day(registry: Registry) -> float:
    """The most epsilon that one day can cost a device.

    A metric that reports absence can cost twice its epsilon: after a period without a value, the
    report of that absence and the report of a new value may fall on the same day.
    """
    return sum(
        metric.spec.mechanism.epsilon
        * (1 if metric.spec.absent is None or metric.spec.every == "once" else 2)
        for metric in registry.metrics.values()
    )


def days_until_lifetime_is_spent(registry: Registry) -> int | None:
    """For how many days the lifetime budget lasts if every metric reports as often as it may.

    Returns:
        A number of days, or None if the budget is never spent.
    """
    low, high = 0, MAX_DAYS
    if _epsilon_of(registry, high) <= registry.budget.epsilon_lifetime:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _epsilon_of(registry, middle) <= registry.budget.epsilon_lifetime:
            low = middle
        else:
            high = middle
    return low


def _epsilon_of(registry: Registry, days: int) -> float:
    """The epsilon that all metrics cost a device in so many days; none more than its total."""
    return sum(
        min(
            metric.spec.mechanism.epsilon * days / _PERIOD_DAYS.get(metric.spec.every, days or 1),
            metric.spec.mechanism.epsilon_total or math.inf,
        )
        for metric in registry.metrics.values()
    )
