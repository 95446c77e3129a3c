"""Which periods of the SQL table are to be written, and which are to be deleted.

The estimates of a period are right as long as nothing has changed that they depend on, and a tag is
a hash of that. It is made of the same as the tag of an answer over HTTP, but of the period's days
alone, and without what is in no row, such as descriptions and labels: a key that is made, or days
elsewhere that become one, must not cause a year of estimates.

A tag has two halves: what administrators decide, and the reports. Reports of an open day come all
the time, so they alone do not make a period due that was written on the same day.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.dates import DayRange, calendar_period, day_of, epoch_of
from deniable_aggregator.keeping.store import CountedVersion, PeriodName
from deniable_shared import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.answers.words import PeriodLength
    from deniable_aggregator.keeping.catalog import CatalogEntry, MetricCatalog

METHOD: Final = 3
"""Another number whenever the same reports give other rows in the same version of Deniable."""

HALF_BYTES: Final = 12
_NOTHING: Final = CountedVersion({}, [])


class DuePeriod(NamedTuple):
    """A period whose estimates are not in the table, or not as they are now.

    Attributes:
        name: of the period.
        days: its days.
        before: the days that they are compared with; None if with none.
        tag: what the estimates depend on.
        final: whether none of its days takes reports any longer.
    """

    name: PeriodName
    days: DayRange
    before: DayRange | None
    tag: bytes
    final: bool


class Due(NamedTuple):
    """What is to be done.

    Attributes:
        written: periods to write, those of a metric in a row, long ones first: they read the days
            of the short ones.
        deleted: periods of which nothing may be kept.
    """

    written: list[DuePeriod]
    deleted: list[PeriodName]


def what_is_due(
    catalogue: MetricCatalog,
    counted: Mapping[bytes, CountedVersion],
    written: Mapping[PeriodName, tuple[bytes, int]],
    lengths: Sequence[PeriodLength],
    kept_since: Mapping[tuple[str, str], int],
    *,
    today: int,
    accept_days: int,
) -> Due:
    """What is to be written and deleted: linear in the days of all metrics.

    Args:
        catalogue: the registered metrics.
        counted: what was counted, by the digest of the version.
        written: the periods in the table: their tags, and when they were written.
        lengths: how long periods are.
        kept_since: the first day of which reports are kept, by application and metric; estimates of
            a period go with the first of its days.
        today: the current day, in days since 1970-01-01; periods end before it.
        accept_days: for how many days a day stays open for reports.
    """
    metrics: defaultdict[tuple[str, str], list[CatalogEntry]] = defaultdict(list)
    for entry in catalogue.entries():
        metrics[entry.registration.spec.application, entry.spec.name].append(entry)
    # Nothing can be said of a metric with a version that only a later server reads.
    unreadable = {(each.application, each.name) for each in catalogue.unreadable().values()}
    kept: set[PeriodName] = set()
    due: list[DuePeriod] = []
    for (application, name), entries in sorted(metrics.items()):
        if (application, name) in unreadable:
            continue
        metric = _Metric(application, name, entries, counted)
        first_kept = kept_since.get((application, name), 0)
        for length in sorted(lengths, key=_ORDER.index):
            for days in metric.periods(length, today):
                if epoch_of(days.since) < first_kept:
                    continue
                period = PeriodName(application, length, name, days.since)
                kept.add(period)
                final = epoch_of(days.until) < today - accept_days
                compared = metric.compared_with(length, days, first_kept)
                tag = metric.tag(days, compared, final=final)
                before, day = written.get(period, (b"", -1))
                if tag is None or tag == before:
                    continue
                if final or day != today or tag[:HALF_BYTES] != before[:HALF_BYTES]:
                    due.append(DuePeriod(period, days, compared, tag, final))
    gone = [
        period
        for period in written
        if period not in kept and (period.application, period.metric) not in unreadable
    ]
    return Due(due, gone)


_ORDER: Final = ("month", "week", "day")


class _Metric:
    """The days of a metric, all versions together."""

    def __init__(
        self,
        application: str,
        name: str,
        entries: Sequence[CatalogEntry],
        counted: Mapping[bytes, CountedVersion],
    ) -> None:
        self._versions = [
            (digest, counted.get(digest, _NOTHING))
            for digest in sorted(entry.spec.digest for entry in entries)
        ]
        self._about = (
            __version__,
            METHOD,
            application,
            name,
            sorted((each.spec.digest, each.registration.registered) for each in entries),
            sorted(each.spec.values for each in entries),
        )
        firsts = [(version.first, digest) for digest, version in self._versions]
        self._firsts = [(day, digest) for day, digest in firsts if day is not None]
        self._first = min((day for day, _ in self._firsts), default=0)

    def periods(self, length: PeriodLength, before: int) -> Iterator[DayRange]:
        """The calendar periods with reports that are over, in their order."""
        days = {
            day
            for _, version in self._versions
            for day, counted in version.days.items()
            if counted.has_reports
        }
        for _, version in self._versions:
            for rolled in version.rolled:
                if rolled.first is not None:
                    days.update(range(rolled.since, rolled.until + 1))
        last = None
        for day in sorted(days):
            period = calendar_period(length, day_of(day))
            if period != last and epoch_of(period.until) < before:
                yield period
            last = period

    def compared_with(
        self, length: PeriodLength, days: DayRange, first_kept: int
    ) -> DayRange | None:
        """The period before, if all of it can be estimated; days are not compared.

        Args:
            length: of the period.
            days: of the period.
            first_kept: the first day of which reports are kept.
        """
        before = calendar_period(length, days.since - timedelta(1))
        is_whole = epoch_of(before.since) >= first_kept and self._counted(before) is not None
        return before if is_whole and length != "day" else None

    def tag(self, days: DayRange, before: DayRange | None, *, final: bool) -> bytes | None:
        """What the estimates of a period depend on.

        Args:
            days: of the period.
            before: the days that they are compared with.
            final: whether none of them takes reports any longer.

        Returns:
            None where days that became one are only partly in the period, so that it cannot be
            estimated any more: what was written before stays.
        """
        counted = self._counted(days)
        if counted is None:
            return None
        decided, parts = counted
        if before is not None:
            others = self._counted(before) or ([], [])
            decided, parts = [*decided, before, *others[0]], [*parts, before, *others[1]]
        since, until = epoch_of(days.since), epoch_of(days.until)
        # The first days of versions, after the first version of all, are marked.
        releases = [
            (day, digest)
            for day, digest in self._firsts
            if day > self._first and since <= day <= until
        ]
        first = max(self._first - since, 0)
        halves = (self._about, final, decided), (first, releases, parts)
        return b"".join(map(_half, halves))

    def _counted(self, days: DayRange) -> tuple[list[object], list[object]] | None:
        """What administrators decided about some days, and the reports; None as of `tag`."""
        since, until = epoch_of(days.since), epoch_of(days.until)
        decided: list[object] = []
        parts: list[object] = []
        for digest, version in self._versions:
            for day in range(since, until + 1):
                if day in version.days:
                    parts.append((digest, day, *version.days[day]))
                    if version.days[day].keys_left_out:
                        decided.append((digest, day, version.days[day].keys_left_out))
            for rolled in version.rolled:
                if rolled.since <= until and since <= rolled.until:
                    if not since <= rolled.since <= rolled.until <= until:
                        return None
                    parts.append((digest, *rolled))
        return decided, parts


def _half(depends_on: object) -> bytes:
    return hashlib.blake2b(repr(depends_on).encode(), digest_size=HALF_BYTES).digest()
