"""What every answer says of its reports: versions, keys, days, verdict, and what to know first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.integrity import report
from deniable_aggregator.answering.integrity.contrasts import KeyComparison, KeyContrast
from deniable_aggregator.answering.integrity.examiner import Examination, Examiner
from deniable_aggregator.answering.integrity.kept_verdicts import KeptVerdicts, kept_of
from deniable_aggregator.answering.integrity.past_of_keys import KnownPast, pasts_of
from deniable_aggregator.answering.integrity.volumes import Volumes, volumes_of
from deniable_aggregator.answering.metrics import newest_first, newest_registration
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.answer import Head, Period
from deniable_aggregator.answers.common import (
    QUIET_DAYS,
    Days,
    IntegritySummary,
    KeyLeftOut,
    Notice,
    Release,
    Run,
    ordered_notices,
    runs,
)
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, day_of
from deniable_aggregator.answers.words import REPORTING_SCOPES, VERSION_LETTERS
from deniable_aggregator.counting.yield_points import yield_point
from deniable_aggregator.keeping.renaming import RenamedSpec
from deniable_aggregator.telling.wording import key_in_words, renamed_in_words
from deniable_shared.nearest import did_you_mean
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.slice_cache import SliceTables
    from deniable_aggregator.keeping.catalog import CatalogEntry, MetricCatalog
    from deniable_aggregator.keeping.store import Store, StoredKey, StoredPast
    from deniable_shared.periods import Every
    from deniable_shared.spec import Spec


def covered_days(
    reported: MetricReports,
    examination: Examination,
    contrasts: Sequence[KeyContrast],
    volumes: Volumes,
    first_days: Mapping[bytes, int],
    *,
    today: date,
    accept_days: int,
    every: Every = "day",
) -> Days:
    """Which days an answer covers, and what is special about them.

    Args:
        reported: the reports of the days that were asked for; at least one.
        examination: the checks of these reports.
        contrasts: every key against the others.
        volumes: what stands out among the volumes.
        first_days: the first day of each version, also before these days.
        today: the server's day.
        accept_days: for how many days a day stays open for reports.
        every: how often devices report, as the newest version says.
    """
    with_reports = [day_of(epoch) for epoch in reported.reported_days]
    aside = {each.epoch for each in reported.left_out if each.reports} | set(reported.set_aside)
    left_out = sorted(day_of(epoch) for epoch in aside.difference(reported.reported_days))
    asked = reported.days
    counted = [*with_reports, *map(day_of, reported.set_aside)]
    since, until = min(counted), max(counted)
    if asked.since != FIRST_DAY:
        since = min(since, max(asked.since, day_of(min(first_days.values()))))
    if asked.until != LAST_DAY:
        until = max(until, min(asked.until, today))
    left_out = [day for day in left_out if since <= day <= until]
    none_due = [] if every == "day" else _none_due(every, with_reports, since, until)
    opened = max(since, today - timedelta(accept_days))
    not_checked = set(reported.reported_days) - {day.epoch for day in examination.days}
    return Days(
        since=since,
        until=until,
        covered=(until - since).days + 1,
        reported=len(with_reports),
        missing=list(_gaps(sorted({*with_reports, *left_out, *none_due}), since, until)),
        left_out=runs(left_out),
        none_due=runs(day for day in none_due if day not in left_out),
        incomplete=[day for day in with_reports if day >= today]
        or ([today] if since <= today <= until else []),
        open_since=opened if opened <= until else None,
        releases=_releases(first_days, since, until),
        suspicious=sorted({day_of(day.epoch) for day in examination.failing_days}),
        uneven=sorted({day_of(epoch) for each in contrasts for epoch in each.epochs}),
        surges=sorted({day_of(each.epoch) for each in volumes.surges}),
        not_checked=len(not_checked),
        not_looked_at=runs(map(day_of, sorted(not_checked))),
        keys_left_out=_keys_left_out(reported),
    )


def _none_due(every: Every, with_reports: Sequence[date], since: date, until: date) -> list[date]:
    """The days without reports soon after some: devices report more seldom than daily."""
    near = {day + timedelta(after) for day in with_reports for after in range(1, QUIET_DAYS[every])}
    return sorted(day for day in near.difference(with_reports) if since <= day <= until)


def _gaps(with_reports: Sequence[date], since: date, until: date) -> Iterator[Run]:
    """The days from one to another that are not listed."""
    one = timedelta(1)
    expected = since
    for day in with_reports:
        if expected < day:
            yield Run(expected, day - one)
        expected = day + one
    if expected <= until:
        yield Run(expected, until)


def _releases(first_days: Mapping[bytes, int], since: date, until: date) -> list[Release]:
    """Days on which a version appeared, without the first version of all."""
    first = min(first_days.values())
    found = [
        Release(day_of(epoch), digest.hex())
        for digest, epoch in first_days.items()
        if epoch > first and since <= day_of(epoch) <= until
    ]
    return sorted(found, key=lambda release: release.day)


def _keys_left_out(reported: MetricReports) -> list[KeyLeftOut]:
    reports: Counter[str] = Counter(dict.fromkeys(reported.without, 0))
    for each in reported.left_out:
        reports[each.key] += each.reports
    return [
        KeyLeftOut(
            key,
            reported.keys[key].label if key in reported.keys else "",
            count,
            "excluded" if reported.is_excluded(key) else "without_key",
        )
        for key, count in sorted(reports.items())
    ]


SUMMARY_CELLS: Final = 1 << 22
"""Beside an estimate, at most so many counters are read for checks that were not read before."""

HEALTH_CELLS: Final = 1 << 26
"""The same for a question about health alone, of one metric or of all of them together."""

LEAST_CELLS: Final = 1 << 18
"""The least share of these that one of many metrics has."""


SIMULATED: Final = Notice(
    "simulated",
    "warning",
    "Simulated: the reports of this store are of devices that do not exist.",
)


@dataclass(frozen=True)
class Review:
    """What is known of some reports.

    Attributes:
        reported: the reports; at least one.
        examination: the checks of what noise decides.
        contrasts: every key against the others.
        volumes: what stands out among the volumes.
        days: the days that are covered.
        summary: the verdict.
        notices: what to know first.
        kept: what was found of days before they became one, by the digests of their versions.
        pasts: what is stored of keys of the metric.
    """

    reported: MetricReports
    examination: Examination
    contrasts: Sequence[KeyContrast]
    volumes: Volumes
    days: Days
    summary: IntegritySummary
    notices: Sequence[Notice]
    kept: Mapping[bytes, Sequence[KeptVerdicts]]
    pasts: Sequence[StoredPast] = ()

    @property
    def description(self) -> str:
        """What the metric is for, as its newest version says."""
        return newest_registration(self.reported.entries).description

    def head(self, application: str) -> Head:
        """The head of an answer about these reports.

        Args:
            application: whose metric it is.
        """
        reported, days = self.reported, self.days
        reports = reported.reports
        return Head(
            application=application,
            metric=reported.entries[0].spec.name,
            description=self.description,
            kind="health",
            days=days,
            health=self.summary,
            periods=[
                Period(
                    since=days.since,
                    until=days.until,
                    reports=reports,
                    marks=days.marks(days.since, days.until),
                )
            ],
            reports=reports,
            excluded_reports=reported.excluded,
        )


class Reviewer:
    """Reviews reports; what was checked once is not checked again until the counts change.

    Args:
        store: has the tallies.
        catalogue: knows whether they are of simulated devices.
        tables: reads slices of days before those that are asked about.
        accept_days: for how many days a day stays open for reports.
        part_reports: keys with fewer reports are not compared.
        batch_reports: nor is a key with fewer on an open day.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        catalogue: MetricCatalog,
        tables: SliceTables,
        accept_days: int,
        part_reports: int,
        batch_reports: int,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._tables = tables
        self._accept_days = accept_days
        self._batch_reports = batch_reports
        self._clock = clock
        self._examiner = Examiner()
        self._comparison = KeyComparison(part_reports)

    def review(self, reported: MetricReports, *, most_cells: int = SUMMARY_CELLS) -> Review:
        """What is known of the reports of a metric.

        Args:
            reported: at least one report.
            most_cells: how many counters are read for checks, at most.
        """
        yield_point()
        kept = kept_of(reported)
        days = reported.of_days
        examination = self._examiner.examine(days, most_cells=most_cells, kept=kept)
        yield_point()
        # Of the whole metric: what was acknowledged of one version may hold for another.
        entries = {entry.spec.digest: entry for entry in reported.entries}
        stored = [
            KnownPast(past, entries[past.digest]) for past in self._store.key_pasts.read(entries)
        ]
        pasts = {
            digest: pasts_of(self._store, self._tables, table, stored)
            for digest, table in days.tables.items()
        }
        # Hidden slices with enough reports stay: a small key beside it would hide a forger's.
        compared = days.with_least(self._batch_reports)
        contrasts = self._comparison.compare(compared, kept, pasts)
        yield_point()
        volumes = volumes_of(reported, self._store)
        yield_point()
        digests = [entry.spec.digest for entry in reported.entries]
        name, keys = reported.entries[0].spec.name, reported.keys
        return Review(
            reported,
            examination,
            contrasts,
            volumes,
            covered_days(
                reported,
                examination,
                contrasts,
                volumes,
                self._store.tallies.first_days(digests, reported.without),
                today=day_of(epoch_at(self._clock())),
                accept_days=self._accept_days,
                every=newest_registration(reported.entries).spec.every,
            ),
            report.summary(examination, contrasts, volumes, keys),
            ordered_notices(
                [SIMULATED] if self._catalogue.simulated else [],
                _of_new_names(reported.specs),
                report.of_largest_upload(volumes.largest, keys),
                report.of_checks(name, examination, keys),
                report.of_contrasts(contrasts, keys),
                report.of_surges(volumes.notable, keys),
                report.of_spent_quotas(
                    [key for key in keys.values() if _asked_about(reported, key)],
                    reported.days,
                    accept_days=self._accept_days,
                ),
                report.of_mixed_keys(reported.mixed, keys),
            ),
            kept,
            [each.past for each in stored],
        )


def _asked_about(reported: MetricReports, key: StoredKey) -> bool:
    """Whether reports with a key could be among some, if there are any."""
    is_own = key.application == reported.entries[0].spec.application
    return is_own and key.excluded is None and key.id not in reported.without


def _of_new_names(specs: Iterable[Spec]) -> list[Notice]:
    """A note if values of some reports are told by names that these did not have."""
    renamed = {
        name: now for spec in specs if isinstance(spec, RenamedSpec) for name, now in spec.renamed
    }
    if not renamed:
        return []
    message = f"Told by new names, as the registry says: {renamed_in_words(renamed)}."
    return [Notice("new_names", "note", message)]


MOST_NAMED: Final = 10
_QUOTED: Final = 100


def keys_named(
    keys: Sequence[StoredKey], application: str, names: Sequence[str], option: str
) -> frozenset[str]:
    """The ids of the keys that an option names.

    Args:
        keys: all keys of the store.
        application: whose keys may be named.
        names: each an id, the first letters of an id, or a label.
        option: of the question.

    Raises:
        ProblemError: if a name fits no key of the application that brings reports, or several.
    """
    own = [key for key in keys if key.application == application and key.scope in REPORTING_SCOPES]
    return frozenset(_named(own, name, option).id for name in names)


def _named(keys: Sequence[StoredKey], name: str, option: str) -> StoredKey:
    exact = [key for key in keys if key.id == name] or [key for key in keys if key.label == name]
    found = exact or [key for key in keys if name and key.id.startswith(name)]
    if name and len(found) == 1:
        return found[0]
    quoted = repr(name[:_QUOTED])
    if name and found:
        ids = ", ".join(key.id for key in found[:MOST_NAMED])
        detail = f"{option} must name one key, got {quoted}, which names {len(found)}: {ids}."
        raise ProblemError("malformed_question", f"{detail} Use an id.")
    listed = ", ".join(key_in_words(key.id, key.label) for key in keys[:MOST_NAMED])
    meant = did_you_mean(name, filter(None, (key.label for key in keys)))
    more = f" and {len(keys) - MOST_NAMED} more" if keys[MOST_NAMED:] else ""
    raise ProblemError(
        "malformed_question",
        f"{option} must be the id of a key that brings reports, the first letters of its id, or "
        f"its label, got {quoted}.{meant} There are {listed or 'none'}{more}.",
    )


def version_named(entries: Sequence[CatalogEntry], start: str) -> CatalogEntry:
    """The version whose id begins in a way.

    Args:
        entries: the versions of the metric.
        start: the first letters of an id, or all.

    Raises:
        ProblemError: if there is none, or several.
    """
    found = [entry for entry in entries if entry.spec.digest.hex().startswith(start)]
    if len(found) == 1:
        return found[0]
    versions = newest_first(found or entries)
    ids = [entry.spec.digest.hex()[:VERSION_LETTERS] for entry in versions[:MOST_NAMED]]
    more = f" and {len(versions) - MOST_NAMED} more" if versions[MOST_NAMED:] else ""
    raise ProblemError(
        "malformed_question",
        f"version must be the id of one version, or its first letters, got '{start}'."
        f"{did_you_mean(start, ids)} There are {', '.join(ids)}{more}, the newest first; deniable "
        f"metrics show {entries[0].spec.name} says since when.",
    )
