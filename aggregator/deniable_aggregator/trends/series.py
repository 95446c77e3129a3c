"""A metric over time: every period is estimated by itself."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.dates import DayRange, calendar_period
from deniable_aggregator.estimation.estimator import ESTIMATORS, common_type, estimate
from deniable_aggregator.estimation.inputs import NO_LISTS, EstimateRequest
from deniable_aggregator.estimation.segments.segment_estimate import SegmentEstimate
from deniable_aggregator.estimation.shares.domains import default_items
from deniable_aggregator.estimation.shares.share_estimate import ShareEstimate
from deniable_aggregator.estimation.unanswerable import UnanswerableError
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL, alpha_per_interval
from deniable_aggregator.trends.alarm import ShapesInTurn
from deniable_aggregator.trends.series_result import Series
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from deniable_aggregator.answers.questions import SeriesQuery
    from deniable_aggregator.answers.words import IntervalKind, PeriodLength
    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.trends.series_result import Result
    from deniable_shared.spec import MetricType, Spec

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
    level: float = DEFAULT_LEVEL,
) -> Series:
    """Estimates a metric in one period after the other.

    A period is estimated from its own reports alone: nothing is smoothed over time. A value that a
    period does not know is left out of this period; it means the same in all periods.

    Args:
        collect: reads what was counted in some days.
        query: how to answer. Its days and values do not matter here.
        level: of the intervals, in (0, 1).

    Raises:
        ParameterError: if there is no report, no period knows a value, an option does not fit the
            type, or there would be too many numbers.
    """
    kind = common_type(versions)
    _check_query(query, kind)
    shapes = ShapesInTurn(len(periods)) if query.alarm else None
    requested = None
    if query.top is not None:
        whole = collect(DayRange(periods[0].since, periods[-1].until))
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
    options = EstimateQuery(
        margin=query.margin,
        postprocess=None if query.segment else "none",
        segment=query.segment,
        quantile=query.quantile or (_MEDIAN if kind == "distribution" else ()),
    )
    points: list[tuple[DayRange, Result | None]] = []
    if kind == "distribution":
        _check_distribution(interval, query.by, len(periods))
    at_once = (requested or _number_of_values(versions, items)) if interval == "all" else 1
    request = EstimateRequest(options, lists, level=1 - alpha / at_once, versions=versions)
    unknown = set(items or ())
    for days in periods:
        tallies = collect(days)
        if not tallies.tallies:
            points.append((days, None))
            continue
        if shapes is not None:
            shapes.add(days, tallies)
        result = estimate(tallies, request)
        if isinstance(result, ShareEstimate | SegmentEstimate):
            unknown -= set(result.items)
            if len(result.items) * len(periods) > MAX_ROWS:
                limit = f"so few that there are at most {MAX_ROWS:,} of them times periods"
                raise ParameterError("values", limit, len(result.items))
        points.append((days, result))
    _check_points(points, unknown, query)
    if shapes is not None and not shapes.tests:
        constraint = "at least 2 that are over and have reports of one version, for an alarm"
        reported = sum(result is not None for _, result in points)
        raise ParameterError("periods", constraint, reported)
    tested = None if shapes is None else tuple(shapes.tests)
    return Series(versions[0].name, query.by, interval, level, requested, tuple(points), tested)


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


def _check_points(
    points: Sequence[tuple[DayRange, Result | None]], unknown: Collection[str], query: SeriesQuery
) -> None:
    """Refuses a series in which there is nothing of what was asked for.

    Raises:
        ParameterError: if there is no report, or no period knows the segment or a value.
    """
    results = [result for _, result in points if result is not None]
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
    if not tallies.tallies:
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
