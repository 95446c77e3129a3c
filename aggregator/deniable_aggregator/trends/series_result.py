"""What was estimated of a series, period by period, and how it is answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import astuple, replace

from deniable_aggregator.answers.common import IntervalNote
from deniable_aggregator.answers.trends import Period
from deniable_aggregator.answers.trends import Series as SeriesAnswer
from deniable_aggregator.estimation.shares.share_estimate import FAKES, metric_versions
from deniable_aggregator.trends.alarm import alarm_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.common import Head, Notice
    from deniable_aggregator.answers.days import Days
    from deniable_aggregator.answers.words import IntervalKind, PeriodLength
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.estimation.numbers.distribution_estimate import DistributionEstimate
    from deniable_aggregator.estimation.numbers.means import MeanEstimate
    from deniable_aggregator.estimation.segments.segment_estimate import SegmentEstimate
    from deniable_aggregator.estimation.shares.share_estimate import ShareEstimate
    from deniable_aggregator.trends.alarm import ComparedShapes
    from deniable_shared.spec import Spec

    Result = ShareEstimate | SegmentEstimate | MeanEstimate | DistributionEstimate


@dataclass(frozen=True)
class Series:
    """Estimates of the same metric, period by period.

    Attributes:
        metric: the metric's name.
        by: how long a period is.
        interval: what intervals cover; "all" means all of the series at once.
        level: with which probability, in (0, 1).
        asked: out of how many items those shown were picked; None where they were not.
        points: for each period its days and, where there were reports, what was estimated; there
            are reports in one of them at least.
        shapes: the tests of each period against the one before; None where they were not asked for.
    """

    metric: str
    by: PeriodLength
    interval: IntervalKind
    level: float
    asked: int | None
    points: tuple[tuple[DayRange, Result | None], ...]
    shapes: tuple[ComparedShapes, ...] | None = None

    def answer(self, head: Head) -> SeriesAnswer:
        """The series as an answer.

        Args:
            head: where it comes from.
        """
        results = [result for _, result in self.points if result is not None]
        first = next((result for result in results if result.specs), results[0])
        specs: Counter[Spec] = Counter()
        for _, result in self.points:
            for spec, reports in () if result is None else result.specs:
                specs[spec] += reports
        return SeriesAnswer(
            *astuple(head.with_notices(self._notices())),
            metric=self.metric,
            kind=first.kind,
            by=self.by,
            reports=specs.total(),
            margin=first.margin,
            unit=first.unit,
            fakes=FAKES,
            interval=IntervalNote(kind=self.interval, level=self.level, meaning=self._meaning()),
            versions=metric_versions(specs.items()),
            values_asked=UNSET if self.asked is None else self.asked,
            alarm=UNSET if self.shapes is None else alarm_of(self.shapes, head.days),
            periods=[_period(days, result, head.days) for days, result in self.points],
        )

    def _notices(self) -> Iterator[Notice]:
        """Those of the periods: what several have to say is said once, for the first of them."""
        by_code: dict[str, list[tuple[DayRange, Notice]]] = {}
        for days, result in self.points:
            for notice in () if result is None else result.notices:
                by_code.setdefault(notice.code, []).append((days, notice))
        for said in by_code.values():
            days, notice = said[0]
            more = f" and in {len(said) - 1} more" if said[1:] else ""
            where = f"In the {self.by} of {days.since}{more}: "
            yield (
                notice
                if len(said) == len(self.points)
                else replace(notice, message=where + notice.message)
            )

    def _meaning(self) -> str:
        if self.interval == "all":
            return (
                f"with probability {self.level:g}, the intervals of all values in all periods "
                "cover at once (Bonferroni); where they allow no common value, something has "
                "changed"
            )
        if self.interval == "picked":
            return (
                f"of the intervals shown, of values picked out of {self.asked:,} because their "
                f"shares over all of these days are the largest, at most {1 - self.level:.2g} on "
                "average fail to cover (false coverage rate, Benjamini and Yekutieli). Whether two "
                "periods differ is not to be read from their overlap: ask for the change"
            )
        return (
            f"each interval, taken by itself, covers with probability {self.level:g}. Whether two "
            "periods differ is not to be read from their overlap: ask for the change"
        )


def _period(days: DayRange, result: Result | None, covered: Days) -> Period:
    """One period, with its marks."""
    period = (
        Period(since=days.since, until=days.until, reports=0)
        if result is None
        else result.period(days)
    )
    period.marks = covered.marks(days.since, days.until)
    if result is None and "missing" not in period.marks:
        period.marks.insert(0, "missing")  # outside of the days that the metric has reports of
    return period
