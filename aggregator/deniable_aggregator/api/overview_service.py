"""Looks at the health of all metrics, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.health_overview import MetricHealth
from deniable_aggregator.answers.silence import stopped_since
from deniable_aggregator.api.health_overview import health_overview, metric_health
from deniable_aggregator.api.metric_list import newest_registration
from deniable_aggregator.api.review import HEALTH_CELLS, LEAST_CELLS
from deniable_aggregator.api.steady_reading import reads_steadily
from deniable_aggregator.dates import FIRST_DAY, LAST_DAY, DayRange, day_of
from deniable_aggregator.http.problems import ProblemError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from deniable_aggregator.answers.health_overview import HealthOverview
    from deniable_aggregator.answers.questions import DaysQuery
    from deniable_aggregator.api.metric_reader import MetricReader
    from deniable_aggregator.api.review import Reviewer
    from deniable_aggregator.catalog import CatalogEntry, MetricCatalog
    from deniable_aggregator.store import Store

_OF_ONE_METRIC: Final = ("no_reports", "days_rolled_up", "server_outdated")
"""Problems with one metric that say nothing about the others."""


class HealthOverviews:
    """Answers questions about the health of all metrics.

    Args:
        store: the store.
        catalogue: the registered metrics.
        reader: reads their reports.
        reviewer: checks these.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        catalogue: MetricCatalog,
        reader: MetricReader,
        reviewer: Reviewer,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._reader = reader
        self._reviewer = reviewer
        self._clock = clock

    def rolled_stamp(self, application: str, name: str) -> object:
        """What changes whenever days of a metric become one."""
        return self._reader.rolled_stamp(application, name)

    def overview(self, application: str, query: DaysQuery) -> HealthOverview:
        """Whether the reports of all metrics look like those of devices.

        The metrics are looked at one after the other, and share what may be read for checks.

        Args:
            application: whose metrics they are.
            query: the days.

        Raises:
            ProblemError: if a key is unknown, or the store cannot be read.
        """
        last_days = self._last_days(application)
        most_cells = max(HEALTH_CELLS // max(len(last_days), 1), LEAST_CELLS)
        found = [
            self._metric_health(application, name, query, most_cells, last_days.get(name))
            for name in self._catalogue.names(application)
        ]
        return health_overview(application, query, day_of(epoch_at(self._clock())), found)

    def _last_days(self, application: str) -> dict[str, date]:
        """The last day with reports of each metric that has any."""
        entries = self._catalogue.for_application(application)
        days = self._store.tallies.reported_days([entry.spec.digest for entry in entries])
        last: dict[str, int] = {}
        for entry in entries:
            if entry.spec.digest in days:
                name, day = entry.spec.name, days[entry.spec.digest].last
                last[name] = max(day, last.get(name, day))
        return {name: day_of(day) for name, day in last.items()}

    def _metric_health(
        self,
        application: str,
        name: str,
        query: DaysQuery,
        most_cells: int,
        last_day: date | None,
    ) -> MetricHealth:
        """The health of one of all metrics; where its reports cannot be looked at, why."""
        try:
            return self._looked_at(application, name, query, most_cells, last_day)
        except ProblemError as problem:
            if problem.code not in _OF_ONE_METRIC:
                raise
            unanswered = problem.document.detail
        try:
            entries = self._reader.asked_metric(application, name).entries
        except ProblemError:  # this server cannot read all of its versions
            return MetricHealth(
                metric=name, description="", verdict="unknown", unanswered=unanswered
            )
        newest = newest_registration(entries)
        return MetricHealth(
            metric=name,
            description=newest.description,
            verdict="unknown",
            last_day=last_day,
            stopped_since=self._stopped(entries, last_day),
            unanswered=unanswered,
        )

    @reads_steadily
    def _looked_at(
        self,
        application: str,
        name: str,
        query: DaysQuery,
        most_cells: int,
        last_day: date | None,
    ) -> MetricHealth:
        asked = self._reader.asked_metric(application, name, query.without_key)
        review = self._reviewer.review(
            self._reader.read(asked, DayRange(query.since or FIRST_DAY, query.until or LAST_DAY)),
            most_cells=most_cells,
        )
        pending, stopped = self._reader.pending(asked), self._stopped(asked.entries, last_day)
        return metric_health(review, pending, last_day, stopped)

    def _stopped(self, entries: Sequence[CatalogEntry], last_day: date | None) -> date | None:
        """The first day without reports, if they have stopped."""
        today = day_of(epoch_at(self._clock()))
        newest = newest_registration(entries)
        return stopped_since(newest.spec.every, newest.expires, last_day, today)
