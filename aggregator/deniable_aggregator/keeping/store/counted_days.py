"""What changes whenever something of a day changes, and from when to when there are reports."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, ScalarSelect, case, exists, func, select

from deniable_aggregator.keeping.audit import AuditAction
from deniable_aggregator.keeping.store.schema import (
    audit,
    epochs,
    keys,
    metrics,
    rolled_periods,
    tallies,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deniable_aggregator.keeping.store.base import Database


_AT_ONCE: Final = 500
"""So many versions are asked about in one query."""


class ReportedDays(NamedTuple):
    """The days between which a version has reports.

    Attributes:
        first: the first day, in days since 1970-01-01.
        last: the last; of days that became one, the last day of their period.
    """

    first: int
    last: int


def reported_days(database: Database, digests: Collection[bytes]) -> dict[bytes, ReportedDays]:
    """The first and the last day with counted reports of each spec.

    Reports of excluded keys do not matter. Each spec costs two look-ups in an index, however many
    reports it has.

    Args:
        digests: the specs' digests; those without reports are left out of the answer.
    """
    days_by_version: dict[bytes, ReportedDays] = {}
    names = list(digests)
    for start in range(0, len(names), _AT_ONCE):
        for digest, *days in _read(database, names[start : start + _AT_ONCE]):
            known_days = [
                day for day in (*days, *days_by_version.get(bytes(digest), ())) if day is not None
            ]
            if known_days:
                days_by_version[bytes(digest)] = ReportedDays(min(known_days), max(known_days))
    return days_by_version


def _read(database: Database, digests: list[bytes]) -> Iterator[tuple[Any, ...]]:
    """Rows of a digest and days."""
    excluded = select(keys.c.number).where(keys.c.excluded.is_not(None))
    mine = tallies.c.metric == metrics.c.number, tallies.c.key.not_in(excluded)

    def end(order: Any) -> ScalarSelect[int]:
        query = select(tallies.c.epoch).where(*mine).order_by(order).limit(1)
        return query.correlate(metrics).scalar_subquery()

    counted = select(
        metrics.c.digest, end(tallies.c.epoch.asc()), end(tallies.c.epoch.desc())
    ).where(metrics.c.digest.in_(digests))
    rolled = (
        select(metrics.c.digest, func.min(rolled_periods.c.first), func.max(rolled_periods.c.until))
        .join_from(metrics, rolled_periods, rolled_periods.c.metric == metrics.c.number)
        .where(metrics.c.digest.in_(digests), rolled_periods.c.key.not_in(excluded))
        .group_by(metrics.c.digest)
    )
    with database.read() as connection:
        for query in (counted, rolled):
            for row in connection.execute(query):
                yield tuple(row)


_CHANGING: Final = (
    AuditAction.KEY_EXCLUDE,
    AuditAction.KEY_INCLUDE,
    AuditAction.METRICS_REGISTER,
    AuditAction.METRICS_REMOVE,
)
"""Acts that change answers about days to which no reports came."""


class CountedDay(NamedTuple):
    """What changes whenever something of a version and day changes.

    Attributes:
        parts: how many parts there are.
        sum: of their random ids.
        left_out: the same sum, of the parts of excluded keys alone.
        keys_left_out: the sum of these keys' numbers.
        has_reports: whether there are any that are not left out.
    """

    parts: int
    sum: int
    left_out: int
    keys_left_out: int
    has_reports: bool


class RolledDays(NamedTuple):
    """What changes whenever something of days changes that became one.

    Attributes:
        since: the first day.
        until: the last, inclusive.
        first: the first of them with reports that are not left out; None if there is none.
        parts: the random ids of what is stored, each with whether its reports are left out.
    """

    since: int
    until: int
    first: int | None
    parts: tuple[tuple[int, bool], ...]


class CountedVersion(NamedTuple):
    """What was counted of a version.

    Attributes:
        days: by day, in days since 1970-01-01.
        rolled: the days that became one.
    """

    days: Mapping[int, CountedDay]
    rolled: Sequence[RolledDays]

    @property
    def first(self) -> int | None:
        """The first day with reports that are not left out; None if there is none."""
        days = [day for day, counted in self.days.items() if counted.has_reports]
        days += [period.first for period in self.rolled if period.first is not None]
        return min(days, default=None)


class CountedDays:
    """What was counted by day, in figures that tell whether it has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stamp(self, before: int) -> object:
        """What changes whenever something of a closed day may have changed.

        It is cheap, whatever the store holds, so that a server can ask again and again. Reports
        that wait in the inbox change it once they are counted.

        Args:
            before: the first day that is not asked about.
        """
        closed = epochs.c.key.is_(None), epochs.c.epoch < before
        # A day that is settled again after something came late gets another random number.
        settled = select(func.count(), func.sum(epochs.c.settled)).where(*closed)
        open_days = select(epochs.c.epoch).where(*closed, epochs.c.settled.is_(None))
        unsettled = (
            select(func.count(), func.sum(tallies.c.part))
            .join_from(metrics, tallies, tallies.c.metric == metrics.c.number)
            .where(tallies.c.epoch.in_(open_days))
        )
        rolled = select(func.count(), func.sum(rolled_periods.c.id))
        last = select(func.max(audit.c.sequence)).where(audit.c.act.in_(_CHANGING))
        with self._database.look_up() as connection:
            figures = [
                tuple(None if figure is None else int(figure) for figure in row)
                for query in (settled, unsettled, rolled, last)
                for row in connection.execute(query)
            ]
        return before, figures

    def any(self, before: int) -> bool:
        """Whether there are reports of some days, or have been.

        Args:
            before: the first day that is not asked about.
        """
        query = select(exists().where(epochs.c.epoch < before))
        with self._database.look_up() as connection:
            return bool(connection.execute(query).scalar_one())

    def versions(self, before: int) -> dict[bytes, CountedVersion]:
        """What was counted of all versions, by digest: a few queries, whatever there is.

        Args:
            before: the first day that is not asked about.
        """
        with self._database.read() as connection:
            excluded = select(keys.c.number).where(keys.c.excluded.is_not(None))
            left_out = frozenset(connection.execute(excluded).scalars())
            numbers = connection.execute(select(metrics.c.number, metrics.c.digest))
            digests = {number: bytes(digest) for number, digest in numbers}
            days = _days(connection, before, left_out)
            rolled = _rolled_days(connection, before, left_out)
        return {
            digest: CountedVersion(days.get(number, {}), rolled.get(number, []))
            for number, digest in digests.items()
            if number in days or number in rolled
        }


def _days(
    connection: Connection, before: int, left_out: frozenset[int]
) -> defaultdict[int, dict[int, CountedDay]]:
    """What is in tallies, by the number of the version and by day."""
    is_left_out = tallies.c.key.in_(sorted(left_out))
    query = (
        select(
            tallies.c.metric,
            tallies.c.epoch,
            func.count(),
            func.sum(tallies.c.part),
            func.sum(case((is_left_out, tallies.c.part), else_=0)),
            func.sum(case((is_left_out, tallies.c.key), else_=0).distinct()),
            func.sum(case((is_left_out, 0), else_=1)),
        )
        .where(tallies.c.epoch < before)
        .group_by(tallies.c.metric, tallies.c.epoch)
    )
    days_by_metric: defaultdict[int, dict[int, CountedDay]] = defaultdict(dict)
    for metric, epoch, parts, sum_, out, of_keys, counted in connection.execute(query):
        days_by_metric[metric][epoch] = CountedDay(
            parts, int(sum_), int(out), int(of_keys), counted > 0
        )
    return days_by_metric


def _rolled_days(
    connection: Connection, before: int, left_out: frozenset[int]
) -> dict[int, list[RolledDays]]:
    """By the number of the version."""
    names = ("metric", "since", "until", "id", "key", "first")
    query = (
        select(*(rolled_periods.c[name] for name in names))
        .where(rolled_periods.c.until < before)
        .order_by(rolled_periods.c.metric, rolled_periods.c.since, rolled_periods.c.id)
    )
    periods_by_metric: defaultdict[int, dict[tuple[int, int], RolledDays]] = defaultdict(dict)
    for metric, since, until, part, key, first in connection.execute(query):
        days = periods_by_metric[metric].get((since, until), RolledDays(since, until, None, ()))
        is_out = key in left_out
        firsts = [day for day in (days.first, None if is_out else first) if day is not None]
        periods_by_metric[metric][since, until] = days._replace(
            first=min(firsts, default=None), parts=(*days.parts, (part, is_out))
        )
    return {metric: list(periods.values()) for metric, periods in periods_by_metric.items()}
