"""What analysts ask: which metrics there are, what they amount to, how the server is doing."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.api.parameters import FIRST_DAY, estimate_refused
from deniable_aggregator.estimation.estimator import answered
from deniable_aggregator.estimation.inputs import CollectedTallies, collect_tallies
from deniable_aggregator.estimation.options import ItemSelection
from deniable_aggregator.http.outdated import server_outdated
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.ingest.receiver import NO_APPLICATION
from deniable_aggregator.integrity import report as poisoning
from deniable_aggregator.integrity.examiner import Examiner
from deniable_aggregator.integrity.slice_medians import add_medians
from deniable_aggregator.store import StoreUnavailableError
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.catalog import CatalogEntry, MetricCatalog
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.estimation.options import EstimateOptions
    from deniable_aggregator.ingest.receiver import UploadReceiver
    from deniable_aggregator.operations.fold import InboxFold
    from deniable_aggregator.statistics.reconstruction import Reconstruction
    from deniable_aggregator.store import Store

log = logging.getLogger("deniable_aggregator")

FOLD_SECONDS: Final = 5.0
"""A question waits this long, at most, for what is pending to be counted."""

EXAMINED_CELLS: Final = 1 << 22
"""Beside an estimate the health of the latest days is looked at, reading at most so many counters
that were not looked at before."""

MOST_EXAMINED_CELLS: Final = 1 << 26
"""The same for a question about nothing else."""

LAST_DAY: Final = date(9999, 12, 31)


class QueryService:
    """Answers questions about one store.

    Args:
        store: the store.
        catalogue: the registered metrics.
        inbox_fold: counts what is pending before an answer.
        ingest: knows what was accepted and refused.
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

    def metrics(self, application: str) -> dict[str, Any]:
        """The registered metrics of an application, with what was counted of each."""
        entries = self._catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries]
        counted = self._store.tallies.reports(digests)
        excluded = self._store.tallies.reports(digests, excluded=True)
        pending = self._pending(entries)
        return {
            "application": application,
            "metrics": [
                {
                    **_description(entry),
                    "reports": counted.get(entry.spec.digest, 0),
                    "pending_reports": pending.get(entry.spec.digest, 0),
                    "excluded_reports": excluded.get(entry.spec.digest, 0),
                }
                for entry in entries
            ],
        }

    def status(self, application: str) -> dict[str, Any]:
        """How ingest and fold are doing, for one application."""
        entries = self._catalogue.for_application(application)
        digests = [entry.spec.digest for entry in entries]
        backlog = self._store.inbox.backlog(digests)
        counts = dict(self._ingest.outcome_counts(application))
        return {
            "application": application,
            "today": _day(epoch_at(self._clock())),
            "accept_days": self._settings.accept_days,
            "since_start": {
                "accepted": counts.pop("accepted", 0),
                "duplicate": counts.pop("duplicate", 0),
                "refused": dict(sorted(counts.items())),
                "refused_without_key": sum(self._ingest.outcome_counts(NO_APPLICATION).values()),
            },
            "inbox": {
                "rows": sum(each.rows for each in backlog),
                "bytes": sum(each.payload_bytes for each in backlog),
                "reports": sum(self._pending(entries).values()),
                "rows_set_aside": self._store.inbox.count_set_aside(digests),
            },
        }

    def estimate(
        self,
        application: str,
        name: str,
        *,
        since: date | None,
        until: date | None,
        asked: ItemSelection,
        options: EstimateOptions,
        reconstruction: Reconstruction,
        segment: str | None = None,
    ) -> dict[str, Any]:
        """What a metric amounts to over some days, all its registered forms together.

        Raises:
            ProblemError: if it is unknown, has no reports or cannot be estimated.
        """
        entries = self.entries_after_fold(application, name)
        gathered = self.collect(entries, since or FIRST_DAY, until or LAST_DAY)
        specs = gathered.specs or [entry.spec for entry in entries]
        if asked == ItemSelection() and any(spec.type == "string" for spec in specs):
            raise ProblemError(
                "candidates_needed",
                f"{name} counts strings of an open domain: POST the same path with "
                '{"candidates": ["...", ...]}, or use deniable estimate --candidates FILE.',
            )
        self.require_reports(name, gathered)
        try:
            found = answered(gathered, asked, options, reconstruction, segment)
            if segment is None and "estimates" in found:
                first, last = _epoch(since or FIRST_DAY), _epoch(until or LAST_DAY)
                add_medians(self._store, entries, first, last, found, options.level)
        except ParameterError as error:
            raise estimate_refused(error) from None
        return {
            "application": application,
            "since": None if since is None else since.isoformat(),
            "until": None if until is None else until.isoformat(),
            "pending_reports": self.pending(entries),
            "excluded_reports": gathered.excluded,
            "health": self.integrity_summary(entries, since or FIRST_DAY, until or LAST_DAY),
            **found,
        }

    def integrity_summary(
        self, entries: Sequence[CatalogEntry], since: date, until: date
    ) -> dict[str, Any]:
        """What is said beside an answer about the health of the days that it is from: JSON data."""
        return poisoning.summary(
            self._examiner.examine(entries, _epoch(since), _epoch(until), most_cells=EXAMINED_CELLS)
        )

    def health(self, application: str, name: str, since: date, until: date) -> dict[str, Any]:
        """Whether the reports of a metric look like those of devices.

        Raises:
            ProblemError: if it is unknown or has no reports.
        """
        entries = self.entries_after_fold(application, name)
        examined = self._examiner.examine(
            entries, _epoch(since), _epoch(until), most_cells=MOST_EXAMINED_CELLS
        )
        excluded = self.excluded(entries, since, until)
        if not examined.days:
            self.require_reports(name, CollectedTallies((), {}, excluded))
        return {
            "pending_reports": self.pending(entries),
            "excluded_reports": excluded,
            **poisoning.as_dict(examined),
        }

    def entries_after_fold(self, application: str, name: str) -> list[CatalogEntry]:
        """The forms of a metric, after counting what is pending.

        Raises:
            ProblemError: if there is no such metric, or this server cannot read all of its forms.
        """
        entries = [e for e in self._catalogue.for_application(application) if e.spec.name == name]
        for each in self._catalogue.unreadable().values():
            # Without this form of it, an answer would be about some of the devices only.
            if (each.application, each.name) == (application, name):
                raise server_outdated(each)
        if not entries:
            raise ProblemError("unknown_metric", "GET /v1/metrics lists the metrics of this key.")
        try:
            self._inbox_fold.fold(seconds=FOLD_SECONDS)
        except StoreUnavailableError as error:
            # A full disk stops counting, not reading: the answer says what is pending.
            log.error("not everything was counted before an answer: %s", error)
        return entries

    def collect(
        self, entries: Sequence[CatalogEntry], since: date, until: date
    ) -> CollectedTallies:
        """What was counted of a metric's forms over some days."""
        return collect_tallies(self._store, entries, _epoch(since), _epoch(until))

    def days(self, entries: Sequence[CatalogEntry], since: date, until: date) -> list[date]:
        """The days of which something was counted, in their order."""
        first, last = _epoch(since), _epoch(until)
        found = {
            epoch
            for entry in entries
            for epoch in self._store.tallies.reports_by_day(entry.spec.digest, first, last)
        }
        return [FIRST_DAY + timedelta(epoch) for epoch in sorted(found)]

    def pending(self, entries: Sequence[CatalogEntry]) -> int:
        """How many reports of a metric's forms wait to be counted."""
        return sum(self._pending(entries).values())

    def excluded(self, entries: Sequence[CatalogEntry], since: date, until: date) -> int:
        """How many reports of a metric's forms are left out: their keys are excluded."""
        digests = [entry.spec.digest for entry in entries]
        return self._store.tallies.excluded_reports(digests, _epoch(since), _epoch(until))

    def require_reports(self, name: str, gathered: CollectedTallies) -> None:
        """Refuses to say anything about days without reports.

        Raises:
            ProblemError: saying whether excluding keys has left none.
        """
        if gathered.tallies:
            return
        detail = f"{name} has no reports in these days. Widen since and until, or wait for devices."
        if gathered.excluded:
            detail += f" {gathered.excluded:,} reports are left out: their keys are excluded."
        raise ProblemError("no_reports", detail, excluded_reports=gathered.excluded)

    def _pending(self, entries: Sequence[CatalogEntry]) -> dict[bytes, int]:
        widths = {entry.spec.digest: entry.spec.mechanism.report_bytes for entry in entries}
        return {
            each.digest: each.payload_bytes // widths[each.digest]
            for each in self._store.inbox.backlog(list(widths))
        }


def _description(entry: CatalogEntry) -> dict[str, Any]:
    spec, about = entry.spec, entry.registration
    return {
        "name": spec.name,
        "type": spec.type,
        "description": about.description,
        "owners": list(about.owners),
        "expires": None if about.expires is None else about.expires.isoformat(),
        "every": spec.every,
        "mechanism": spec.mechanism.name,
        "epsilon": spec.mechanism.epsilon,
        "epsilon_permanent": spec.mechanism.epsilon_permanent,
        "epsilon_total": spec.mechanism.epsilon_total,
        "delta": spec.mechanism.delta,
        "digest": spec.digest.hex(),
        "registered": _day(about.registered),
        **({} if spec.segments is None else {"segments": spec.segments.by.canonical()}),
    }


def _epoch(day: date) -> int:
    return (day - FIRST_DAY).days


def _day(epoch: int) -> str:
    return datetime.fromtimestamp(epoch * 86_400, UTC).date().isoformat()
