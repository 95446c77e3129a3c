"""Deliberate defects of the program, each of which the simulation must find."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any
from unittest import mock

from sqlalchemy import delete, insert, select, update

from deniable_aggregator.store import Outcome, schema
from deniable_aggregator.store.backends import base
from deniable_aggregator.store.maintenance import transfer
from deniable_aggregator.store.tables import batch, inbox

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = "deniable_aggregator"

_take, _insert = batch.delete_rows, batch.insert_parts
_move = batch.Batch.move_to_tallies
_append, _portions = inbox._append, transfer._row_chunks


def nothing_is_remembered(_: Any, names: Any) -> Any:
    return set(names)


def rows_stay(_: Any, ids: Any) -> int:
    return len(ids)


def parts_are_added_twice(connection: Any, parts: Any) -> Any:
    return _insert(connection, [*parts, *parts])


def rows_that_are_gone_are_counted(connection: Any, ids: Any) -> int:
    _take(connection, ids)
    return len(ids)


def answered_before_the_commit(writer: Any) -> None:
    while group := writer._next_group():
        told = defaultdict(list)
        for pending in group:
            pending.set_outcome(Outcome.STORED)
            told[pending.on_done].append(pending)
        for tell, pendings in told.items():
            tell(pendings)
        writer._commit(group)


def closed_days_open_again(step: Any, uploads: Any, senders: Any) -> Any:
    keys = step.epoch_keys

    def reopened(wanted: Any) -> Any:
        return {day: key or bytes(base.EPOCH_KEY_BYTES) for day, key in keys(wanted).items()}

    step.epoch_keys = reopened
    return _append(step, uploads, senders)


def hashes_go_before_the_key(waiting: Any, oldest_open: int) -> None:
    with waiting._database.write() as connection:
        connection.execute(delete(schema.seen).where(schema.seen.c.epoch < oldest_open))
    with waiting._database.write() as connection:
        old = schema.epochs.c.epoch < oldest_open
        connection.execute(update(schema.epochs).where(old).values(key=None))
    waiting._database.purge()


def days_are_deleted_where_they_are_closed(waiting: Any, oldest_open: int) -> None:
    with waiting._database.write() as connection:
        for table in (schema.seen, schema.epochs):
            connection.execute(delete(table).where(table.c.epoch < oldest_open))
    waiting._database.purge()


def remembered_in_a_transaction_of_its_own(waiting: Any, uploads: Any, senders: Any) -> Any:
    outcomes = []

    def remember(step: Any) -> None:
        step.append_rows = lambda rows: outcomes.append(rows)
        outcomes.extend(_append(step, uploads, senders))

    waiting._database.ingest(remember)
    rows = [each for each in outcomes if isinstance(each, list)]
    for each in rows:
        waiting._database.ingest(lambda step, each=each: step.append_rows(each))
    return [each for each in outcomes if not isinstance(each, list)]


def counted_before_it_is_taken(claimed: Any, groups: Any) -> bool:
    rows = [row for _, some in groups.values() for row in some]
    with mock.patch.object(batch, "delete_rows", lambda _, ids: len(ids)):
        _move(claimed, groups)
    with claimed._transaction() as connection:
        _take(connection, [row.id for row in rows])
    return True


def a_day_too_many_is_forgotten(sums: Any, today: int, keep: int, **_: Any) -> int:
    before = today - keep
    with sums._database.write() as connection:
        old = schema.tallies.c.epoch <= before
        connection.execute(delete(schema.tallies).where(old))
    return 0


def rows_set_aside_are_lost(claimed: Any, rows: Any) -> None:
    with claimed._transaction() as connection:
        batch.delete_rows(connection, [row.id for row in rows])


def rows_put_back_stay(connection: Any, ids: Any, **_: Any) -> int:
    columns = [column.name for column in schema.inbox.c]
    chosen = select(schema.set_aside).where(schema.set_aside.c.id.in_(ids))
    connection.execute(insert(schema.inbox).from_select(columns, chosen))
    return len(ids)


def rows_put_back_are_lost(connection: Any, ids: Any, **_: Any) -> int:
    connection.execute(delete(schema.set_aside).where(schema.set_aside.c.id.in_(ids)))
    return len(ids)


def ids_do_not_move(connection: Any, table: Any) -> Any:
    return iter(()) if table is schema.seen else _portions(connection, table)


def excluded_keys_are_in_answers(_: Any) -> Any:
    return set()


def any_clock_is_believed(*_: Any) -> int:
    return 0


DEFECTS: dict[str, tuple[str, Callable[..., Any], int]] = {
    defect.__name__: (where, defect, seed)
    for where, defect, seed in (
        ("store.backends.sqlite_ingest.SqliteIngest.remember_uploads", nothing_is_remembered, 1),
        ("store.tables.batch.delete_rows", rows_stay, 0),
        ("store.tables.batch.delete_rows", rows_that_are_gone_are_counted, 25),
        ("store.tables.batch.insert_parts", parts_are_added_twice, 0),
        ("ingest.group_commit.GroupCommitWriter._run", answered_before_the_commit, 0),
        ("store.tables.inbox._append", closed_days_open_again, 25),
        ("store.tables.inbox.Inbox.close_epochs", hashes_go_before_the_key, 52),
        ("store.tables.inbox.Inbox.close_epochs", days_are_deleted_where_they_are_closed, 52),
        ("store.tables.inbox.Inbox.append", remembered_in_a_transaction_of_its_own, 7),
        ("store.tables.batch.Batch.move_to_tallies", counted_before_it_is_taken, 12),
        ("store.tables.tallies.Tallies.delete_expired", a_day_too_many_is_forgotten, 0),
        ("store.tables.batch.Batch.set_aside", rows_set_aside_are_lost, 0),
        ("store.tables.set_aside._remove_rows", rows_put_back_stay, 0),
        ("store.tables.set_aside._remove_rows", rows_put_back_are_lost, 0),
        ("store.maintenance.transfer._row_chunks", ids_do_not_move, 0),
        ("store.tables.tallies._excluded_ids", excluded_keys_are_in_answers, 0),
        ("operations.clock.GuardedClock._ahead", any_clock_is_believed, 8),
    )
}
"""By name: what the defect replaces, the defect, and a seed that finds it."""
