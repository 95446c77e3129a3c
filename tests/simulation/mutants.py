"""Deliberate defects of the program, each of which the simulation must find."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from sqlalchemy import delete, insert, select, update

from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.answering.slices import SliceTable
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.store import (
    Outcome,
    backup,
    base,
    batch,
    inbox,
    merging,
    schema,
    transfer,
)
from deniable_aggregator.keeping.store.encoding import encode_counters
from deniable_aggregator.keeping.store.keys import Keys
from deniable_aggregator.keeping.store.tallies import Tallies
from tests.simulation.model import BATCH_REPORTS

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = "deniable_aggregator"

_take, _insert = batch.delete_rows, batch.insert_parts
_move = batch.Batch.move_to_tallies
_divide, _show_all = InboxFold._divide, inbox.Inbox.show_all
_merge = merging.merge
_append, _portions = inbox._append, transfer._row_chunks
_name, _record = inbox._upload_name, backup._record_restore
_all_keys, _stamps = Keys.all, Tallies.stamps
_between, _renewed = SliceTable.between, SliceTables._renew


def nothing_is_remembered(_: Any, names: Any) -> Any:
    return set(names)


def rows_stay(_: Any, ids: Any) -> int:
    return len(ids)


def parts_are_added_twice(connection: Any, parts: Any) -> Any:
    return _insert(connection, [*parts, *parts])


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


def counted_before_it_is_taken(
    claimed: Any, groups: Any, gathered: Any = (), **options: Any
) -> bool:
    rows = [row for _, some in groups.values() for row in some]
    rows += [row for gathering in gathered for row in gathering.rows]
    with mock.patch.object(batch, "delete_rows", lambda _, ids: len(ids)):
        _move(claimed, groups, gathered, **options)
    with claimed._transaction() as connection:
        _take(connection, [row.id for row in rows])
    return True


def a_day_too_many_is_forgotten(sums: Any, today: int, keep: int, **_: Any) -> int:
    before = today - keep
    with sums._database.write() as connection:
        old = schema.tallies.c.epoch <= before
        connection.execute(delete(schema.tallies).where(old))
    return 0


def a_part_is_lost_at_a_merge(counter: Any, parts: Any, **options: Any) -> Any:
    return _merge(counter, parts[:-1] if len(parts) > 1 else parts, **options)


def reports_are_counted_a_cell_too_far(counter: Any, packed: Any, **_: Any) -> Any:
    reports, counted = counter.fold(packed)
    return merging.NewPart(reports, encode_counters(np.roll(counted, 1), counter.cells))


def totals_are_forgotten(*_: Any) -> None:
    pass


def merged_parts_stay(_: Any, parts: Any) -> int:
    return len(list(parts))


def reports_are_shown_as_they_come(_: Any, __: Any, rows: Any, ___: Any) -> Any:
    return rows, None


def a_batch_is_shown_when_it_is_full(fold: Any, tally: Any, rows: Any, shown_day: int) -> Any:
    showing, gathering = _divide(fold, tally, rows, shown_day)
    if gathering is not None and gathering.row.is_full:
        return [*showing, *gathering.rows], None
    return showing, gathering


def a_batch_is_shown_with_the_next_report(fold: Any, tally: Any, rows: Any, shown_day: int) -> Any:
    showing, gathering = _divide(fold, tally, rows, shown_day)
    shown = {row.id for row in showing}
    more = [row for row in rows if row.is_full and row.id not in shown]
    return [*showing, *more], gathering


def a_batch_is_smaller_by_one(_: Any, tally: Any, rows: Any, shown_day: int) -> Any:
    smaller = SimpleNamespace(_batch_reports=BATCH_REPORTS - 1)
    return _divide(smaller, tally, rows, shown_day)


def a_day_begins_with_each_fold(waiting: Any, day: int) -> bool:
    begun = _show_all(waiting, day)
    return begun or _show_all(waiting, waiting.shown_day() + 1)


def no_day_begins(*_: Any) -> bool:
    return False


def a_day_is_settled_before_it_is(settling: Any, epoch: int, *_: Any, **__: Any) -> bool:
    settling._done.clear()
    with settling._database.write() as connection:
        here = schema.epochs.c.epoch == epoch
        connection.execute(update(schema.epochs).where(here).values(settled=1))
    return True


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


def ids_are_compared_across_applications(upload: Any, _: str, keys: Any) -> Any:
    return _name(upload, "", keys)


def ids_are_not_restored(connection: Any, name: str) -> None:
    _record(connection, name)
    connection.execute(delete(schema.seen))


def only_the_first_slice_of_a_key_is_left_out(table: Any, keys: Any) -> Any:
    here = [code for code, key in enumerate(table.key_ids) if key in keys]
    rows = [row for row, key in enumerate(table.keys.tolist()) if key not in here]
    first = [row for row, key in enumerate(table.keys.tolist()) if key in here][1:]
    return table._rows(np.array(sorted(rows + first), np.int64))


def exclusions_are_remembered(stored: Any) -> Any:
    if not hasattr(stored, "remembered"):
        stored.remembered = _all_keys(stored)
    return stored.remembered


def days_are_read_once(tables: Any, known: Any, stamps: Any, since: int, until: int) -> Any:
    return _renewed(tables, known, {**stamps, **known.stamps}, since, until)


def merged_parts_look_like_before(tallies: Any, digest: bytes, since: int, until: int) -> Any:
    stamps = _stamps(tallies, digest, since, until)
    return {day: stamp._replace(sum=0) for day, stamp in stamps.items()}


def a_day_too_many_is_answered(table: Any, since: int, until: int) -> Any:
    return _between(table, since, until + 1)


def what_comes_again_joins_a_crowd(step: Any, uploads: Any, senders: Any) -> Any:
    outcomes = _append(step, uploads, senders)
    for upload, sender, outcome in zip(uploads, senders, outcomes, strict=True):
        if outcome is Outcome.DUPLICATE and sender.relay is not None:
            digest, epoch, _ = upload.parts[0]
            step.count_relayed({base.RelayGroup(digest, epoch, sender.key_id, *sender.relay): 1})
    return outcomes


def crowds_of_closed_days_are_forgotten(connection: Any, oldest_open: int) -> None:
    connection.execute(delete(schema.relayed).where(schema.relayed.c.epoch < oldest_open))


def any_clock_is_believed(*_: Any) -> int:
    return 0


DEFECTS: dict[str, tuple[str, Callable[..., Any], int]] = {
    defect.__name__: (where, defect, seed)
    for where, defect, seed in (
        ("keeping.store.sqlite.SqliteIngest.remember_uploads", nothing_is_remembered, 1),
        ("keeping.store.batch.delete_rows", rows_stay, 0),
        ("keeping.store.batch.insert_parts", parts_are_added_twice, 0),
        ("keeping.store.batch.merge", a_part_is_lost_at_a_merge, 0),
        ("keeping.store.settling.DaySettler.settle", a_day_is_settled_before_it_is, 160),
        ("keeping.store.merging._smallest", reports_are_counted_a_cell_too_far, 0),
        ("keeping.store.batch.add_to_totals", totals_are_forgotten, 0),
        ("keeping.store.batch.delete_parts", merged_parts_stay, 0),
        ("keeping.fold.InboxFold._divide", reports_are_shown_as_they_come, 0),
        ("keeping.fold.InboxFold._divide", a_batch_is_shown_when_it_is_full, 0),
        ("keeping.fold.InboxFold._divide", a_batch_is_shown_with_the_next_report, 2),
        ("keeping.fold.InboxFold._divide", a_batch_is_smaller_by_one, 53),
        ("keeping.store.inbox.Inbox.show_all", a_day_begins_with_each_fold, 0),
        ("keeping.store.inbox.Inbox.show_all", no_day_begins, 0),
        ("keeping.group_commit.GroupCommitWriter._run", answered_before_the_commit, 0),
        ("keeping.store.inbox._append", closed_days_open_again, 30),
        ("keeping.store.inbox._append", what_comes_again_joins_a_crowd, 0),
        ("keeping.store.inbox.forget_batches", crowds_of_closed_days_are_forgotten, 0),
        ("keeping.store.inbox.Inbox.close_epochs", hashes_go_before_the_key, 679),
        ("keeping.store.inbox.Inbox.close_epochs", days_are_deleted_where_they_are_closed, 11),
        ("keeping.store.inbox.Inbox.append", remembered_in_a_transaction_of_its_own, 7),
        ("keeping.store.batch.Batch.move_to_tallies", counted_before_it_is_taken, 11),
        ("keeping.store.tallies.Tallies.delete_expired", a_day_too_many_is_forgotten, 0),
        ("keeping.store.batch.Batch.set_aside", rows_set_aside_are_lost, 0),
        ("keeping.store.batch._remove_rows", rows_put_back_stay, 0),
        ("keeping.store.batch._remove_rows", rows_put_back_are_lost, 0),
        ("keeping.store.transfer._row_chunks", ids_do_not_move, 25),
        ("keeping.store.tallies._excluded_ids", excluded_keys_are_in_answers, 0),
        ("keeping.clock.GuardedClock._ahead", any_clock_is_believed, 0),
        ("keeping.store.inbox._upload_name", ids_are_compared_across_applications, 1),
        ("keeping.store.backup._record_restore", ids_are_not_restored, 9),
        ("answering.slices.SliceTable.without", only_the_first_slice_of_a_key_is_left_out, 0),
        ("keeping.store.keys.Keys.all", exclusions_are_remembered, 0),
        ("answering.slice_cache.SliceTables._renew", days_are_read_once, 206),
        ("keeping.store.tallies.Tallies.stamps", merged_parts_look_like_before, 397),
        ("answering.slices.SliceTable.between", a_day_too_many_is_answered, 2),
    )
}
"""By name: what the defect replaces, the defect, and a seed that finds it."""
