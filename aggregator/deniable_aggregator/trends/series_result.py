"""What was estimated of a series, period by period, and how it is answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from deniable_aggregator.answers.answer import Period
from deniable_aggregator.answers.common import IntervalNote
from deniable_aggregator.estimation.numbers.distribution_estimate import DistributionEstimate
from deniable_aggregator.estimation.shares.share_estimate import ShareEstimate, metric_versions
from deniable_aggregator.trends.alarm import alarm_note, checks_of_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.answer import Check, Head
    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.answers.days import Days
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.words import IntervalKind, PeriodLength
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.estimation.numbers.means import MeanEstimate
    from deniable_aggregator.estimation.segments.segment_estimate import SegmentEstimate
    from deniable_aggregator.trends.alarm import ComparedShapes
    from deniable_shared.spec import Spec

    Result = ShareEstimate | SegmentEstimate | MeanEstimate | DistributionEstimate


@dataclass(frozen=True)
class Series:
    """Estimates of the same metric, period by period.

    Attributes:
        by: how long a period is.
        interval: what intervals cover; "all" means all of the series at once.
        level: with which probability, in (0, 1).
        asked: out of how many items those shown were picked; None where they were not.
        points: the days and the estimate of each period; None without reports. At least one period
            has reports.
        shapes: the tests of each period against the one before; None where they were not asked for.
    """

    metric: str
    by: PeriodLength
    interval: IntervalKind
    level: float
    asked: int | None
    points: tuple[tuple[DayRange, Result | None], ...]
    shapes: tuple[ComparedShapes, ...] | None = None

    def head(self, head: Head) -> Head:
        """The head of an answer with what is to be said of this series.

        Args:
            head: where the answer comes from; it has the days that are covered.
        """
        results = [result for _, result in self.points if result is not None]
        first = next((result for result in results if result.specs), results[0])
        specs: Counter[Spec] = Counter()
        meanings: dict[str, str] = {}
        for result in results:
            specs.update(dict(result.specs))
            if isinstance(result, ShareEstimate):
                meanings |= result.meanings_together()
        covered = head.days
        assert covered is not None
        return replace(
            first.head(head),
            metric=self.metric,
            kind=first.kind,
            by=self.by,
            reports=specs.total(),
            left_out_reports=0,
            interval=IntervalNote(kind=self.interval, level=self.level, meaning=self._meaning()),
            detection=None,
            label=None,
            meanings=meanings,
            closeness=None,
            versions=metric_versions(specs.items()),
            values_asked=self.asked,
            alarm=None if self.shapes is None else alarm_note(self.checks(covered)),
            periods=[_period(days, result, covered) for days, result in self.points],
        )

    def numbers(self) -> list[Measured]:
        """What was estimated in each period."""
        return [
            number
            for place, (_, result) in enumerate(self.points)
            for number in _numbers(result, place)
        ]

    def checks(self, covered: Days) -> list[Check]:
        """The tests of an alarm; none where it was not asked for.

        Args:
            covered: what is known of the days of the series.
        """
        places = {days: place for place, (days, _) in enumerate(self.points)}
        return checks_of_shapes(self.shapes or (), places, covered)

    @property
    def notices(self) -> Iterator[Notice]:
        """Those of the periods: what several have to say is said once, for the first of them."""
        by_code: dict[str, list[tuple[DayRange, Notice]]] = {}
        for days, result in self.points:
            for notice in () if result is None else result.notices:
                by_code.setdefault(notice.code, []).append((days, notice))
        for occurrences in by_code.values():
            days, notice = occurrences[0]
            more = f" and in {len(occurrences) - 1} more" if occurrences[1:] else ""
            where = f"In the {self.by} of {days.since}{more}: "
            yield (
                notice
                if len(occurrences) == len(self.points)
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


def _numbers(result: Result | None, place: int) -> list[Measured]:
    """What is followed over time: of a distribution no bins, of shares no segments and no lifts."""
    if result is None:
        return []
    if isinstance(result, DistributionEstimate):
        return result.placed(place)
    numbers = result.numbers(place)
    if isinstance(result, ShareEstimate):
        return [number for number in numbers if number.measure in ("combined", "rest", "share")]
    return numbers


def _period(days: DayRange, result: Result | None, covered: Days) -> Period:
    """One period, with its marks."""
    marks = covered.marks(days.since, days.until)
    if result is None and "missing" not in marks:
        marks.insert(0, "missing")  # outside of the days that the metric has reports of
    reports = 0 if result is None else result.reports
    return Period(since=days.since, until=days.until, reports=reports, marks=marks)
