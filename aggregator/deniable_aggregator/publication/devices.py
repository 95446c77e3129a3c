"""How many devices reported in one period: several days together hold reports, not devices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from deniable_shared.periods import EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_shared.periods import Every

_MOST_VERSIONS: Final = 10
"""So many are tried together; of more only what is true of any of them is used."""


class Devices(NamedTuple):
    """How many devices reported in a period.

    Attributes:
        average: over the periods with reports of these devices, or less.
        busiest: in the period with the most reports, or more.
    """

    average: float
    busiest: float


@dataclass(frozen=True)
class VersionPeriods:
    """The reports of a version.

    Attributes:
        reports: how many there are.
        count: in how many of the version's periods.
        busiest: how many in the one with the most.
    """

    reports: int
    count: int
    busiest: int


@dataclass(frozen=True)
class Periods:
    """The periods of a metric in which there are reports.

    Attributes:
        every: how often a device reports; of several versions, the shortest period.
        count: how many of these periods have reports; at least 1.
        busiest: how many reports the one with the most has.
        versions: the reports of each version.
    """

    every: Every
    count: int
    busiest: int
    versions: tuple[VersionPeriods, ...]

    def devices(self, reports: int) -> Devices:
        """How many devices of the versions that know a value reported in one period.

        A device sends one report in a period, so that these are different devices. How many there
        were in all periods together nobody knows: reports have no sender.

        Args:
            reports: of the versions that know the value, in all periods. Which versions these are
                is not said, but their reports add up to this. Where several sets of versions do,
                or these reported at the same time, the average may be too small and the busiest
                period too large, never the other way round.
        """
        return _devices(self, reports)


@lru_cache(1_024)
def _devices(periods: Periods, reports: int) -> Devices:
    if reports == sum(each.reports for each in periods.versions):
        return Devices(reports / periods.count, periods.busiest)
    averages, most = [], []
    for known in _adding_up(periods.versions, reports):
        averages.append(reports / min(periods.count, sum(each.count for each in known)))
        most.append(min(periods.busiest, sum(each.busiest for each in known)))
    if not averages:
        return Devices(reports / periods.count, min(periods.busiest, reports))
    return Devices(min(averages), max(most))


def _adding_up(
    versions: Sequence[VersionPeriods], reports: int
) -> Iterator[tuple[VersionPeriods, ...]]:
    """All sets of versions with so many reports together."""
    if len(versions) > _MOST_VERSIONS:
        return
    for size in range(1, len(versions)):
        for some in combinations(versions, size):
            if sum(each.reports for each in some) == reports:
                yield some


def periods_of(answer: Estimate, every: Iterable[Every]) -> Periods:
    """The periods in which there are reports.

    Args:
        answer: of a server; with at least one report.
        every: how often devices report, of each version with reports.
    """
    together = answer.period_counts
    if together is UNSET:
        raise ValueError("period_counts must be in the answer")
    return Periods(
        every=min(every, key=EVERY.index),
        count=together.count,
        busiest=together.busiest,
        versions=tuple(
            VersionPeriods(each.reports, each.period_counts.count, each.period_counts.busiest)
            for each in answer.versions
            if each.period_counts
        ),
    )
