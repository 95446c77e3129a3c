"""A lower limit of the true epsilon, from real reports drawn with the system's randomness.

Enumeration proves an upper bound of the code that it follows. This looks from outside, as somebody
who only sees reports: it draws many of each of two values, learns on one half of them which event
tells the values apart best, and counts that event on the other half. From the counts follows what
epsilon must be at least, by Clopper and Pearson's exact limits. A lower limit above the stated
epsilon is a fault, whatever causes it; one below it proves nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable._audit.domains import two_items
from deniable._audit.events import best_event
from deniable._audit.limits import epsilon_at_least
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for

if TYPE_CHECKING:
    from deniable_shared.spec import Spec

WRONG: Final = 1e-6
"""How probable it is that a lower limit is above the true epsilon, at most."""

MIN_REPORTS: Final = 1_000
MAX_REPORTS: Final = 10**7
"""More reports would hardly raise the limit, and take days."""

SECRET_BYTES: Final = 32


class Sample(NamedTuple):
    """What sampling shows of a metric.

    Attributes:
        reports: how many were drawn of each value.
        lower: the true epsilon is at least this, but with probability `WRONG`; 0 or more.
        stated: the epsilon of one report, as the mechanism states it.
    """

    reports: int
    lower: float
    stated: float

    @property
    def exceeds(self) -> bool:
        """Whether the stated epsilon is surely exceeded."""
        return not self.lower <= self.stated


def sample(spec: Spec, reports: int, randomness: Randomness | None = None) -> Sample:
    """Draws reports of two values, and finds what they tell at least.

    Args:
        spec: the metric's.
        reports: how many to draw of each value; at least `MIN_REPORTS`. On a quarter of them
            outcomes are ranked, on the next the event is chosen, on the other half it is counted.
        randomness: the system's unless a test gives other.

    Raises:
        ValueError: if there are fewer reports.
    """
    if not reports >= MIN_REPORTS:
        raise ValueError(f"reports must be at least {MIN_REPORTS:,}, got {reports!r}")
    source = Randomness() if randomness is None else randomness
    randomizer = randomizer_for(spec, source)
    # Every report is another device's, as permanent answers are part of what one report may tell.
    keeps = spec.mechanism.epsilon_permanent is not None
    fixed = os.urandom(SECRET_BYTES)

    def draw(item: Any) -> list[bytes]:
        return [
            randomizer.report(item, source.take(SECRET_BYTES) if keeps else fixed)
            for _ in range(reports)
        ]

    one, other = map(draw, two_items(spec))
    quarter, delta = reports // 4, spec.mechanism.delta
    event = best_event(
        spec,
        (one[:quarter], other[:quarter]),
        (one[quarter : 2 * quarter], other[quarter : 2 * quarter]),
        delta,
        WRONG,
    )
    hits = [event.times_in(each[2 * quarter :]) for each in (one, other)]
    lower = epsilon_at_least(
        hits[event.value], hits[1 - event.value], reports - 2 * quarter, delta, WRONG
    )
    return Sample(reports, lower, spec.mechanism.epsilon)
