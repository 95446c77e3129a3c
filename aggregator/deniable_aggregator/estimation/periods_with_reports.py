"""In how many periods the reports of an estimate came, and how many in the busiest one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from deniable_aggregator.answers.common import PeriodCounts
from deniable_shared.periods import EVERY, period

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_shared.periods import Every
    from deniable_shared.spec import Spec

    Days = Mapping[int, int]
    """Number of reports by day."""


def say_periods(answer: Estimate, specs: Iterable[Spec], by_day: Mapping[bytes, Days]) -> None:
    """Adds to an estimate in how many periods its reports came: of each version, and of all.

    Args:
        answer: the estimate.
        specs: the versions of the metric.
        by_day: how many reports each has of each day, by digest.
    """
    registered = {spec.digest.hex(): spec for spec in specs}
    counted = [registered[each.version] for each in answer.versions]
    if not counted:
        return
    for version, spec in zip(answer.versions, counted, strict=True):
        version.period_counts = _counts(spec.every, [by_day[spec.digest]])
    shortest = min((spec.every for spec in counted), key=EVERY.index)
    answer.period_counts = _counts(shortest, [by_day[spec.digest] for spec in counted])


def _counts(every: Every, days: Iterable[Days]) -> PeriodCounts:
    found: Counter[int] = Counter()
    for each in days:
        for epoch, reports in each.items():
            found[period(every, epoch)] += reports
    filled = [reports for reports in found.values() if reports]
    return PeriodCounts(len(filled), max(filled, default=0))
