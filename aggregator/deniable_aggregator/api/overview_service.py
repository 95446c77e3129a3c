"""Looks at the health of all metrics, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.health_overview import MetricHealth
from deniable_aggregator.answers.silence import stopped_since
from deniable_aggregator.api.health_overview import health_overview, metric_health
from deniable_aggregator.api.metric_list import newest_registration
from deniable_aggregator.api.review import HEALTH_CELLS, LEAST_CELLS
from deniable_aggregator.api.steady_reading import read_steadily
from deniable_aggregator.dates import FIRST_DAY, LAST_DAY, DayRange, day_of
from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.answers.health_overview import HealthOverview
    from deniable_aggregator.answers.questions import DaysQuery
    from deniable_aggregator.api.metric_reader import MetricReader
    from deniable_aggregator.api.review import Reviewer
    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.parts import Parts

_OF_ONE_METRIC: Final = ("no_reports", "days_rolled_up", "server_outdated")
"""Problems with one metric that say nothing about the others."""


@dataclass(frozen=True)
class _Overview:
    """Looks at the metrics of an application, which share what may be read for checks."""

    parts: Parts
    reader: MetricReader
    reviewer: Reviewer
    application: str
    query: DaysQuery

    def last_days(self) -> dict[str, date]:
        """The last day with reports of each metric that has any."""
        entries = self.parts.catalogue.for_application(self.application)
        days = self.parts.store.tallies.reported_days([entry.spec.digest for entry in entries])
        last: dict[str, int] = {}
        for entry in entries:
            if entry.spec.digest in days:
                name, day = entry.spec.name, days[entry.spec.digest].last
                last[name] = max(day, last.get(name, day))
        return {name: day_of(day) for name, day in last.items()}

    def of_metric(self, name: str, most_cells: int, last_day: date | None) -> MetricHealth:
        """The health of one of the metrics; where its reports cannot be looked at, why."""
        try:
            return read_steadily(
                lambda: self.reader.rolled_stamp(self.application, name),
                lambda: self._looked_at(name, most_cells, last_day),
            )
        except ProblemError as problem:
            if problem.code not in _OF_ONE_METRIC:
                raise
            unanswered = problem.document.detail
        try:
            entries = self.reader.asked_metric(self.application, name).entries
        except ProblemError:  # this server cannot read all of its versions
            return MetricHealth(
                metric=name, description="", verdict="unknown", unanswered=unanswered
            )
        return MetricHealth(
            metric=name,
            description=newest_registration(entries).description,
            verdict="unknown",
            last_day=last_day,
            stopped_since=self._stopped(entries, last_day),
            unanswered=unanswered,
        )

    def _looked_at(self, name: str, most_cells: int, last_day: date | None) -> MetricHealth:
        query = self.query
        asked = self.reader.asked_metric(self.application, name, query.without_key)
        review = self.reviewer.review(
            self.reader.read(asked, DayRange(query.since or FIRST_DAY, query.until or LAST_DAY)),
            most_cells=most_cells,
        )
        pending, stopped = self.reader.pending(asked), self._stopped(asked.entries, last_day)
        return metric_health(review, pending, last_day, stopped)

    def _stopped(self, entries: Sequence[CatalogEntry], last_day: date | None) -> date | None:
        """The first day without reports, if they have stopped."""
        newest = newest_registration(entries)
        today = day_of(self.parts.today)
        return stopped_since(newest.spec.every, newest.expires, last_day, today)


def all_metrics_health(
    parts: Parts, reader: MetricReader, reviewer: Reviewer, application: str, query: DaysQuery
) -> HealthOverview:
    """Whether the reports of all metrics look like those of devices.

    Args:
        parts: the store, and what is made over it.
        reader: reads the metrics.
        reviewer: checks their reports.
        application: whose metrics they are.
        query: the days.

    Raises:
        ProblemError: if a key is unknown, or the store cannot be read.
    """
    overview = _Overview(parts, reader, reviewer, application, query)
    last_days = overview.last_days()
    most_cells = max(HEALTH_CELLS // max(len(last_days), 1), LEAST_CELLS)
    found = [
        overview.of_metric(name, most_cells, last_days.get(name))
        for name in parts.catalogue.names(application)
    ]
    return health_overview(application, query, day_of(parts.today), found)
