"""What the reports of many days cost a device together: bounds that need the standard library only.

Epsilon is proven for one report. For many reports the sum of their epsilons is proven too, and
devices count by that sum. The bounds here are smaller, but hold only with a delta. They are printed
for people and decide nothing.
"""

from __future__ import annotations

from deniable_shared.accounting.bounds import DEFAULT_DELTA, Bound, Bounds, bounds_of, group_bound
from deniable_shared.accounting.component import Component, components_of, counted_epsilon
from deniable_shared.accounting.histories import HistoryBounds, bound_of_changes, history_bounds
from deniable_shared.accounting.profile import LossProfile, profile_of, pure_profile

__all__ = [
    "DEFAULT_DELTA",
    "Bound",
    "Bounds",
    "Component",
    "HistoryBounds",
    "LossProfile",
    "bound_of_changes",
    "bounds_of",
    "components_of",
    "counted_epsilon",
    "group_bound",
    "history_bounds",
    "profile_of",
    "pure_profile",
]
