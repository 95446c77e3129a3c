"""A batch: inbox rows that become parts of tallies, each once; and rows that were set aside."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select

from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.store.base import Database, WaitingRow, in_chunks
from deniable_aggregator.keeping.store.encoding import encode_reports, join_reports
from deniable_aggregator.keeping.store.keys import append, lock_audit_log
from deniable_aggregator.keeping.store.merging import (
    ReportCounter,
    awaits_archive,
    merge,
    worth_merging,
)
from deniable_aggregator.keeping.store.parts import (
    NewPart,
    SliceNumbers,
    StoredPart,
    add_to_totals,
    delete_parts,
    insert_parts,
    lock_parts,
    read_bodies,
    sum_by_total,
    unsettle,
)
from deniable_aggregator.keeping.store.schema import inbox, keys, metrics, set_aside, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager


log = logging.getLogger("deniable_aggregator")


class TallyKey(NamedTuple):
    """What identifies a tally: a spec, a day and a write key."""

    digest: bytes
    epoch: int
    key: str


class TakenError(Exception):
    """Another process has counted or merged one of these rows; undoes the transaction."""


class Gathering(NamedTuple):
    """Rows of a slice that become one.

    Attributes:
        rows: what it is made of.
        row: what takes their place.
    """

    rows: Sequence[WaitingRow]
    row: WaitingRow


class Batch:
    """Rows of the inbox that are being counted: moved to tallies, or gathered.

    Args:
        rows: of each slice among them all gathered rows, too.
        shown_day: the last day at whose begin all that waited became due.
        may_have_more: whether there may be more rows to claim.
        reading: begins a read, or continues the transaction that holds the rows' locks.
        writing: begins a transaction, or a savepoint in the one that holds the rows' locks.
    """

    def __init__(
        self,
        rows: list[WaitingRow],
        reading: Callable[[], AbstractContextManager[Connection]],
        writing: Callable[[], AbstractContextManager[Connection]],
        *,
        shown_day: int = 0,
        may_have_more: bool = False,
    ) -> None:
        self.rows = rows
        self.shown_day = shown_day
        self.may_have_more = may_have_more
        self._reading = reading
        self._transaction = writing

    def groups(self) -> Mapping[TallyKey, list[WaitingRow]]:
        """The rows by the tally that they belong to."""
        groups: defaultdict[TallyKey, list[WaitingRow]] = defaultdict(list)
        for row in self.rows:
            groups[TallyKey(row.digest, row.epoch, row.key)].append(row)
        return groups

    def unknown_keys(self) -> frozenset[str]:
        """The ids of keys that rows came with and that are not in the store."""
        key_ids = {row.key for row in self.rows}
        with self._reading() as connection:
            return frozenset(key_ids - _key_numbers(connection, key_ids).keys())

    def move_to_tallies(
        self,
        groups: Mapping[TallyKey, tuple[ReportCounter, Sequence[WaitingRow]]],
        gathered: Sequence[Gathering] = (),
        *,
        keep_reports: bool = False,
    ) -> bool:
        """Adds rows to their tallies and deletes them, and gathers others, in one transaction.

        Parts that are worth it are merged with the new reports, so that nothing is written twice.

        Args:
            groups: some rows of this batch by their tally, which is of a registered metric and of
                a key of the store, with what counts them.
            gathered: other rows of this batch, which go on waiting as fewer.
            keep_reports: whether reports stay reports, until an archive has them.

        Returns:
            False if another process has counted or merged some of it; then nothing has changed.
        """
        if not groups and not gathered:
            return True
        with self._reading() as connection:
            numbers = slice_numbers(connection, groups)
            if len(numbers) < len(groups):  # a metric was removed a moment ago
                return False
            present = lock_parts(connection, list(numbers.values()))
            packed = {
                where: join_reports((row.payload for row in rows), counter.report_bytes)
                for where, (counter, rows) in groups.items()
            }
            chosen = {
                where: worth_merging(
                    [
                        part
                        for part in present.get(numbers[where], [])
                        if not keep_reports or awaits_archive(part.form)
                    ],
                    len(packed[where]),
                )
                for where in groups
            }
            old = [part for parts in chosen.values() for part in parts]
            bodies = read_bodies(connection, old)
        new: list[tuple[SliceNumbers, NewPart]] = []
        gone: list[StoredPart] = []
        for where, (counter, waiting) in groups.items():
            alone = NewPart(
                len(packed[where]) // counter.report_bytes,
                encode_reports(packed[where], counter.report_bytes),
                max(row.largest for row in waiting) // counter.report_bytes,
            )
            parts, merged = _with_new(
                counter, alone, chosen[where], bodies, keep_reports=keep_reports
            )
            new += [(numbers[where], part) for part in parts]
            gone += merged
        rows = [row for _, members in groups.values() for row in members]
        rows += [row for gathering in gathered for row in gathering.rows]
        arrived = sum_by_total(
            (numbers[where], len(packed[where]) // counter.report_bytes)
            for where, (counter, _) in groups.items()
        )
        try:
            with self._transaction() as connection:
                if delete_rows(connection, [row.id for row in rows]) != len(rows):
                    raise TakenError
                if read_shown_day(connection) != self.shown_day:  # all of this is due by now
                    raise TakenError
                if gathered:
                    connection.execute(insert(inbox), [each.row._asdict() for each in gathered])
                replace_parts(connection, gone, new)
                unsettle(connection, (where.epoch for where in groups))
                add_to_totals(connection, arrived)
        except TakenError:
            return False
        return True

    def discard(self, rows: Sequence[WaitingRow]) -> None:
        """Deletes rows of metrics that were removed."""
        with self._transaction() as connection:
            delete_rows(connection, [row.id for row in rows])

    def set_aside(self, rows: Sequence[WaitingRow]) -> None:
        """Moves rows that cannot be counted to the table set_aside."""
        with self._transaction() as connection:
            for ids in in_chunks([row.id for row in rows]):
                chosen = select(*(inbox.c[name] for name in _MOVED)).where(inbox.c.id.in_(ids))
                connection.execute(insert(set_aside).from_select(_MOVED, chosen))
                delete_rows(connection, ids)


_MOVED: Final = ("id", "digest", "epoch", "key", "payload", "largest")
"""What is kept of a row that is set aside: put back, it is one that was not gathered."""


def read_shown_day(connection: Connection) -> int:
    """The last day at whose begin all that waited became due; 0 before anything was counted."""
    return connection.execute(select(shown.c.day)).scalar_one_or_none() or 0


def delete_rows(connection: Connection, row_ids: Sequence[int]) -> int:
    """Deletes rows of the inbox inside a transaction; returns how many were still there."""
    return sum(
        connection.execute(delete(inbox).where(inbox.c.id.in_(ids))).rowcount
        for ids in in_chunks(row_ids)
    )


def replace_parts(
    connection: Connection,
    old: Sequence[StoredPart],
    new: Sequence[tuple[SliceNumbers, NewPart]],
) -> list[int]:
    """Puts parts in the place of others, inside a transaction; returns the ids of the new ones.

    Raises:
        TakenError: if another process has merged or deleted some of them.
    """
    if delete_parts(connection, old) != len(old):
        raise TakenError
    return insert_parts(connection, new)


def _with_new(
    counter: ReportCounter,
    alone: NewPart,
    chosen: Sequence[StoredPart],
    bodies: Mapping[int, bytes],
    *,
    keep_reports: bool,
) -> tuple[list[NewPart], Sequence[StoredPart]]:
    """New reports merged with parts, and the parts that are merged.

    Ingest has checked every report, so a failure means damage, a defect, or too little memory. It
    must not keep new reports from being moved.
    """
    old = [NewPart(part.reports, bodies.get(part.part, b""), part.largest) for part in chosen]
    try:
        return merge(counter, [alone, *old], keep_reports=keep_reports), chosen
    except Exception as error:  # noqa: BLE001  see above
        log.error("parts of a tally could not be merged: %s", type(error).__name__)
        return [alone], ()


def slice_numbers(
    connection: Connection, groups: Iterable[TallyKey]
) -> dict[TallyKey, SliceNumbers]:
    """The numbers of slices, which are of registered metrics and of keys of the store."""
    digests = sorted({where.digest for where in groups})
    metric_numbers: dict[bytes, int] = {}
    for chunk in in_chunks(digests):
        query = select(metrics.c.digest, metrics.c.number).where(metrics.c.digest.in_(chunk))
        metric_numbers.update(
            (bytes(digest), number) for digest, number in connection.execute(query)
        )
    key_numbers = _key_numbers(connection, {where.key for where in groups})
    return {
        where: SliceNumbers(metric_numbers[where.digest], where.epoch, key_numbers[where.key])
        for where in groups
        if where.digest in metric_numbers
    }


def _key_numbers(connection: Connection, ids: Collection[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for chunk in in_chunks(sorted(ids)):
        query = select(keys.c.id, keys.c.number).where(keys.c.id.in_(chunk))
        numbers.update((key, number) for key, number in connection.execute(query))
    return numbers


MOVED_ROWS: Final = 10_000
"""So many rows are moved in one transaction, so that nobody waits long."""


class SetAsideGroup(NamedTuple):
    """The rows of one spec that were set aside.

    Attributes:
        digest: the spec's digest.
        application: the application of the metric, or None if the spec is not registered.
        name: the metric's name, or None if the spec is not registered.
        payload_bytes: bytes of reports in them.
        first: the first day of their reports.
        last: the last day of their reports.
    """

    digest: bytes
    application: str | None
    name: str | None
    rows: int
    payload_bytes: int
    first: int
    last: int


class SetAsideRows:
    """Rows that could not be counted. An operator who has removed the cause puts them back."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def groups(self) -> list[SetAsideGroup]:
        """The rows that were set aside, grouped by spec, in the order of digests."""
        # Grouped here, as the database's sorter would write all payloads into a file.
        size = func.length(set_aside.c.payload)
        query = (
            select(set_aside.c.digest, metrics.c.application, metrics.c.name)
            .add_columns(set_aside.c.epoch, size)
            .join_from(set_aside, metrics, metrics.c.digest == set_aside.c.digest, isouter=True)
        )
        groups: dict[bytes, SetAsideGroup] = {}
        with self._database.read() as connection:
            for digest, application, name, day, payload_bytes in connection.execute(query):
                new = SetAsideGroup(bytes(digest), application, name, 0, 0, day, day)
                known = groups.get(new.digest, new)
                groups[new.digest] = known._replace(
                    rows=known.rows + 1,
                    payload_bytes=known.payload_bytes + payload_bytes,
                    first=min(known.first, day),
                    last=max(known.last, day),
                )
        return [groups[digest] for digest in sorted(groups)]

    def retry(self, digest: bytes, *, day: int, actor: str) -> int:
        """Puts the rows of a spec back into the inbox, each of them once.

        Their uploads were accepted while their days were open, so they count also if the days are
        closed now. Rows that still cannot be counted are set aside again.

        Args:
            day: days since 1970-01-01, for the audit log.
            actor: who does it, for the audit log.

        Returns:
            How many rows were put back.

        Raises:
            StoreUnavailableError: if the store failed; every row is in one of the two tables.
        """
        return self._empty(digest, AuditRecord(day, actor, AuditAction.ASIDE_RETRY, {}), back=True)

    def discard(self, digest: bytes, *, day: int, actor: str) -> int:
        """Deletes the rows of a spec for good.

        Args:
            day: days since 1970-01-01, for the audit log.
            actor: who does it, for the audit log.

        Returns:
            How many rows were deleted.

        Raises:
            StoreUnavailableError: if the store failed; some rows may have been deleted.
        """
        return self._empty(
            digest, AuditRecord(day, actor, AuditAction.ASIDE_DISCARD, {}), back=False
        )

    def _empty(self, digest: bytes, record: AuditRecord, *, back: bool) -> int:
        # Only the rows of now: what a server sets aside again meanwhile is left for the next call.
        query = select(set_aside.c.id).where(set_aside.c.digest == digest)
        with self._database.read() as connection:
            ids = connection.execute(query).scalars().all()
        settled = 0
        for start in range(0, len(ids), MOVED_ROWS):
            with self._database.write() as connection:
                lock_audit_log(connection)
                rows = _remove_rows(connection, ids[start : start + MOVED_ROWS], back=back)
                if rows:
                    details = {"digest": digest.hex(), "rows": rows}
                    append(connection, record._replace(details=details))
            settled += rows
        return settled


def _remove_rows(connection: Connection, ids: Sequence[int], *, back: bool) -> int:
    """Deletes rows, and copies them into the inbox if wanted; returns how many were still there."""
    removed = 0
    for chunk in in_chunks(ids):
        # Lock them, as a server may be deleting the rows of old days.
        query = select(set_aside.c.id).where(set_aside.c.id.in_(chunk)).with_for_update()
        present = connection.execute(query).scalars().all()
        condition = set_aside.c.id.in_(present)
        if back:
            chosen = select(*(set_aside.c[name] for name in _MOVED)).where(condition)
            connection.execute(insert(inbox).from_select(_MOVED, chosen))
        connection.execute(delete(set_aside).where(condition))
        removed += len(present)
    return removed
