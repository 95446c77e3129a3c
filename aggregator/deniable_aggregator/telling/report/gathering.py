"""Asks all questions of a report; what is not answered is part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from deniable_aggregator.answers.common import versions_by_name, whole_metric
from deniable_aggregator.answers.dates import DayRange, calendar_period, same_weekdays_before
from deniable_aggregator.answers.discoveries import DiscoveryQuery
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    DaysQuery,
    EstimateQuery,
    SeriesQuery,
)
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.explaining import EXPLAINED, ask_change
from deniable_aggregator.asking.questions import (
    CHANGE,
    ESTIMATE,
    HEALTH_OVERVIEW,
    METRICS,
    SERIES,
    Question,
    Source,
)
from deniable_aggregator.telling.clear_changes import at_report_level
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.answers.administration import Metric
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.health_overview import HealthOverview, MetricHealth
    from deniable_aggregator.answers.words import PeriodLength

    OnProgress = Callable[[int, int, str], None]
    """Told how many questions are answered, of how many, and which one is asked."""

TREND_PERIODS: Final = 8
"""So many periods of about the report's length are drawn over time."""

DAYS_OF: Final[dict[PeriodLength, int]] = {"day": 1, "week": 7, "month": 28}
"""The shortest report whose trend goes by so long periods."""

EXPECTED: Final = frozenset({"days_rolled_up", "estimate_refused", "no_reports"})
"""Problems that say something about the reports: asking again would not help."""

NOT_LISTED: Final = (
    "strings are counted only for values that somebody lists; ask deniable estimate with "
    '--candidates, or declare a metric with type = "string" and discover = true'
)

Answered = TypeVar("Answered")
Query = TypeVar("Query")


@dataclass(frozen=True)
class Failure:
    """A question that got no answer.

    Attributes:
        metric: what it was about.
        question: which one, such as "estimate".
        message: why.
        expected: whether the reports cannot answer it, and asking again would not help.
    """

    metric: str
    question: str
    message: str
    expected: bool


@dataclass
class MetricAnswers:
    """What was answered about one metric.

    Attributes:
        metric: its newest version, with the days and reports of all.
        health: whether its reports look like those of devices; None if that is not known.
        estimate: over the days of the report.
        change: against the days before.
        series: over time.
        found: strings that nobody listed.
        failures: what was not answered.
        not_asked: why it was not estimated, or empty.
    """

    metric: Metric
    health: MetricHealth | None = None
    estimate: Answer | None = None
    change: Answer | None = None
    series: Answer | None = None
    found: Answer | None = None
    failures: list[Failure] = field(default_factory=list)
    not_asked: str = ""


@dataclass(frozen=True)
class Report:
    """All answers of a report.

    Attributes:
        application: whose metrics they are.
        days: the days that it is about.
        before: the days that these are compared with; None if they are not.
        made: the server's day on which it was made.
        overview: the health of all metrics; None if it was not answered.
        metrics: one entry per metric, by name.
        failures: what was not answered, although the reports might.
        without_key: keys whose reports were left out, as asked.
    """

    application: str
    days: DayRange
    before: DayRange | None
    made: date
    overview: HealthOverview | None
    metrics: list[MetricAnswers]
    failures: list[Failure]
    without_key: tuple[str, ...] = ()

    @property
    def suspicious(self) -> list[str]:
        """Metrics some of whose reports fail a check."""
        return [
            each.metric.name
            for each in self.metrics
            if each.health is not None and each.health.verdict == "suspicious"
        ]


def gather(
    source: Source,
    days: DayRange,
    *,
    metrics: Sequence[str] = (),
    compare: bool = True,
    without_key: Sequence[str] = (),
    on_progress: OnProgress | None = None,
) -> Report:
    """Asks about all metrics, one question at a time.

    Args:
        source: what is asked.
        days: the days of the report.
        metrics: only these; none for all.
        compare: whether they are compared with as many days before, on the same weekdays.
        without_key: keys whose reports are left out.
        on_progress: told how far it is.

    Raises:
        AskingError: if not even the metrics are answered.
        ParameterError: if one of the metrics is not registered.
    """
    registered = source.ask(METRICS)
    versions = versions_by_name(registered.metrics)
    for name in metrics:
        if name not in versions:
            hint = did_you_mean(name, versions).strip()
            constraint = f"a registered one ({hint})" if hint else "a registered one"
            raise ParameterError("metric", constraint, name)
    chosen = [whole_metric(versions[name]) for name in sorted(set(metrics) or versions)]
    before = same_weekdays_before(days) if compare else None
    asking = _Asking(source, days, before, tuple(without_key), on_progress, chosen)
    answers = [asking.ask(metric) for metric in chosen]
    overview, failed = asking.overview()
    by_name = {} if overview is None else {each.metric: each for each in overview.metrics}
    for each in answers:
        each.health = by_name.get(each.metric.name)
    changes = at_report_level([each.change for each in answers if each.change is not None])
    for each in answers:
        if each.change is not None:
            each.change = changes[each.metric.name]
    failures = [one for each in answers for one in each.failures if not one.expected]
    return Report(
        application=registered.application,
        days=days,
        before=before,
        made=days.until if overview is None else overview.today,
        overview=overview,
        metrics=answers,
        failures=[*failed, *failures],
        without_key=tuple(without_key),
    )


class _Asking:
    """Asks the questions of a report, and counts them."""

    def __init__(
        self,
        source: Source,
        days: DayRange,
        before: DayRange | None,
        without_key: tuple[str, ...],
        on_progress: OnProgress | None,
        metrics: Sequence[Metric],
    ) -> None:
        self._source, self._days, self._before = source, days, before
        self._without_key, self._on_progress = without_key, on_progress
        self._done = 0
        self._total = 1 + sum(
            (1 if each.discovers else 0 if each.candidates else 2 + (before is not None))
            for each in metrics
        )

    def ask(self, metric: Metric) -> MetricAnswers:
        """Everything about one metric."""
        source, days, name = self._source, self._days, metric.name
        answers = MetricAnswers(metric)
        if metric.discovers:
            query = DiscoveryQuery(
                since=days.since, until=days.until, without_key=self._without_key
            )
            answers.found = self._try(answers, "discover", lambda: source.discover(name, query))
            return answers
        if metric.candidates:
            answers.not_asked = NOT_LISTED
            return answers
        estimate = EstimateQuery(since=days.since, until=days.until, without_key=self._without_key)
        answers.estimate = self._ask(answers, ESTIMATE.of(name), estimate)
        if self._before is not None:
            change = ChangeQuery(
                before=f"{self._before.since}..{self._before.until}",
                after=f"{days.since}..{days.until}",
                without_key=self._without_key,
                why="key" if metric.type in EXPLAINED else None,
            )
            answers.change = self._try(
                answers, "change", lambda: ask_change(source, CHANGE.of(name), change)
            )
        series = _trend(days, metric.first_day or days.since, self._without_key)
        answers.series = self._ask(answers, SERIES.of(name), series)
        return answers

    def overview(self) -> tuple[HealthOverview | None, list[Failure]]:
        """The health of all metrics, or why it is not known."""
        query = DaysQuery(
            since=self._days.since, until=self._days.until, without_key=self._without_key
        )
        self._tell("all metrics: health")
        try:
            found = self._source.ask(HEALTH_OVERVIEW, query)
        except AskingError as error:
            return None, [Failure("all metrics", "health", str(error), expected=False)]
        self._done += 1
        return found, []

    def _ask(
        self, answers: MetricAnswers, question: Question[Query, Answered], query: Query
    ) -> Answered | None:
        return self._try(answers, question.name, lambda: self._source.ask(question, query))

    def _try(
        self, answers: MetricAnswers, question: str, ask: Callable[[], Answered]
    ) -> Answered | None:
        self._tell(f"{answers.metric.name}: {question}")
        self._done += 1
        try:
            return ask()
        except AskingError as error:
            expected = error.code in EXPECTED
            failure = Failure(answers.metric.name, question, str(error), expected)
            answers.failures.append(failure)
            return None

    def _tell(self, label: str) -> None:
        if self._on_progress is not None:
            self._on_progress(self._done, self._total, label)


def _trend(days: DayRange, first: date, without_key: tuple[str, ...]) -> SeriesQuery:
    """The question about a metric over `TREND_PERIODS` times the days of the report, at most.

    Args:
        days: of the report.
        first: the first day of the metric's reports.
        without_key: keys whose reports are left out.
    """
    length = (days.until - days.since).days + 1
    by: PeriodLength = "day"
    for each, least in DAYS_OF.items():
        by = each if length >= least else by
    since = days.until - timedelta(length * TREND_PERIODS - 1)
    since = min(max(since, first), days.since)
    since = calendar_period(by, since).since
    return SeriesQuery(since=since, until=days.until, by=by, without_key=without_key)
