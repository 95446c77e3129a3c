"""The table of tallies: what was reported by spec, day and key, in parts that add up."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from deniable_aggregator.keeping.store.counted_days import ReportedDays, reported_days
from deniable_aggregator.keeping.store.encoding import CounterSum
from deniable_aggregator.keeping.store.expiry import delete_expired, delete_removed, first_kept_days
from deniable_aggregator.keeping.store.loading import load_sums
from deniable_aggregator.keeping.store.parts import key_ids
from deniable_aggregator.keeping.store.schema import keys, metrics, rolled_periods, tallies, totals
from deniable_aggregator.keeping.store.settling import DaySettler
from deniable_aggregator.keeping.store.stored_slices import (
    StoredSlice,
    TallyTotal,
    add_slices,
    count_slice,
    metric_number,
    read_slices,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from deniable_aggregator.keeping.store.base import Database
    from deniable_aggregator.keeping.store.loading import Loaded, Sums
    from deniable_aggregator.keeping.store.merging import ReportCounter
    from deniable_aggregator.keeping.store.settling import FindCounter

FORGOTTEN_PARTS: Final = 1_000


class Volume(NamedTuple):
    """How many reports one key brought for one day.

    Attributes:
        reports: how many.
        largest: the most of them that one upload brought; 0 if that is not known.
    """

    reports: int
    largest: int


VolumesBySlice = dict[bytes, dict[int, dict[str, Volume]]]
"""Volumes by the digest of their spec, their day and the id of their key."""


class Slice(NamedTuple):
    """The reports that one key brought for one day.

    Attributes:
        epoch: the day.
        key: the id of the write key.
        sum: the sum of the reports.
    """

    epoch: int
    key: str
    sum: TallyTotal


class DayStamp(NamedTuple):
    """What changes whenever something comes, is merged or is deleted of one spec and day.

    Attributes:
        parts: how many parts there are; at least as many as slices.
        sum: of their random ids.
    """

    parts: int
    sum: int


class Tallies:
    """A tally for each (spec, day, key), stored in parts that add up to it.

    Reports that wait in the inbox are in no answer. The reports of a key that an administrator has
    excluded are kept, and left out of every answer.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, counter: ReportCounter, since: int, until: int) -> Iterator[StoredSlice]:
        """Yields the slices of one spec by day, as they are at one moment, of excluded keys too.

        Args:
            until: the last day, inclusive.
        """
        with self._database.read() as connection:
            yield from read_slices(connection, counter, since, until)

    def stamps(self, digest: bytes, since: int, until: int) -> dict[int, DayStamp]:
        """What changes whenever something of a day changes, for each day that has anything.

        Args:
            until: the last day, inclusive.
        """
        stored = (
            select(tallies.c.epoch, func.count(), func.sum(tallies.c.part))
            .where(tallies.c.metric == metric_number(digest), tallies.c.epoch.between(since, until))
            .group_by(tallies.c.epoch)
        )
        with self._database.read() as connection:
            return {
                epoch: DayStamp(parts, int(sum_))
                for epoch, parts, sum_ in connection.execute(stored)
            }

    def total(
        self, counter: ReportCounter, since: int, until: int, without: Collection[str] = ()
    ) -> TallyTotal:
        """The tally of one spec over several days, without excluded keys: as many cells as it has.

        Args:
            until: the last day, inclusive.
            without: ids of more keys whose reports are left out.
        """
        total = CounterSum(counter.cells)
        with self._database.read() as connection:
            left_out = {*without, *_excluded_ids(connection)}
            slices = read_slices(connection, counter, since, until)
            reports = add_slices(
                total, counter, (part for part in slices if part.key not in left_out)
            )
        return TallyTotal(reports, total.array())

    def slices(
        self,
        counter: ReportCounter,
        since: int,
        until: int,
        without: Collection[str] = (),
        *,
        excluded: bool = False,
    ) -> Iterator[Slice]:
        """Yields the counted slices of one spec by day, without excluded keys.

        Args:
            until: the last day, inclusive.
            without: ids of more keys whose reports are left out.
            excluded: whether those of excluded keys are wanted, too.
        """
        with self._database.read() as connection:
            left_out = set(without)
            if not excluded:
                left_out |= _excluded_ids(connection)
            for part in read_slices(connection, counter, since, until):
                if part.key not in left_out:
                    sum_ = TallyTotal(part.reports, count_slice(counter, part))
                    yield Slice(part.epoch, part.key, sum_)

    def reports(
        self, counters: Collection[ReportCounter], *, excluded: bool = False
    ) -> dict[bytes, int]:
        """How many reports of each of these specs there are, by digest; those without are left out.

        Args:
            excluded: whether to count the reports of excluded keys, or those of all others.
        """
        digests = [counter.digest for counter in counters]
        stored = (
            select(metrics.c.digest, totals.c.key, totals.c.reports)
            .join_from(metrics, totals, totals.c.metric == metrics.c.number)
            .where(metrics.c.digest.in_(digests))
        )
        reports_by_version: Counter[bytes] = Counter()
        with self._database.read() as connection:
            chosen = set(connection.execute(select(keys.c.number).where(_is_excluded)).scalars())
            for digest, key, reports in connection.execute(stored):
                reports_by_version[digest] += reports if (key in chosen) == excluded else 0
        return {digest: reports for digest, reports in reports_by_version.items() if reports}

    def reports_by_key(self, counters: Collection[ReportCounter]) -> dict[str, int]:
        """How many counted reports of these specs each key has brought, excluded keys too.

        Reports of days that became one are left out: their keys are no longer known.

        Returns:
            By the id of the key.
        """
        digests = [counter.digest for counter in counters]
        stored = (
            select(totals.c.key, func.sum(totals.c.reports))
            .join_from(metrics, totals, totals.c.metric == metrics.c.number)
            .where(metrics.c.digest.in_(digests))
            .group_by(totals.c.key)
        )
        with self._database.read() as connection:
            names = key_ids(connection)
            rows = [(names.get(key), int(reports)) for key, reports in connection.execute(stored)]
        return {key: reports for key, reports in rows if key is not None and reports}

    def volumes(
        self, counters: Collection[ReportCounter], since: int, until: int
    ) -> VolumesBySlice:
        """How many reports each key brought for each day, excluded keys too.

        Args:
            until: the last day, inclusive.

        Returns:
            By digest, day and id of the key.
        """
        digests = [counter.digest for counter in counters]
        where = (metrics.c.digest, tallies.c.epoch, tallies.c.key)
        query = (
            select(*where, func.sum(tallies.c.reports), func.max(tallies.c.largest))
            .join_from(metrics, tallies, tallies.c.metric == metrics.c.number)
            .where(metrics.c.digest.in_(digests), tallies.c.epoch.between(since, until))
            .group_by(*where)
        )
        volumes: dict[bytes, dict[int, dict[str, Volume]]] = defaultdict(lambda: defaultdict(dict))
        with self._database.read() as connection:
            names = key_ids(connection)
            for digest, epoch, key, reports, largest in connection.execute(query):
                volumes[bytes(digest)][epoch][names[key]] = Volume(int(reports), int(largest))
        return {digest: dict(days) for digest, days in volumes.items()}

    def first_days(
        self, digests: Collection[bytes], without: Collection[str] = ()
    ) -> dict[bytes, int]:
        """The first day of each spec that has reports, without excluded keys.

        Args:
            digests: the specs' digests; those without reports are left out of the answer.
            without: ids of more keys whose reports do not matter.
        """
        days_by_version = {}
        left_out = select(keys.c.number).where(_is_excluded | keys.c.id.in_(without))
        with self._database.read() as connection:
            for digest in digests:  # each reads the beginning of the index
                query = (
                    select(tallies.c.epoch)
                    .where(
                        tallies.c.metric == metric_number(digest), tallies.c.key.not_in(left_out)
                    )
                    .order_by(tallies.c.epoch)
                    .limit(1)
                )
                rolled = select(rolled_periods.c.first).where(
                    rolled_periods.c.metric == metric_number(digest),
                    rolled_periods.c.key.not_in(left_out),
                )
                stored = (connection.execute(statement).scalars() for statement in (query, rolled))
                days_by_version[digest] = [*chain.from_iterable(stored)]
        return {digest: min(days) for digest, days in days_by_version.items() if days}

    def first_days_by_key(self, digest: bytes) -> dict[str, int]:
        """The first day with counted reports of each key, of those that are kept apart by day.

        Args:
            digest: of the spec.
        """
        query = (
            select(tallies.c.key, func.min(tallies.c.epoch))
            .where(tallies.c.metric == metric_number(digest))
            .group_by(tallies.c.key)
        )
        with self._database.read() as connection:
            names = key_ids(connection)
            return {names[key]: epoch for key, epoch in connection.execute(query)}

    def reported_days(self, digests: Collection[bytes]) -> dict[bytes, ReportedDays]:
        """The first and the last day with reports of each spec, without those of excluded keys.

        Args:
            digests: the specs' digests; those without reports are left out of the answer.
        """
        return reported_days(self._database, digests)

    def load(
        self,
        sums: Sums,
        counters: Mapping[bytes, ReportCounter],
        keys: Mapping[str, str],
        *,
        replace: bool = False,
    ) -> Loaded:
        """Puts sums that were counted elsewhere into the store, see `loading.load_sums`."""
        return load_sums(self._database, sums, counters, keys, replace=replace)

    def settler(self, find: FindCounter) -> DaySettler:
        """What gives the slices of closed days their final form: one part each, the smallest.

        Args:
            find: finds the tally of a digest; None where this server has none.
        """
        return DaySettler(self._database, find)

    def delete_expired(
        self, today: int, *, keep: int | None, open_days: int, most: int = FORGOTTEN_PARTS
    ) -> int:
        """Deletes some of what was kept for long enough, in one transaction.

        A metric may be kept for fewer days than all others. Rows that were set aside are deleted
        with the tallies of their day.

        Args:
            today: the current day.
            keep: for how many days tallies are kept at most; None for ever.
            open_days: for how many days a day may take reports; younger tallies are never deleted.
            most: how many parts to delete at most, so that nobody waits long.

        Returns:
            How many parts were deleted; call again until it is none.
        """
        return delete_expired(self._database, today, keep=keep, open_days=open_days, most=most)

    def first_kept_days(
        self, today: int, *, keep: int | None, open_days: int
    ) -> dict[tuple[str, str], int]:
        """The first day of which reports are kept of each metric, by its application and name.

        Args:
            today: the current day.
            keep: as of `delete_expired`.
            open_days: as of `delete_expired`.
        """
        return first_kept_days(self._database, today, keep=keep, open_days=open_days)

    def delete_removed(self, *, most: int = FORGOTTEN_PARTS) -> int:
        """Deletes some of what was counted of metrics that were removed, in one transaction.

        Args:
            most: how many parts to delete at most, so that nobody waits long.

        Returns:
            How many parts were deleted; call again until it is none.
        """
        return delete_removed(self._database, most)


_is_excluded: Final[ColumnElement[bool]] = keys.c.excluded.is_not(None)


def _excluded_ids(connection: Connection) -> set[str]:
    return set(connection.execute(select(keys.c.id).where(_is_excluded)).scalars())
