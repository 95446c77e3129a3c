"""A batch: inbox rows that become parts of tallies, each once."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, insert, select

from deniable_aggregator.store.chunks import in_chunks
from deniable_aggregator.store.encoding import encode_reports, join_reports
from deniable_aggregator.store.schema import inbox, keys, metrics, set_aside
from deniable_aggregator.store.tables.merging import awaits_archive, merge, worth_merging
from deniable_aggregator.store.tables.parts import (
    NewPart,
    SliceNumbers,
    add_to_totals,
    delete_parts,
    insert_parts,
    lock_parts,
    read_bodies,
    sum_by_total,
    unsettle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from deniable_aggregator.store.backends.base import InboxRow
    from deniable_aggregator.store.tables.merging import ReportCounter
    from deniable_aggregator.store.tables.parts import StoredPart

log = logging.getLogger("deniable_aggregator")


class TallyKey(NamedTuple):
    """What identifies a tally: a spec, a day and a write key."""

    digest: bytes
    epoch: int
    key: str


class TakenError(Exception):
    """Another process has counted or merged one of these rows; undoes the transaction."""


class Batch:
    """Rows of the inbox that are being moved to tallies.

    Args:
        reading: begins a read, or continues the transaction that holds the rows' locks.
        writing: begins a transaction, or a savepoint in the one that holds the rows' locks.
    """

    def __init__(
        self,
        rows: list[InboxRow],
        reading: Callable[[], AbstractContextManager[Connection]],
        writing: Callable[[], AbstractContextManager[Connection]],
    ) -> None:
        self.rows = rows
        self._reading = reading
        self._transaction = writing

    def groups(self) -> Mapping[TallyKey, list[InboxRow]]:
        """The rows by the tally that they belong to."""
        groups: defaultdict[TallyKey, list[InboxRow]] = defaultdict(list)
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
        groups: Mapping[TallyKey, tuple[ReportCounter, Sequence[InboxRow]]],
        *,
        keep_reports: bool = False,
    ) -> bool:
        """Adds rows to their tallies and deletes them, in one transaction.

        Parts that are worth it are merged with the new reports, so that nothing is written twice.

        Args:
            groups: some rows of this batch by their tally, which is of a registered metric and of
                a key of the store, with what counts them.
            keep_reports: whether reports stay reports, until an archive has them.

        Returns:
            False if another process has counted or merged some of it; then nothing has changed.
        """
        if not groups:
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
        for where, (counter, _) in groups.items():
            parts, merged = _with_new(
                counter, packed[where], chosen[where], bodies, keep_reports=keep_reports
            )
            new += [(numbers[where], part) for part in parts]
            gone += merged
        rows = [row for _, members in groups.values() for row in members]
        arrived = sum_by_total(
            (numbers[where], len(packed[where]) // counter.report_bytes)
            for where, (counter, _) in groups.items()
        )
        try:
            with self._transaction() as connection:
                if delete_rows(connection, [row.id for row in rows]) != len(rows):
                    raise TakenError
                replace_parts(connection, gone, new)
                unsettle(connection, (where.epoch for where in groups))
                add_to_totals(connection, arrived)
        except TakenError:
            return False
        return True

    def discard(self, rows: Sequence[InboxRow]) -> None:
        """Deletes rows of metrics that were removed."""
        with self._transaction() as connection:
            delete_rows(connection, [row.id for row in rows])

    def set_aside(self, rows: Sequence[InboxRow]) -> None:
        """Moves rows that cannot be counted to the table set_aside."""
        columns = [column.name for column in set_aside.c]
        with self._transaction() as connection:
            for ids in in_chunks([row.id for row in rows]):
                chosen = select(*(inbox.c[name] for name in columns)).where(inbox.c.id.in_(ids))
                connection.execute(insert(set_aside).from_select(columns, chosen))
                delete_rows(connection, ids)


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
    packed: bytes,
    chosen: Sequence[StoredPart],
    bodies: Mapping[int, bytes],
    *,
    keep_reports: bool,
) -> tuple[list[NewPart], Sequence[StoredPart]]:
    """New reports merged with parts, and the parts that are merged.

    Ingest has checked every report, so a failure means damage, a defect, or too little memory. It
    must not keep new reports from being moved.
    """
    alone = NewPart(
        len(packed) // counter.report_bytes, encode_reports(packed, counter.report_bytes)
    )
    old = [NewPart(part.reports, bodies.get(part.part, b"")) for part in chosen]
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
