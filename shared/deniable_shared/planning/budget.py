"""What all metrics of a registry together cost a device, and how long its budget lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.accounting import counted_epsilon
from deniable_shared.periods import most_periods

if TYPE_CHECKING:
    from collections.abc import Collection

    from deniable_shared.registry import Registry
    from deniable_shared.spec import Spec

MAX_DAYS: Final = 10_000_000
"""No budget that a registry may state lasts longer."""

MOST_DELTA_A_YEAR: Final = 1e-4
"""A registry whose reports of a year have a larger delta in all is warned of.

Then an event may be more probable for one history of values than epsilons allow, by more than one
in 10,000.
"""

DAYS_OF_A_YEAR: Final = 365

MOST_DAYS: Final = 36_525
"""For so many days at most it is asked what reports cost: a century."""


def epsilon_of_busiest_day(registry: Registry) -> float:
    """The most epsilon that one day can cost a device."""
    return sum(metric.spec.mechanism.epsilon for metric in registry.metrics.values())


def most_reports(budget: float, epsilon: float) -> int:
    """How many reports of one metric a budget pays for.

    Args:
        budget: in nats.
        epsilon: of one report, in nats; above 0.
    """
    # Devices count whole nano-nats, and .3 / .1 is below 3 in floats.
    return int(budget / epsilon * (1 + 1e-9))


def delta_of_a_year(registry: Registry) -> float:
    """The sum of the deltas of all reports that a device may send in a year.

    Deltas add up as epsilons do (basic composition), and belong to the sum of epsilons.
    """
    return sum(
        metric.spec.mechanism.delta * most_periods(metric.spec.every, DAYS_OF_A_YEAR)
        for metric in registry.metrics.values()
    )


def days_until_lifetime_is_spent(registry: Registry) -> int | None:
    """For how many days the lifetime budget lasts if every metric reports as often as it may.

    Returns:
        See `days_until_spent`.
    """
    specs = [metric.spec for metric in registry.metrics.values()]
    return days_until_spent(specs, registry.budget.epsilon_lifetime)


def days_until_spent(specs: Collection[Spec], budget: float) -> int | None:
    """For how many days in a row a budget lasts, wherever in their periods the days begin.

    Args:
        specs: metrics, each of which is reported as often as it may be.
        budget: in nats.

    Returns:
        The most days whose reports are sure to fit, or None if the budget is never spent.
    """
    low, high = 0, MAX_DAYS
    if counted_epsilon(specs, high) <= budget:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if counted_epsilon(specs, middle) <= budget:
            low = middle
        else:
            high = middle
    return low
