"""Answers analysts: registered metrics, estimates, series, changes, and the server's status."""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.administration import Metrics
from deniable_aggregator.answers.common import Head
from deniable_aggregator.answers.estimates import RobustCheckNote, Shares
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.answers.service import Inbox, Status, UploadCounts
from deniable_aggregator.answers.trends import HealthOfPeriods
from deniable_aggregator.api.metric_list import list_metrics, pending_by_version
from deniable_aggregator.api.parameters import estimate_refused
from deniable_aggregator.dates import FIRST_DAY, LAST_DAY, DayRange, day_of, epoch_of
from deniable_aggregator.estimation.estimator import estimate
from deniable_aggregator.estimation.inputs import (
    ChangeRequest,
    CollectedTallies,
    EstimateRequest,
    collect_tallies,
)
from deniable_aggregator.http.outdated import server_outdated
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.ingest.receiver import NO_APPLICATION
from deniable_aggregator.integrity import report, slice_medians
from deniable_aggregator.integrity.examiner import Examiner
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL
from deniable_aggregator.store import StoreUnavailableError
from deniable_aggregator.trends.change import change
from deniable_aggregator.trends.series import MAX_PERIODS, calendar_periods, series
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.answers.common import IntegritySummary
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.questions import (
        ChangeQuery,
        DaysQuery,
        EstimateQuery,
        SeriesQuery,
    )
    from deniable_aggregator.answers.trends import Change, Series
    from deniable_aggregator.catalog import CatalogEntry, MetricCatalog
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.ingest.receiver import UploadReceiver
    from deniable_aggregator.operations.fold import InboxFold
    from deniable_aggregator.store import Store
    from deniable_shared.spec import Spec

log = logging.getLogger("deniable_aggregator")

FOLD_SECONDS: Final = 5.0
"""A question waits this long, at most, for pending reports to be counted."""

SUMMARY_CELLS: Final = 1 << 22
"""For the health beside an estimate, at most so many counters are read that were not read
before."""

HEALTH_CELLS: Final = 1 << 26
"""The same for a question about health alone."""


class QueryService:
    """Answers questions about one store.

    Args:
        store: the store.
        catalogue: the registered metrics.
        inbox_fold: counts pending reports before an answer.
        ingest: knows how many uploads were accepted and refused.
        settings: limits.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        *,
        store: Store,
        catalogue: MetricCatalog,
        inbox_fold: InboxFold,
        ingest: UploadReceiver,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._inbox_fold = inbox_fold
        self._ingest = ingest
        self._settings = settings
        self._clock = clock
        self._examiner = Examiner(store)

    def metrics(self, application: str) -> Metrics:
        """The registered metrics of an application, with what was counted of each."""
        entries = self._catalogue.for_application(application)
        return Metrics(application, list_metrics(self._store, entries))

    def status(self, application: str) -> Status:
        """The uploads and pending reports of one application."""
        entries = self._catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries]
        backlog = self._store.inbox.backlog(digests)
        counts = dict(self._ingest.outcome_counts(application))
        return Status(
            application,
            today=day_of(epoch_at(self._clock())),
            accept_days=self._settings.accept_days,
            since_start=UploadCounts(
                accepted=counts.pop("accepted", 0),
                duplicate=counts.pop("duplicate", 0),
                refused=dict(sorted(counts.items())),
                refused_without_key=sum(self._ingest.outcome_counts(NO_APPLICATION).values()),
            ),
            inbox=Inbox(
                rows=sum(each.rows for each in backlog),
                bytes=sum(each.payload_bytes for each in backlog),
                reports=sum(pending_by_version(self._store, entries).values()),
                rows_set_aside=self._store.inbox.count_set_aside(digests),
            ),
        )

    def estimate(
        self, application: str, name: str, query: EstimateQuery, lists: ValueLists
    ) -> Estimate:
        """What a metric amounts to over some days, all its versions together.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be estimated.
        """
        entries = self.entries_after_fold(application, name)
        days = DayRange(query.since or FIRST_DAY, query.until or LAST_DAY)
        tallies = self.collect(entries, days)
        _require_values(tallies.specs or [entry.spec for entry in entries], lists)
        self.require_reports(name, tallies)
        try:
            found = estimate(tallies, EstimateRequest(query, lists))
        except ParameterError as error:
            raise estimate_refused(error) from None
        head = Head(
            application=application,
            notices=[],
            since=query.since,
            until=query.until,
            pending_reports=self.pending(entries),
            excluded_reports=tallies.excluded,
            health=self.integrity_summary(entries, days),
        )
        answer = found.answer(head)
        if isinstance(answer, Shares):
            self._add_robust_checks(answer, entries, days)
        return answer

    def _add_robust_checks(
        self, answer: Shares, entries: Sequence[CatalogEntry], days: DayRange
    ) -> None:
        since, until = epoch_of(days.since), epoch_of(days.until)
        checks = slice_medians.robust_checks(
            self._store, entries, since, until, answer.estimates, DEFAULT_LEVEL
        )
        if checks is not None:
            answer.robust_check = RobustCheckNote(DEFAULT_LEVEL, slice_medians.MEANING)
            for row, check in zip(answer.estimates, checks, strict=True):
                row.robust_check = check

    def series(self, application: str, name: str, query: SeriesQuery, lists: ValueLists) -> Series:
        """A metric over time: every period estimated by itself.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be estimated.
        """
        entries = self.entries_after_fold(application, name)
        _require_values([entry.spec for entry in entries], lists)
        periods = self._periods(entries, name, query)
        days = DayRange(periods[0].since, periods[-1].until)
        try:
            found = series(lambda period: self.collect(entries, period), periods, query, lists)
        except ParameterError as error:
            raise estimate_refused(error) from None
        head = Head(
            application=application,
            notices=[],
            since=days.since,
            until=days.until,
            pending_reports=self.pending(entries),
            excluded_reports=self.excluded(entries, days),
            health=self.integrity_summary(entries, days),
        )
        return found.answer(head)

    def change(self, application: str, name: str, query: ChangeQuery, lists: ValueLists) -> Change:
        """What has changed between two periods.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: how to answer.
            lists: the values that the question is about.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be compared.
        """
        entries = self.entries_after_fold(application, name)
        _require_values([entry.spec for entry in entries], lists)
        days = query.periods()
        before, after = (self.collect(entries, each) for each in days)
        for tallies in (before, after):
            self.require_reports(name, tallies)
        try:
            found = change(before, after, ChangeRequest(query, lists))
        except ParameterError as error:
            raise estimate_refused(error) from None
        return found.answer(
            application,
            days,
            pending_reports=self.pending(entries),
            health=HealthOfPeriods(*(self.integrity_summary(entries, each) for each in days)),
        )

    def health(self, application: str, name: str, query: DaysQuery) -> Health:
        """Whether the reports of a metric look like those of devices.

        Args:
            application: whose metric it is.
            name: of the metric.
            query: the days.

        Raises:
            ProblemError: if it is unknown or has no reports.
        """
        entries = self.entries_after_fold(application, name)
        days = DayRange(query.since or FIRST_DAY, query.until or LAST_DAY)
        examination = self._examiner.examine(
            entries, epoch_of(days.since), epoch_of(days.until), most_cells=HEALTH_CELLS
        )
        excluded = self.excluded(entries, days)
        if not examination.days:
            self.require_reports(name, CollectedTallies((), {}, excluded))
        return report.health(
            examination,
            {key.id: key.label for key in self._store.keys.all()},
            application=application,
            metric=name,
            query=query,
            pending_reports=self.pending(entries),
            excluded_reports=excluded,
        )

    def integrity_summary(
        self, entries: Sequence[CatalogEntry], days: DayRange
    ) -> IntegritySummary:
        """The health of some days, as a part of an answer."""
        since, until = epoch_of(days.since), epoch_of(days.until)
        return report.summary(
            self._examiner.examine(entries, since, until, most_cells=SUMMARY_CELLS)
        )

    def entries_after_fold(self, application: str, name: str) -> list[CatalogEntry]:
        """The versions of a metric, after counting pending reports.

        Raises:
            ProblemError: if there is no such metric, or this server cannot read all versions.
        """
        entries = [e for e in self._catalogue.for_application(application) if e.spec.name == name]
        for each in self._catalogue.unreadable().values():
            # Without this version, an answer would be about some of the devices only.
            if (each.application, each.name) == (application, name):
                raise server_outdated(each)
        if not entries:
            raise ProblemError("unknown_metric", "GET /v1/metrics lists the metrics of this key.")
        try:
            self._inbox_fold.fold(seconds=FOLD_SECONDS)
        except StoreUnavailableError as error:
            # A full disk stops counting, not reading: the answer says what is pending.
            log.error("pending reports could not be counted before an answer: %s", error)
        return entries

    def collect(self, entries: Sequence[CatalogEntry], days: DayRange) -> CollectedTallies:
        """What was counted of a metric's versions over some days."""
        return collect_tallies(self._store, entries, epoch_of(days.since), epoch_of(days.until))

    def pending(self, entries: Sequence[CatalogEntry]) -> int:
        """How many reports of a metric's versions wait to be counted."""
        return sum(pending_by_version(self._store, entries).values())

    def excluded(self, entries: Sequence[CatalogEntry], days: DayRange) -> int:
        """How many reports of a metric's versions are left out: their keys are excluded."""
        digests = [entry.spec.digest for entry in entries]
        since, until = epoch_of(days.since), epoch_of(days.until)
        return self._store.tallies.excluded_reports(digests, since, until)

    def require_reports(self, name: str, tallies: CollectedTallies) -> None:
        """Refuses to say anything about days without reports.

        Raises:
            ProblemError: saying whether excluding keys has left none.
        """
        if tallies.tallies:
            return
        detail = f"{name} has no reports in these days. Widen since and until, or wait for devices."
        if tallies.excluded:
            detail += f" {tallies.excluded:,} reports are left out: their keys are excluded."
        raise ProblemError("no_reports", detail, excluded_reports=tallies.excluded)

    def _periods(
        self, entries: Sequence[CatalogEntry], name: str, query: SeriesQuery
    ) -> list[DayRange]:
        """The periods of a series; where an end is left out, up to the last day with reports."""
        since, until = query.since, query.until
        if since is None or until is None:
            days = DayRange(since or FIRST_DAY, until or LAST_DAY)
            first, last = epoch_of(days.since), epoch_of(days.until)
            epochs = {
                epoch
                for entry in entries
                for epoch in self._store.tallies.reports_by_day(entry.spec.digest, first, last)
            }
            if not epochs:
                self.require_reports(name, self.collect(entries, days))
            since, until = since or day_of(min(epochs)), until or day_of(max(epochs))
        periods = itertools.islice(calendar_periods(query.by, since, until), MAX_PERIODS + 1)
        found = list(periods)
        if len(found) > MAX_PERIODS:
            raise ProblemError(
                "malformed_question",
                f"A series has at most {MAX_PERIODS} periods: narrow since and until, or choose a "
                "longer period with by.",
            )
        return found


def _require_values(specs: Sequence[Spec], lists: ValueLists) -> None:
    """Refuses a question about strings that does not say which."""
    if lists == ValueLists() and any(spec.type == "string" for spec in specs):
        raise ProblemError(
            "candidates_needed",
            f"{specs[0].name} counts strings of an open domain: POST the same path with "
            '{"candidates": ["...", ...]}, or use deniable estimate --candidates FILE.',
        )
