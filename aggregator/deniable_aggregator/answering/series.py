"""A metric over time: every period is estimated by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from deniable_aggregator.answering.alarm import (
    ComparedShapes,
    ShapesInTurn,
    alarm_note,
    checks_of_shapes,
)
from deniable_aggregator.answering.comparability import (
    Basis,
    choose_of_period,
    followed_versions,
)
from deniable_aggregator.answering.estimation.distributions import DistributionEstimate
from deniable_aggregator.answering.estimation.domains import default_items
from deniable_aggregator.answering.estimation.estimator import (
    ESTIMATORS,
    common_kind,
    common_type,
    estimate,
)
from deniable_aggregator.answering.estimation.inputs import (
    NO_LISTS,
    CollectedTallies,
    EstimateRequest,
    UnanswerableError,
)
from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
from deniable_aggregator.answering.estimation.shares import ShareEstimate, metric_versions
from deniable_aggregator.answering.kept_periods import FoundPeriod
from deniable_aggregator.answers.answer import Check, Head, Period
from deniable_aggregator.answers.common import Days, IntervalNote, Notice
from deniable_aggregator.answers.dates import DayRange, calendar_period
from deniable_aggregator.answers.questions import EstimateQuery, SeriesQuery, ValueLists, ends_of
from deniable_aggregator.counting.statistics.intervals import DEFAULT_LEVEL, alpha_per_interval
from deniable_aggregator.counting.yield_points import yield_point
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from deniable_aggregator.answering.kept_periods import KeptSeries, Result
    from deniable_aggregator.answers.answer import Kind
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.words import IntervalKind, PeriodLength
    from deniable_shared.spec import MetricType, Spec


class Point(NamedTuple):
    """One period of a series.

    Attributes:
        days: of the period.
        result: its estimate; None where there is no report that fits.
        left_out: how many reports came that do not fit.
        unlike: whether its numbers cannot be compared with those of the period before.
    """

    days: DayRange
    result: Result | None
    left_out: int = 0
    unlike: bool = False


@dataclass(frozen=True)
class Series:
    """Estimates of the same metric, period by period.

    Attributes:
        by: how long a period is.
        interval: what intervals cover; "all" means all of the series at once.
        level: with which probability, in (0, 1).
        asked: out of how many items those shown were picked; None where they were not.
        points: the periods, of which at least one has an estimate.
        kind: what is followed.
        shapes: the tests of each period against the one before; None where they were not asked for.
    """

    metric: str
    by: PeriodLength
    interval: IntervalKind
    level: float
    asked: int | None
    points: tuple[Point, ...]
    kind: Kind
    shapes: tuple[ComparedShapes, ...] | None = None

    def head(self, head: Head) -> Head:
        """The head of an answer with what is to be said of this series.

        Args:
            head: where the answer comes from; it has the days that are covered.
        """
        results = [point.result for point in self.points if point.result is not None]
        followed = [result for result in results if result.kind == self.kind]
        first = next((result for result in followed if result.specs), followed[0])
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
            left_out_reports=sum(point.left_out for point in self.points),
            interval=IntervalNote(kind=self.interval, level=self.level, meaning=self._meaning()),
            detection=None,
            label=None,
            meanings=meanings,
            closeness=None,
            versions=metric_versions(specs.items()),
            values_asked=self.asked,
            alarm=None if self.shapes is None else alarm_note(self.checks(covered)),
            periods=[_period(point, covered) for point in self.points],
        )

    def numbers(self) -> list[Measured]:
        """What was estimated in each period."""
        return [
            number
            for place, point in enumerate(self.points)
            for number in _numbers(point.result, place)
            if point.result is None or point.result.kind == self.kind or number.measure == "mean"
        ]

    def checks(self, covered: Days) -> list[Check]:
        """The tests of an alarm; none where it was not asked for.

        Args:
            covered: what is known of the days of the series.
        """
        places = {point.days: place for place, point in enumerate(self.points)}
        return checks_of_shapes(self.shapes or (), places, covered)

    @property
    def notices(self) -> Iterator[Notice]:
        """Those of the periods: what several have to say is said once, for the first of them."""
        by_code: dict[str, list[tuple[DayRange, Notice]]] = {}
        for days, result, *_ in self.points:
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
    yield_point()
    if isinstance(result, DistributionEstimate):
        return result.placed(place)
    numbers = result.numbers(place)
    if isinstance(result, ShareEstimate):
        return [number for number in numbers if number.measure in ("combined", "rest", "share")]
    return numbers


def _period(point: Point, covered: Days) -> Period:
    """One period, with its marks."""
    days, result = point.days, point.result
    marks = covered.marks(days.since, days.until)
    if point.left_out and "left_out" not in marks:
        marks.append("left_out")
    if result is None and not {"missing", "left_out", "none_due"} & set(marks):
        marks.insert(0, "missing")  # outside of the days that the metric has reports of
    if point.unlike:
        marks.append("unlike")
    return Period(
        since=days.since,
        until=days.until,
        reports=0 if result is None else result.reports,
        left_out_reports=point.left_out,
        marks=marks,
    )


MAX_PERIODS: Final = 400
MAX_HISTOGRAMS: Final = 100
"""Of a distribution: a histogram with its intervals takes long."""

MAX_ROWS: Final = 100_000
"""Values times periods of one answer."""

_MEDIAN: Final = (0.5,)


def calendar_periods(by: PeriodLength, since: date, until: date) -> Iterator[DayRange]:
    """The calendar periods from one day to another, the first and the last cut to these days.

    Args:
        by: weeks begin on Monday.
        until: the last day, not before the first.
    """
    start = since
    while start <= until:
        end = min(calendar_period(by, start).until, until)
        yield DayRange(start, end)
        start = end + timedelta(1)


def series(
    collect: Callable[[DayRange], CollectedTallies],
    versions: Sequence[Spec],
    periods: Sequence[DayRange],
    query: SeriesQuery,
    lists: ValueLists = NO_LISTS,
    *,
    newest_first: Sequence[Spec] = (),
    level: float = DEFAULT_LEVEL,
    kept: KeptSeries | None = None,
) -> Series:
    """Estimates a metric in one period after the other.

    A period is estimated from its own reports alone: nothing is smoothed over time. A value that a
    period does not know is left out of this period; it means the same in all periods.

    Args:
        collect: reads what was counted in some days.
        versions: with reports in any of the periods.
        newest_first: all versions.
        query: how to answer. Its days and values do not matter here.
        level: of the intervals, in (0, 1).
        kept: what was found of periods before; None to keep nothing.

    Raises:
        ParameterError: if there is no report, no period knows a value, an option does not fit the
            type, or there would be too many numbers.
    """
    newest_first = newest_first or versions[::-1]
    kind, followed = common_kind(versions), versions
    if kind is None:
        whole = collect(DayRange(periods[0].since, periods[-1].until))
        if not whole.sums:
            raise ParameterError("reports", "at least 1", 0)
        kind, followed = followed_versions(whole, newest_first)
    versions = [spec for spec in followed if spec.value_type == kind]
    _check_query(query, kind)
    shapes = ShapesInTurn(len(periods), query.by, collect) if query.alarm else None
    requested = None
    if query.top is not None:
        whole = collect(DayRange(periods[0].since, periods[-1].until))
        whole = whole.only({spec.digest for spec in versions})
        largest, requested = _largest_values(whole, lists, query.top)
        lists = replace(lists, candidates=largest)
    elif not lists.candidates:
        lists = replace(lists, candidates=lists.combined)
    items = lists.candidates or None
    interval = query.interval or ("one" if query.top is None else "picked")
    alpha = 1 - level
    if interval == "all":
        alpha /= len(periods)
    elif requested is not None:
        alpha = alpha_per_interval(interval, level=level, asked=requested, shown=len(items or ()))
    above, below = ends_of(query)
    options = EstimateQuery(
        above=above,
        below=below,
        margin=query.margin,
        postprocess=None if query.segment else "none",
        segment=query.segment,
        quantile=query.quantile or (_MEDIAN if kind == "distribution" else ()),
    )
    points: list[Point] = []
    before: Basis | None = None
    if kind == "distribution":
        _check_distribution(interval, query.by, len(periods))
    at_once = (requested or _number_of_values(versions, items)) if interval == "all" else 1
    request = EstimateRequest(options, lists, level=1 - alpha / at_once, versions=versions)
    of_means = EstimateRequest(EstimateQuery(postprocess="none"), level=request.level)
    unknown = set(items or ())

    def find(days: DayRange) -> FoundPeriod:
        tallies = collect(days)
        fitting = choose_of_period(tallies, followed, newest_first)
        if fitting is None:
            return FoundPeriod(None, tallies.reports, None)
        counted, basis = fitting
        if shapes is not None:
            shapes.add(days, counted)
        result = estimate(counted, request if basis.type == kind else of_means)
        return FoundPeriod(result, tallies.reports - result.reports, basis)

    find_or_recall: Callable[[DayRange], FoundPeriod] = find
    if shapes is None and kept is not None:
        asked = request, of_means, tuple(followed), tuple(newest_first)
        find_or_recall = kept.finding(find, asked)
    for days in periods:
        result, left_out, basis = find_or_recall(days)
        if isinstance(result, ShareEstimate | SegmentEstimate):
            unknown -= set(result.items)
            if len(result.items) * len(periods) > MAX_ROWS:
                limit = f"so few that there are at most {MAX_ROWS:,} of them times periods"
                raise ParameterError("values", limit, len(result.items))
        unlike = before is not None and basis is not None and basis != before
        points.append(Point(days, result, left_out, unlike))
        before = before if basis is None else basis
    _check_points(points, unknown, query)
    if shapes is not None and not shapes.tests:
        constraint = (
            "at least 2 that are over and have reports of one version, of the same weekday where "
            "days are tested, for an alarm"
        )
        with_reports = sum(point.result is not None for point in points)
        raise ParameterError("periods", constraint, with_reports)
    tested = None if shapes is None else tuple(shapes.tests)
    shown: Kind = "distribution" if kind == "distribution" else "shares"
    return Series(
        versions[0].name,
        query.by,
        interval,
        level,
        requested,
        tuple(points),
        "mean" if kind == "number" else shown,
        tested,
    )


def _check_query(query: SeriesQuery, kind: MetricType) -> None:
    """Refuses options that do not go together.

    Raises:
        ParameterError: naming the option.
    """
    if query.interval == "picked" and query.top is None:
        raise ParameterError("interval", "one or all where top is left out", query.interval)
    if query.segment is not None and query.top is not None:
        raise ParameterError("top", "left out within a segment", query.top)
    if query.segment is not None and query.alarm:
        raise ParameterError("alarm", "left out within a segment", query.alarm)
    if query.alarm and kind == "attributes":
        reason = "alarm does not work for a metric of attributes"
        raise UnanswerableError("alarm", query.alarm, reason)


def _check_points(points: Sequence[Point], unknown: Collection[str], query: SeriesQuery) -> None:
    """Refuses a series in which there is nothing of what was asked for.

    Raises:
        ParameterError: if there is no report, or no period knows the segment or a value.
    """
    results = [point.result for point in points if point.result is not None]
    if not results:
        raise ParameterError("reports", "at least 1", 0)
    if query.segment is not None and not any(result.specs for result in results):
        raise ParameterError("segment", "one that some version has", query.segment)
    if unknown:
        raise ParameterError("value", "one that some period has", min(unknown))


def _largest_values(
    tallies: CollectedTallies, lists: ValueLists, top: int
) -> tuple[tuple[str, ...], int]:
    """The values with the largest shares, and out of how many they were picked.

    Raises:
        ParameterError: if there is no report, or these are not reports of values.
    """
    if not tallies.sums:
        raise ParameterError("reports", "at least 1", 0)
    query = EstimateQuery(top=top, postprocess="none")
    request = EstimateRequest(query, ValueLists(candidates=lists.candidates))
    result = ESTIMATORS[common_type(tallies.specs)].estimate(tallies, request)
    assert isinstance(result, ShareEstimate)  # other estimators refuse `top`
    return result.items, result.asked


def _check_distribution(interval: IntervalKind, by: PeriodLength, periods: int) -> None:
    """Refuses what a series of histograms cannot be asked.

    Raises:
        ParameterError: naming the option.
    """
    if interval == "all":
        raise ParameterError("interval", "one for a distribution", interval)
    if periods > MAX_HISTOGRAMS:
        limit = f"such that there are at most {MAX_HISTOGRAMS} periods of a distribution"
        raise ParameterError("by", limit, by)


def _number_of_values(versions: Sequence[Spec], items: Sequence[str] | None) -> int:
    """How many estimates a period has, at most."""
    return max(len(items if items is not None else default_items(versions) or ()), 1)
