"""What recording one metric needs, computed once when it is first recorded."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Final

from deniable._storage.cost import charge_for
from deniable._storage.spool import MAX_AGE_DAYS, MAX_MEMOIZED_AGE_DAYS, MAX_REQUIRED_AGE_DAYS
from deniable.randomizers import randomizer_for
from deniable_shared.periods import SECONDS_PER_EPOCH, period

if TYPE_CHECKING:
    from deniable._randomness import Randomness
    from deniable_shared.periods import Every
    from deniable_shared.registry import Metric

MAX_MEMOIZED_DELAY_SECONDS: Final = 3_600
"""A memoised report waits no longer than this, because whoever gets the device's directory while it
waits can read the value in it. Overdue reports are spread over an hour, too."""

RELAY_HOLD_SECONDS: Final = 43_200.0
"""Reports for a relay are not sent sooner after their period: a device whose clock is some hours
ahead would send them before the relay's close, into the batch of the period before."""

RELAY_SPREAD_SECONDS: Final = 86_400.0
"""The longest random delay after that."""

_UNIX_DAY_ZERO: Final = 719_163  # date(1970, 1, 1).toordinal()
_PERIOD_DAYS: Final = {"day": 1, "week": 7, "month": 28}


_DELAY_STEPS: Final = 1 << 32
_DRAW_BYTES: Final = 8

NOTHING_REPORTED: Final = (-math.inf, 0)
"""What is known of a metric's reports before anything is, see `MetricPlan.reported`."""


def draw_delay(longest_seconds: float, randomness: Randomness) -> float:
    """A random delay in seconds, uniform between 0 and the longest."""
    return longest_seconds * randomness.word() / _DELAY_STEPS


def draw_rank() -> int:
    """A random rank for one value, in [0, 2^64): that of the least rank of a period is reported.

    Safe for threads, so that it can be drawn before the value is looked at.
    """
    return int.from_bytes(os.urandom(_DRAW_BYTES), "big")


class MetricPlan:
    """How one metric is recorded.

    Args:
        metric: the metric of the registry.
        randomness: for its reports.
        delay_seconds: the longest random delay that the application wants; `RELAY_SPREAD_SECONDS`
            for a relay, whatever it wants.
        relayed: whether its reports go through a relay: then all devices date them to the last day
            of a period, and send them in the same hours.

    Attributes:
        spec: the metric's.
        charge: what a report costs.
        randomizer: makes reports of values.
        description: the spec as JSON, with which reports are explained without a registry.
        memoized: whether the mechanism memoises its answers.
        max_age_days: how old a report may become before it is dropped.
        delay_seconds: the longest random delay of a report; at most a period of the metric, and
            `MAX_MEMOIZED_DELAY_SECONDS` if its mechanism memoises, unless it is for a relay.
        relayed: as given.
        waits: whether reports are dated to the end of their period, and leave after it.
        reports_absence: whether a period without a value is reported as well.
        picks: whether a later value of a period may take the place of the first.
        last_epoch: the last day on which the metric reports.
        reported: the latest period known to be reported, and the least rank of its values as far as
            this process knows, which is never below that of the stored report; 0 if that stays.
        refused_until: the last day on which the budget is known not to allow a report.
    """

    __slots__ = (
        "charge",
        "delay_seconds",
        "description",
        "last_epoch",
        "max_age_days",
        "memoized",
        "picks",
        "randomizer",
        "refused_until",
        "relayed",
        "reported",
        "reports_absence",
        "spec",
        "waits",
    )

    def __init__(
        self,
        metric: Metric,
        randomness: Randomness,
        delay_seconds: float,
        *,
        relayed: bool = False,
    ) -> None:
        self.spec = metric.spec
        self.charge = charge_for(metric.spec)
        self.randomizer = randomizer_for(metric.spec, randomness)
        self.description = json.dumps(metric.spec.canonical())
        days = _PERIOD_DAYS.get(metric.spec.every, math.inf)
        self.delay_seconds = min(delay_seconds, days * SECONDS_PER_EPOCH)
        self.memoized = metric.spec.mechanism.epsilon_permanent is not None
        self.max_age_days = MAX_AGE_DAYS
        if self.memoized:
            self.max_age_days = MAX_MEMOIZED_AGE_DAYS
            if not relayed:
                self.delay_seconds = min(self.delay_seconds, MAX_MEMOIZED_DELAY_SECONDS)
        self.relayed = relayed
        if relayed and metric.relay_required:
            self.max_age_days = MAX_REQUIRED_AGE_DAYS
        self.waits = relayed or metric.spec.waits_for_period_end
        self.reports_absence = metric.spec.reports_absence
        self.picks = metric.spec.picks
        expires = metric.expires
        self.last_epoch = math.inf if expires is None else expires.toordinal() - _UNIX_DAY_ZERO
        self.reported: tuple[float, int] = NOTHING_REPORTED
        self.refused_until: float = -math.inf

    def period_end(self, day: int) -> tuple[int, float]:
        """The end of a period, to which reports are dated that wait for it.

        Args:
            day: a day in the period. What reports only once has the day's week as its period.

        Returns:
            The last day of the period, or of the metric if that is earlier; and from when on the
            report may leave, in seconds since 1970-01-01.
        """
        every: Every = "week" if self.spec.every == "once" else self.spec.every
        last = day
        while period(every, last + 1) == period(every, day):
            last += 1
        over = float((last + 1) * SECONDS_PER_EPOCH)
        since = over + RELAY_HOLD_SECONDS if self.relayed else over
        return int(min(last, self.last_epoch)), since
