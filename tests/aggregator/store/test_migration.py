"""Stores of earlier versions keep their counts, and what they refuse, on the way to this one."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect

from deniable_aggregator import Store
from deniable_aggregator.security.keys import KeyVerifier
from deniable_aggregator.store import Outcome, StoreRefusedError
from deniable_aggregator.store.backends.opening import open_database
from deniable_aggregator.store.maintenance.migration import MIGRATIONS, migrate, run_revisions
from deniable_aggregator.store.schema import REVISION, metadata
from deniable_shared import wire
from tests.aggregator.service import TODAY
from tests.aggregator.stored import THEME, append, counted, execute, fold

EARLIER = sorted(Path(__file__).with_name("stores").glob("*.sql"))


@pytest.fixture(params=EARLIER, ids=lambda path: path.stem)
def earlier(request, tmp_path):
    path = tmp_path / "store.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(request.param.read_text())
    return path


def sent(number, payload, epoch):
    return wire.Upload(bytes([number]) * 16, (wire.Part(THEME, epoch, payload),))


def test_there_is_a_store_of_every_earlier_revision():
    revisions = {path.name[1:5] for path in (MIGRATIONS / "versions").glob("v*.py")}
    assert {path.stem for path in EARLIER} == revisions - {REVISION}


def test_a_store_of_an_earlier_version_is_refused_with_what_to_do(earlier):
    before = contents(earlier)
    with pytest.raises(StoreRefusedError, match=f"deniable store migrate --store {earlier}"):
        Store(earlier)
    assert contents(earlier) == before


def test_an_earlier_store_keeps_its_counts_and_its_refusals(earlier):
    migrated = migrate(earlier)
    assert (migrated.before, migrated.after) == ("0001", REVISION)
    with contextlib.closing(Store(earlier)) as store:
        assert counted(store, TODAY) == [0, 0, 1]
        assert counted(store, TODAY - 1) == [1, 2, 0]
        assert counted(store, TODAY - 20) == [0, 1, 0]
        fold(store)
        assert counted(store, TODAY) == [2, 0, 1]
        assert counted(store, TODAY - 1) == [1, 2, 1]
        assert store.inbox.count_set_aside([THEME]) == 1
        again = [
            sent(1, b"\x00\x01\x01", TODAY - 1),
            sent(5, b"\x00\x00", TODAY),
            sent(3, b"\x01", TODAY - 20),
            sent(7, b"\x01", TODAY),
        ]
        duplicate, closed, stored = Outcome.DUPLICATE, Outcome.CLOSED, Outcome.STORED
        assert append(store, again) == [duplicate, duplicate, closed, stored]
        fold(store)
        assert counted(store, TODAY) == [2, 1, 1]
        assert store.tallies.reports([THEME]) == {THEME: 9}


def test_an_earlier_stores_keys_and_metrics_still_hold(earlier):
    migrate(earlier)
    with contextlib.closing(Store(earlier)) as store:
        key = KeyVerifier(store).verify("deniable_write_0123456789ab_" + "A" * 43)
        assert (key.scope, key.application) == ("write", "flightdeck")
        (read,) = (key for key in store.keys.all() if key.scope == "read")
        assert (read.revoked, read.expires, read.excluded) == (TODAY - 5, None, None)
        (metric,) = store.metrics.all().readable
        assert (metric.spec.digest, metric.owners) == (THEME, ("ui@example.org",))


def test_migrating_a_store_of_this_version_changes_nothing(target):
    Store(target).close()
    assert migrate(target).before == REVISION
    Store(target).close()


def test_migrated_and_fresh_stores_have_the_same_tables(fresh_target):
    fresh, migrated = fresh_target(), fresh_target()
    Store(fresh).close()

    # As no store does: from nothing, through every revision.
    open_database(migrated, lambda connection, _: run_revisions(connection)).close()
    assert described(fresh) == described(migrated)


def described(target):
    with contextlib.closing(Store(target)) as store, store._database.read() as connection:
        looking = inspect(connection)
        assert not compare_metadata(MigrationContext.configure(connection), metadata)
        return {
            name: (
                [
                    (each["name"], str(each["type"]), each["nullable"], each["default"])
                    for each in looking.get_columns(name)
                ],
                looking.get_pk_constraint(name),
                looking.get_indexes(name),
            )
            for name in sorted(looking.get_table_names())
        }


def test_a_migration_that_fails_changes_nothing(earlier, monkeypatch):
    before = contents(earlier)

    def failing(*_args, **_options):
        raise KeyError("full")

    monkeypatch.setattr("alembic.op.create_index", failing)
    with pytest.raises(KeyError):
        migrate(earlier)
    monkeypatch.undo()
    assert contents(earlier) == before
    migrate(earlier)


def contents(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_a_store_of_a_later_version_is_not_migrated(target):
    with contextlib.closing(Store(target)) as store:
        execute(store, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreRefusedError, match=r"schema 9999, .*Install the version"):
        migrate(target)


def test_what_is_empty_or_something_else_is_not_migrated(fresh_target):
    empty = fresh_target()
    if isinstance(empty, Path):
        empty.touch()
    with pytest.raises(StoreRefusedError, match="is empty"):
        migrate(empty)
    other = fresh_target()

    def prepare(connection, _name):
        connection.exec_driver_sql("CREATE TABLE notes (text TEXT)")

    open_database(other, prepare).close()
    with pytest.raises(StoreRefusedError, match="not a Deniable store"):
        migrate(other)
    with pytest.raises(StoreRefusedError, match="not a Deniable store"):
        Store(other)
