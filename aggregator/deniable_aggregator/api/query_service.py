"""Answers analysts: registered metrics, estimates, series, changes and health."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from deniable_aggregator.annotations import AnnotationKeeper
from deniable_aggregator.answers.administration import Metrics
from deniable_aggregator.answers.answer import Answer, Asked, ChecksNote
from deniable_aggregator.answers.common import ordered_notices
from deniable_aggregator.answers.questions import ChangeQuery, given_parameters
from deniable_aggregator.api.asked_versions import of_newest_type
from deniable_aggregator.api.conditional import validity_of
from deniable_aggregator.api.metric_details import metric_details
from deniable_aggregator.api.metric_list import list_metrics
from deniable_aggregator.api.metric_reader import MetricReader, require_values
from deniable_aggregator.api.overview_service import HealthOverviews
from deniable_aggregator.api.parameters import estimate_refused
from deniable_aggregator.api.review import HEALTH_CELLS, Reviewer, pending_notices
from deniable_aggregator.api.steady_reading import reads_steadily
from deniable_aggregator.dates import FIRST_DAY, LAST_DAY, DayRange, day_of
from deniable_aggregator.estimation.each_version import each_version
from deniable_aggregator.estimation.estimator import estimate
from deniable_aggregator.estimation.inputs import NO_LISTS, ChangeRequest, EstimateRequest
from deniable_aggregator.estimation.periods_with_reports import say_periods
from deniable_aggregator.estimation.shares.share_estimate import ShareEstimate
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.integrity import notices, report
from deniable_aggregator.integrity.examiner import FAMILY_P
from deniable_aggregator.integrity.slice_medians import MEANING, SliceMedians
from deniable_aggregator.statistics.checks import MEANINGS
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL
from deniable_aggregator.trends.change import change
from deniable_aggregator.trends.series import MAX_PERIODS, calendar_periods, series
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.answers.health_overview import HealthOverview
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.questions import (
        DaysQuery,
        EstimateQuery,
        SeriesQuery,
        ValueLists,
    )
    from deniable_aggregator.api.conditional import Validity
    from deniable_aggregator.api.review import Review
    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.store import Store


class QueryService:
    """Answers questions about one store.

    Args:
        store: the store.
        catalogue: the registered metrics.
        settings: limits.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        *,
        store: Store,
        catalogue: MetricCatalog,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._settings = settings
        self._clock = clock
        self._reader = MetricReader(store, catalogue)
        self._reviewer = Reviewer(store, settings.accept_days, clock)
        self._medians = SliceMedians()
        self._annotations = AnnotationKeeper(store)
        self._overviews = HealthOverviews(store, catalogue, self._reader, self._reviewer, clock)

    def metrics(self, application: str) -> Metrics:
        """The registered metrics of an application, with what was counted of each."""
        entries = self._catalogue.for_application(application)
        return Metrics(application, list_metrics(self._store, entries))

    def metric(self, application: str, name: str) -> MetricDetails:
        """One registered metric, with all of its versions.

        Args:
            application: whose metric it is.
            name: of the metric.

        Raises:
            ProblemError: if it is unknown.
        """
        return metric_details(self._store, self._reader.asked_metric(application, name).entries)

    def rolled_stamp(self, application: str, name: str) -> object:
        """What changes whenever days of a metric become one."""
        return self._reader.rolled_stamp(application, name)

    def validity(
        self,
        application: str,
        name: str,
        query: EstimateQuery | SeriesQuery | ChangeQuery | DaysQuery,
        lists: ValueLists = NO_LISTS,
    ) -> Validity:
        """How long the answer to a question stays right.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            ProblemError: if it is unknown.
        """
        version: str | None = getattr(query, "version", None)  # health has none
        asked = self._reader.asked_metric(application, name, query.without_key, version)
        return validity_of(
            self._store,
            asked,
            query.periods() if isinstance(query, ChangeQuery) else [_days(query)],
            (query, lists),
            today=epoch_at(self._clock()),
            accept_days=self._settings.accept_days,
        )

    @reads_steadily
    def estimate(
        self, application: str, name: str, query: EstimateQuery, lists: ValueLists
    ) -> Answer:
        """What a metric amounts to over some days, all its versions together.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be estimated.
        """
        asked = self._reader.asked_metric(application, name, query.without_key, query.version)
        days = _days(query)
        (reported,), said = of_newest_type(self._reader.read(asked, days))
        tallies = self._reader.collect(reported, days)
        require_values(tallies.specs, lists)
        request = EstimateRequest(query, lists)
        alone: Sequence[Measured] = ()
        try:
            found = estimate(tallies, request)
            if query.per_version:
                alone = each_version(tallies, request)
        except ParameterError as error:
            raise estimate_refused(error) from None
        review = self._reviewer.review(reported)
        pending = self._reader.pending(asked)
        head = found.head(review.head(application, pending))
        head.periods[0].reports = head.reports  # others may be left out
        say_periods(head, reported.specs, reported.by_day)
        answer = Answer(
            head=head,
            question=Asked(name="estimate", parameters=given_parameters(query)),
            numbers=[*found.numbers(), *alone],
            notices=ordered_notices(review.notices, pending_notices(pending), found.notices, said),
        )
        if isinstance(found, ShareEstimate):
            self._add_robust_checks(answer, review)
        return answer

    def _add_robust_checks(self, answer: Answer, review: Review) -> None:
        shares = answer.of("share")
        checked = self._medians.robust_checks(
            review.reported.of_days, shares, DEFAULT_LEVEL, review.kept
        )
        if checked is None:
            return
        answer.head.meanings["robust check"] = MEANING
        rows = iter(checked)
        answer.numbers = [
            next(rows) if each.measure == "share" and each.version is None else each
            for each in answer.numbers
        ]
        answer.notices = ordered_notices(
            answer.notices, notices.of_robust_checks(answer.head.metric, checked)
        )

    @reads_steadily
    def series(self, application: str, name: str, query: SeriesQuery, lists: ValueLists) -> Answer:
        """A metric over time: every period estimated by itself.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be estimated.
        """
        asked = self._reader.asked_metric(application, name, query.without_key, query.version)
        require_values(asked.specs, lists)
        days = _days(query)
        (reported,), said = of_newest_type(self._reader.read(asked, days))
        require_values(reported.specs, lists)
        periods = _periods(reported, query)
        try:
            found = series(
                lambda period: self._reader.collect(reported, period),
                reported.specs,
                periods,
                query,
                lists,
            )
        except ParameterError as error:
            raise estimate_refused(error) from None
        review = self._reviewer.review(reported)
        first, last = periods[0].since, periods[-1].until
        pending = self._reader.pending(asked)
        head = found.head(review.head(application, pending))
        head.annotations = self._annotations.between(application, first, last)
        return Answer(
            head=head,
            question=Asked(name="series", parameters=given_parameters(query)),
            numbers=found.numbers(),
            checks=found.checks(review.days),
            notices=ordered_notices(review.notices, pending_notices(pending), found.notices, said),
        )

    @reads_steadily
    def change(self, application: str, name: str, query: ChangeQuery, lists: ValueLists) -> Answer:
        """What has changed between two periods.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be compared.
        """
        asked = self._reader.asked_metric(application, name, query.without_key, query.version)
        require_values(asked.specs, lists)
        days = query.periods()
        both, said = of_newest_type(*(self._reader.read(asked, each) for each in days))
        require_values([spec for each in both for spec in each.specs], lists)
        before, after = (self._reader.collect(*each) for each in zip(both, days, strict=True))
        try:
            found = change(before, after, ChangeRequest(query, lists))
        except ParameterError as error:
            raise estimate_refused(error) from None
        first, second = (self._reviewer.review(each) for each in both)
        pending = self._reader.pending(asked)
        head = found.head(
            second.head(application, pending),
            days,
            (first.days, second.days),
            (first.summary, second.summary),
        )
        head.days, head.health = None, None
        return Answer(
            head=head,
            question=Asked(name="change", parameters=given_parameters(query)),
            numbers=found.numbers(),
            notices=ordered_notices(
                said,
                _of_period("Before", first),
                _of_period("After", second),
                pending_notices(pending),
                found.notices,
            ),
        )

    @reads_steadily
    def health(self, application: str, name: str, query: DaysQuery) -> Answer:
        """Whether the reports of a metric look like those of devices.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: the days.

        Raises:
            ProblemError: if it is unknown or has no reports.
        """
        asked = self._reader.asked_metric(application, name, query.without_key)
        days = _days(query)
        reported = self._reader.read(asked, days)
        review = self._reviewer.review(reported, most_cells=HEALTH_CELLS)
        pending, keys = self._reader.pending(asked), reported.keys
        head = review.head(application, pending)
        head.checks = ChecksNote(
            made=review.examination.checks_made,
            p_below=review.examination.limit,
            meaning=_ALARM,
            asks=dict(MEANINGS),
            invisible=report.INVISIBLE,
        )
        return Answer(
            head=head,
            question=Asked(name="health", parameters=given_parameters(query)),
            numbers=[report.contrast(each, keys) for each in review.contrasts],
            checks=report.by_day(review.examination, keys),
            notices=ordered_notices(review.notices, pending_notices(pending)),
        )

    def health_overview(self, application: str, query: DaysQuery) -> HealthOverview:
        """Whether the reports of all metrics look like those of devices.

        Args:
            application: whose metrics they are.
            query: the days.

        Raises:
            ProblemError: if a key is unknown, or the store cannot be read.
        """
        return self._overviews.overview(application, query)


def _days(query: EstimateQuery | DaysQuery) -> DayRange:
    return DayRange(query.since or FIRST_DAY, query.until or LAST_DAY)


def _of_period(when: str, review: Review) -> list[Notice]:
    """The notices about one of two periods, which say about which."""
    return [replace(each, message=f"{when}: {each.message}") for each in review.notices]


def _periods(reported: MetricReports, query: SeriesQuery) -> list[DayRange]:
    """The periods of a series; where an end is left out, up to the last day with reports."""
    since = query.since or day_of(reported.reported_days[0])
    until = query.until or day_of(reported.reported_days[-1])
    periods = list(itertools.islice(calendar_periods(query.by, since, until), MAX_PERIODS + 1))
    if len(periods) > MAX_PERIODS:
        raise ProblemError(
            "malformed_question",
            f"A series has at most {MAX_PERIODS} periods: narrow since and until, or choose a "
            "longer period with by.",
        )
    return periods


_ALARM: Final = (
    "a check fails if the probability of such counts in honest reports is below p_below: "
    "4.2 standard deviations, or more where many checks are made, so that honest reports "
    f"fail any of them with a probability of {FAMILY_P:g} at most"
)
