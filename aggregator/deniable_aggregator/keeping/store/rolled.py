"""The table of rolled-up periods: the sums of closed days that became one, exactly once."""

from __future__ import annotations

import secrets
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select

from deniable_aggregator.keeping.store.parts import (
    PART_BITS,
    PART_COLUMNS,
    StoredPart,
    add_to_totals,
    delete_parts,
    key_ids,
    stored_part,
)
from deniable_aggregator.keeping.store.schema import inbox, keys, metrics, rolled_periods, tallies
from deniable_aggregator.keeping.store.stored_slices import metric_number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from deniable_aggregator.keeping.store.base import Database

ALL_KEYS: Final = ""
"""Stands for the keys whose reports were added up: all that were not excluded then."""

_NO_KEY: Final = 0


class RolledPeriod(NamedTuple):
    """What is stored of some days that became one, without its counters.

    Attributes:
        id: names it; another one whenever it has changed.
        since: the first day.
        until: the last, inclusive.
        key: the id of the key that was excluded when the days became one, or `ALL_KEYS`.
        first: the first day that has reports.
        summary: what is known by day.
    """

    id: int
    since: int
    until: int
    key: str
    first: int
    reports: int
    summary: bytes


class NewPeriod(NamedTuple):
    """What is to be stored of some days that become one.

    Attributes:
        key: the id of an excluded key, or `ALL_KEYS`.
        first: the first day that has reports.
        summary: what is known by day.
        counters: their sum, in the form of a part.
    """

    key: str
    first: int
    reports: int
    summary: bytes
    counters: bytes


class RolledPeriods:
    """Periods of closed days whose tallies became one.

    Their reports are nowhere else. A period is written in the transaction that deletes the tallies
    of its days, so each report is in one of the two, at any moment.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, digest: bytes, since: int, until: int) -> list[RolledPeriod]:
        """The periods of one spec that have any of some days, by day and then by key.

        Args:
            until: the last day, inclusive.
        """
        columns = (rolled_periods.c[name] for name in RolledPeriod._fields if name != "key")
        query = (
            select(*columns, keys.c.id.label("name"))
            .join_from(rolled_periods, keys, rolled_periods.c.key == keys.c.number, isouter=True)
            .where(
                rolled_periods.c.metric == metric_number(digest),
                rolled_periods.c.since <= until,
                rolled_periods.c.until >= since,
            )
            .order_by(rolled_periods.c.since, rolled_periods.c.key)
        )
        with self._database.look_up() as connection:
            return [
                RolledPeriod(
                    row.id,
                    row.since,
                    row.until,
                    row.name or ALL_KEYS,
                    row.first,
                    row.reports,
                    bytes(row.summary),
                )
                for row in connection.execute(query)
            ]

    def counters(self, period: int) -> bytes | None:
        """The counters of a period; None if it has changed since it was read."""
        query = select(rolled_periods.c.counters).where(rolled_periods.c.id == period)
        with self._database.look_up() as connection:
            counters = connection.execute(query).scalar_one_or_none()
        return None if counters is None else bytes(counters)

    def stamp(self, digests: Collection[bytes]) -> tuple[int, int]:
        """What changes whenever days of some specs become one."""
        query = (
            select(func.count(), func.coalesce(func.sum(rolled_periods.c.id), 0))
            .join_from(rolled_periods, metrics, rolled_periods.c.metric == metrics.c.number)
            .where(metrics.c.digest.in_(digests))
        )
        with self._database.look_up() as connection:
            periods, sum_ = connection.execute(query).one()
        return periods, int(sum_)

    def last_mixed_day(self) -> int | None:
        """The last day of any period in which keys cannot be told apart; None if there is none."""
        query = select(func.max(rolled_periods.c.until)).where(rolled_periods.c.key == _NO_KEY)
        with self._database.look_up() as connection:
            last: int | None = connection.execute(query).scalar_one()
        return last

    def days_to_roll_up(self, digest: bytes, before: int) -> list[int]:
        """The days of one spec that have tallies, ascending.

        Args:
            before: the first day that is not asked about.
        """
        conditions = tallies.c.metric == metric_number(digest), tallies.c.epoch < before
        query = select(tallies.c.epoch).where(*conditions).distinct().order_by(tallies.c.epoch)
        with self._database.look_up() as connection:
            return list(connection.execute(query).scalars())

    def parts(self, digest: bytes, since: int, until: int) -> frozenset[int]:
        """The ids of the parts of tallies of some days: what a roll-up replaces.

        Args:
            until: the last day, inclusive.
        """
        query = select(tallies.c.part).where(
            tallies.c.metric == metric_number(digest), tallies.c.epoch.between(since, until)
        )
        with self._database.read() as connection:
            return frozenset(connection.execute(query).scalars())

    def replace(
        self,
        digest: bytes,
        since: int,
        until: int,
        parts: Collection[int],
        old: Sequence[RolledPeriod],
        new: Sequence[NewPeriod],
    ) -> bool:
        """Puts periods in the place of the tallies of their days, in one transaction.

        Args:
            until: the last day, inclusive.
            parts: the ids of all parts of these days, as they were read; their reports are in
                `new`.
            old: all that was stored of the period before; its reports are in `new`, too.
            new: what is stored instead.

        Returns:
            False if reports have come, or others were at it; then nothing has changed.
        """
        try:
            with self._database.write() as connection:
                number = connection.execute(select(metric_number(digest))).scalar_one_or_none()
                if number is None:
                    return False
                parts_found = _lock_parts(connection, number, since, until)
                if {part.part for part in parts_found} != set(parts):
                    raise _ChangedError
                reports = sum(period.reports for period in new) - sum(
                    period.reports for period in old
                )
                if sum(part.reports for part in parts_found) != reports:
                    raise _ChangedError
                waiting = inbox.c.digest == digest, inbox.c.epoch.between(since, until)
                if connection.execute(select(inbox.c.id).where(*waiting).limit(1)).first():
                    raise _ChangedError
                condition = and_(rolled_periods.c.metric == number, rolled_periods.c.since == since)
                _delete_periods(connection, condition, [period.id for period in old])
                if delete_parts(connection, parts_found) != len(parts_found):
                    raise _ChangedError
                numbers = {id_: number for number, id_ in key_ids(connection).items()}
                rows = [
                    {
                        "id": secrets.randbits(PART_BITS),
                        "metric": number,
                        "since": since,
                        "until": until,
                        **period._asdict(),
                        "key": numbers.get(period.key, _NO_KEY),
                    }
                    for period in new
                ]
                connection.execute(insert(rolled_periods), rows)
                apart = {numbers[period.key] for period in new if period.key != ALL_KEYS}
                add_to_totals(connection, _changes_of_totals(parts_found, apart))
        except _ChangedError:
            return False
        return True


class _ChangedError(Exception):
    """The days are not as they were read; undoes the transaction."""


def _lock_parts(connection: Connection, metric: int, since: int, until: int) -> list[StoredPart]:
    conditions = tallies.c.metric == metric, tallies.c.epoch.between(since, until)
    query = select(*PART_COLUMNS).where(*conditions).order_by(*PART_COLUMNS[1:4]).with_for_update()
    return [stored_part(row) for row in connection.execute(query)]


def _delete_periods(
    connection: Connection, condition: ColumnElement[bool], expected: Sequence[int]
) -> None:
    ids = connection.execute(select(rolled_periods.c.id).where(condition)).scalars().all()
    if sorted(ids) != sorted(expected):
        raise _ChangedError
    gone = connection.execute(delete(rolled_periods).where(condition, rolled_periods.c.id.in_(ids)))
    if gone.rowcount != len(ids):
        raise _ChangedError


def _changes_of_totals(
    parts: Sequence[StoredPart], apart: Collection[int]
) -> Mapping[tuple[int, int], int]:
    """How totals change: what cannot be told apart by key any more counts for no key."""
    changes: Counter[tuple[int, int]] = Counter()
    for part in parts:
        if part.where.key not in apart:
            changes[part.where.metric, part.where.key] -= part.reports
            changes[part.where.metric, _NO_KEY] += part.reports
    return changes
