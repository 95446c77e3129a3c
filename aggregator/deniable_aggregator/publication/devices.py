"""How many devices reported in one period: several days together hold reports, not devices."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from deniable_aggregator.dates import epoch_of
from deniable_shared.periods import EVERY, period

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from deniable_aggregator.answers.days import Days
    from deniable_shared.periods import Every


@dataclass(frozen=True)
class Periods:
    """The periods of a metric that some days hold.

    Attributes:
        every: how often a device reports; of several versions, the shortest period.
        count: how many of these periods have days with reports; at least 1.
    """

    every: Every
    count: int

    def devices(self, reports: int) -> float:
        """How many devices reported in one period, on average over the periods.

        A device sends one report in a period, so that these are different devices. How many there
        were in all periods together nobody knows: reports have no sender.

        Args:
            reports: of all periods.
        """
        return reports / self.count


def periods_of(days: Days, every: Iterable[Every]) -> Periods:
    """The periods in which there are reports.

    Args:
        days: those of an answer.
        every: of each version of the metric that has reports.
    """
    shortest = min(every, key=EVERY.index)
    reported = {period(shortest, epoch_of(day)) for day in _reported(days)}
    return Periods(shortest, max(1, len(reported)))


def _reported(days: Days) -> Iterator[date]:
    missing = {
        run.since + timedelta(number) for run in days.missing for number in range(run.length)
    }
    for number in range(days.covered):
        day = days.since + timedelta(number)
        if day not in missing:
            yield day
