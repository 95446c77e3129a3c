"""The health of all metrics at once, and what an overview shows of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.integrity import report
from deniable_aggregator.answering.metrics import newest_registration
from deniable_aggregator.answering.reader import MetricReader, read_steadily
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.review import (
    HEALTH_CELLS,
    LEAST_CELLS,
    SIMULATED,
    Review,
    Reviewer,
)
from deniable_aggregator.answers.common import Notice, ordered_notices, stopped_since
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange, day_of
from deniable_aggregator.answers.health_overview import HealthOverview, MetricHealth

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.answers.answer import Check
    from deniable_aggregator.answers.questions import DaysQuery
    from deniable_aggregator.answers.words import NoticeCode, Verdict
    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.parts import Parts


_WORST_FIRST: Final[tuple[Verdict, ...]] = ("suspicious", "uneven", "surge", "unknown", "ok")


def metric_health(
    review: Review, last_day: date | None, stopped_since: date | None
) -> MetricHealth:
    """The health of one metric.

    Args:
        review: of its reports.
        last_day: the last day of all with reports.
        stopped_since: the first day without reports, if they have stopped.
    """
    reported = review.reported
    return MetricHealth(
        metric=reported.entries[0].spec.name,
        description=review.description,
        verdict=review.summary.verdict,
        worst=_worst(review),
        suspicious_keys=review.summary.suspicious_keys,
        uneven_keys=review.summary.uneven_keys,
        surge_keys=review.summary.surge_keys,
        suspicious_days=review.days.suspicious,
        uneven_days=review.days.uneven,
        surge_days=review.days.surges,
        reported_days=review.days.reported,
        not_checked=review.days.not_checked,
        reports=reported.reports,
        last_day=last_day,
        stopped_since=stopped_since,
        excluded_reports=reported.excluded,
        notices=list(review.notices),
    )


def health_overview(
    application: str, query: DaysQuery, today: date, found: Sequence[MetricHealth]
) -> HealthOverview:
    """The health of all metrics.

    Args:
        application: whose metrics they are.
        query: the days.
        today: the server's day.
        found: the health of each.
    """
    ordered = sorted(
        found,
        key=lambda each: (
            min(_WORST_FIRST.index(each.verdict), _WORST_FIRST.index("unknown")),
            each.stopped_since is None,
            each.metric,
        ),
    )
    return HealthOverview(
        application=application,
        notices=ordered_notices(_of_all(ordered), _notices(ordered)),
        today=today,
        since=query.since,
        until=query.until,
        verdict=min((each.verdict for each in found), key=_WORST_FIRST.index, default="unknown"),
        metrics=ordered,
    )


def _of_all(found: Sequence[MetricHealth]) -> list[Notice]:
    """What is said of each metric, and is true of the store or of a key."""
    notices = [notice for each in found for notice in each.notices]
    simulated = [SIMULATED] if SIMULATED in notices else []
    spent = {notice.message: notice for notice in notices if notice.code == "quota_spent"}
    return [*simulated, *spent.values()]


def _notices(found: Sequence[MetricHealth]) -> list[Notice]:
    named: tuple[tuple[NoticeCode, str, list[str]], ...] = (
        (
            "suspicious_reports",
            "The reports of {} are not all those of honest devices.",
            [each.metric for each in found if each.verdict == "suspicious"],
        ),
        (
            "uneven_key",
            "A key answers differently from the others in {}.",
            [each.metric for each in found if each.verdict == "uneven"],
        ),
        (
            "unusual_volume",
            "Far more reports than usual came of {}.",
            [each.metric for each in found if each.verdict == "surge"],
        ),
        (
            "reports_stopped",
            "No reports arrive any more of {}.",
            [each.metric for each in found if each.stopped_since is not None],
        ),
    )
    return [
        Notice(code, "warning", text.format(_some(names))) for code, text, names in named if names
    ]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


_MOST_NAMED: Final = 5


def _worst(review: Review) -> Check | None:
    """The check with the smallest p, of a day's reports or of those that one key brought."""
    examination, keys = review.examination, review.reported.keys
    made = [day for day in examination.days if day.checks_made]
    if not made:
        return None
    oddest = min(made, key=lambda day: day.smallest_p)
    known = [
        (each.p, each.key is None, each)
        for each in report.checks_of_day(oddest, keys, examination.limit)
        if each.name is not None and each.p is not None
    ]
    return min(known, key=lambda each: each[:2])[2] if known else None


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
        return metric_health(review, last_day, self._stopped(asked.entries, last_day))

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
