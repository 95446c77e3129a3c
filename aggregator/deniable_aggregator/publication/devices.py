"""How many devices reported in one period: several days together hold reports, not devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from deniable_shared.periods import EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.answers.common import PeriodCounts
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.shares import CombinedShare, Share
    from deniable_aggregator.answers.words import VersionId
    from deniable_shared.periods import Every


class Devices(NamedTuple):
    """How many devices reported in a period.

    Attributes:
        average: over the periods with reports of these devices, or less.
        busiest: in the period with the most reports, or more.
    """

    average: float
    busiest: float


@dataclass(frozen=True)
class Periods:
    """The periods of a metric in which there are reports.

    Attributes:
        every: how often a device reports; of several versions, the shortest period.
        together: how many of these periods have reports, and how many the busiest has; of all
            versions.
        by_version: the same of each version by itself.
    """

    every: Every
    together: PeriodCounts
    by_version: Mapping[VersionId, PeriodCounts]

    def devices(self, row: Share | CombinedShare) -> Devices:
        """How many devices of the versions that know a value reported in one period.

        A device sends one report in a period, so that these are different devices. How many there
        were in all periods together nobody knows: reports have no sender.

        Args:
            row: the share of the value. Where it is of several versions but not of all, and these
                reported at the same time, the average may be too small; where they did not, the
                busiest period may be too large. Never the other way round.
        """
        together = self.together
        if row.versions is UNSET:
            return Devices(row.reports / together.count, together.busiest)
        known = [self.by_version[each] for each in row.versions]
        count = min(together.count, sum(each.count for each in known))
        busiest = min(together.busiest, sum(each.busiest for each in known))
        return Devices(row.reports / count, busiest)


def periods_of(answer: Estimate, every: Iterable[Every]) -> Periods:
    """The periods in which there are reports.

    Args:
        answer: of a server; with at least one report.
        every: how often devices report, of each version with reports.
    """
    together = answer.period_counts
    if together is UNSET:
        raise ValueError("period_counts must be in the answer")
    by_version = {
        each.version: each.period_counts
        for each in answer.versions
        if each.period_counts is not UNSET
    }
    return Periods(min(every, key=EVERY.index), together, by_version)
