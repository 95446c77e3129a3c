"""In how many periods the reports of an estimate came, and how many in the busiest one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from deniable_aggregator.answers.common import PeriodCounts
from deniable_aggregator.dates import day_of
from deniable_shared.periods import EVERY, period

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.answers.answer import Head
    from deniable_shared.periods import Every
    from deniable_shared.spec import Spec

    Days = Mapping[int, int]
    """Number of reports by day."""


def say_periods(head: Head, specs: Iterable[Spec], by_day: Mapping[bytes, Days]) -> None:
    """Adds in how many periods reports came, and on which days: of each version, and of all.

    Args:
        by_day: how many reports each has of each day, by digest.
    """
    registered = {spec.digest.hex(): spec for spec in specs}
    counted = [registered[counted_version.version] for counted_version in head.versions]
    if not counted:
        return
    for version, spec in zip(head.versions, counted, strict=True):
        days = by_day[spec.digest]
        version.period_counts = _counts(spec.every, [days])
        version.first_day, version.last_day = day_of(min(days)), day_of(max(days))
    shortest = min((spec.every for spec in counted), key=EVERY.index)
    head.period_counts = _counts(shortest, [by_day[spec.digest] for spec in counted])


def _counts(every: Every, days: Iterable[Days]) -> PeriodCounts:
    counts: Counter[int] = Counter()
    for period_days in days:
        for epoch, reports in period_days.items():
            counts[period(every, epoch)] += reports
    filled = [reports for reports in counts.values() if reports]
    return PeriodCounts(len(filled), max(filled, default=0))
