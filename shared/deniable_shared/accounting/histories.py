"""What all reports of a memoised metric tell two histories of values apart by, at most.

A *history* is a device's value in each period. Permanent answers hide values, and not when they
change, so a bound depends on how the two histories change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_shared.accounting.bounds import ROUNDING

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism


@dataclass(frozen=True)
class HistoryBounds:
    """Bounds of all reports of one metric and device, in nats; infinite where there is none.

    Attributes:
        never: of two histories in which the value never changes.
        alike: of two histories in which the same reports share permanent answers. Values that
            change in the same periods need not: several may have one answer, such as the strings
            of a bucket.
        once: of two histories in each of which the value changes once or never, at any time.
        always: of any two histories.
    """

    never: float
    alike: float
    once: float
    always: float


def history_bounds(mechanism: Mechanism, reports: int, devices: int = 1) -> HistoryBounds | None:
    """The bounds of a mechanism; None if it memoises nothing.

    Args:
        reports: of one device, at least 1.
        devices: how many devices of one person hold the same values; their bounds add up.
    """
    permanent = mechanism.epsilon_permanent
    if permanent is None:
        return None
    every_report = reports * mechanism.epsilon
    bounds = HistoryBounds(
        never=min(every_report, permanent),
        alike=min(every_report, mechanism.epsilon_total or math.inf),
        once=bound_of_changes(mechanism, reports, 1),
        always=bound_of_changes(mechanism, reports, reports - 1),
    )
    return HistoryBounds(
        **{name: devices * bound * (1 + ROUNDING) for name, bound in vars(bounds).items()}
    )


def bound_of_changes(mechanism: Mechanism, reports: int, changes: int) -> float:
    """A bound for two histories in each of which the value changes so often at most, at any time.

    With T reports, e the epsilon of one report and F that of its second round, the least of::

        min(T e, epsilon_permanent)    without a change
        e + (T - 1) F                  given the others, a report is drawn by second rounds
        d s + (T - ceil(T / d)) F      d = changes + 1 permanent answers at most

    For the last one, let z be the answers under which the reports are most probable for the first
    history. Let each answer of the second one be the z that most of its reports had: each costs s,
    the negative logarithm of the rarest answer's probability, and of at most T - ceil(T / d)
    reports the answers differ.

    Args:
        mechanism: one that memoises.
        reports: T, at least 1.
        changes: of each history, at least 0.
    """
    second, permanent = mechanism.second_round, mechanism.epsilon_permanent
    assert second is not None
    assert permanent is not None
    if not changes or reports == 1:
        return min(reports * mechanism.epsilon, permanent)
    answers = min(changes + 1, reports, mechanism.memoized_values or math.inf)
    report = second.draws * second.epsilon
    differing = reports - math.ceil(reports / answers)
    return min(
        mechanism.epsilon + (reports - 1) * report,
        answers * second.rarest + differing * report,
    )
