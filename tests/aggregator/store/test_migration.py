"""An earlier store is refused until it was migrated; a migration loses nothing.

Nobody else has a store open while it is migrated, and no earlier version changes it afterwards.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, event, inspect

from deniable_aggregator import Store
from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_aggregator.keeping.store import (
    StoreRefusedError,
    StoreUnavailableError,
    opening,
    sqlite,
    transfer,
)
from deniable_aggregator.keeping.store.backup import backup
from deniable_aggregator.keeping.store.opening import open_database
from deniable_aggregator.keeping.store.postgresql import _SESSION
from deniable_aggregator.keeping.store.schema import LATEST_ESTIMATES, REVISION, metadata
from deniable_aggregator.keeping.store.transfer import MIGRATIONS, migrate, run_revisions
from tests.aggregator.service import TODAY
from tests.aggregator.stored import TALLY, THEME, append, counted, decoded, execute, fold, register

LATER = "9998"
LATER_REVISION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{LATER}"
down_revision = "{REVISION}"


def upgrade():
    op.create_table("notes", sa.Column("text", sa.Text))
    op.create_index("notes_text", "notes", ["text"])
    op.add_column("inbox", sa.Column("note", sa.Text))
"""
VERSIONED = opening, sqlite, transfer
"""The modules that know which schema this version works with."""


@pytest.fixture
def later_version(monkeypatch, tmp_path):
    """Makes this the version after this one, which has one more revision."""
    migrations = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, migrations)
    (migrations / "versions" / f"v{LATER}_notes.py").write_text(LATER_REVISION)
    monkeypatch.setattr(transfer, "MIGRATIONS", migrations)
    for module in VERSIONED:
        monkeypatch.setattr(module, "REVISION", LATER)


@pytest.fixture
def earlier(target, request):
    """A store of this version, with reports that wait and reports that are counted."""
    with contextlib.closing(Store(target)) as store:
        register(store)
        append(store, [decoded(b"\x00\x01"), decoded(b"\x02")])
        fold(store)
        append(store, [decoded(b"\x01")])
    request.getfixturevalue("later_version")
    return target


def tables(target):
    seen = []
    open_database(target, lambda connection, _: seen.extend(columns(connection).items())).close()
    return seen


def asked(target, query):
    """What a query answers, whatever the store's version is."""
    found = []

    def ask(connection, _):
        found.extend(tuple(row) for row in connection.exec_driver_sql(query))

    open_database(target, ask).close()
    return found


def test_an_earlier_store_is_refused_with_what_to_do(earlier):
    before = tables(earlier)
    with pytest.raises(StoreRefusedError, match="deniable store migrate --store "):
        Store(earlier)
    assert tables(earlier) == before


def test_a_migrated_store_keeps_its_reports_and_records_the_migration_once(earlier):
    assert migrate(earlier) == (REVISION, LATER)
    assert migrate(earlier) == (LATER, LATER)
    with contextlib.closing(Store(earlier)) as store:
        assert counted(store, TODAY) == [1, 1, 1]  # another waits
        fold(store)
        assert counted(store, TODAY) == [1, 2, 1]
        assert store.tallies.reports([TALLY]) == {THEME: 4}
        (entry,) = (each for each in store.audit.entries() if each.act == "store.migrate")
        assert entry.actor == COMMAND_LINE
        assert json.loads(entry.details) == {"from": REVISION, "to": LATER}


def test_a_migration_that_fails_changes_nothing(earlier, monkeypatch):
    before = tables(earlier)

    def failing(*_args, **_options):
        raise KeyError("full")

    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_index", failing)
        with pytest.raises(KeyError):
            migrate(earlier)
    assert tables(earlier) == before
    migrate(earlier)


CHANGING = ("CREATE", "ALTER", "INSERT", "UPDATE", "DELETE")


def migrate_and_die(target, place):
    """Migrates, but is killed before a change or the commit: the one at that place among them."""
    places = itertools.count()

    def die(*_):
        if next(places) == place:
            os.kill(os.getpid(), signal.SIGKILL)

    def look(_connection, _cursor, statement, *_):
        if statement.lstrip().upper().startswith(CHANGING):
            die()

    event.listen(Engine, "before_cursor_execute", look)
    event.listen(Engine, "commit", die)
    migrate(target)


@pytest.mark.service
def test_a_store_whose_migration_is_killed_is_old_or_new_and_a_second_one_completes_it(earlier):
    before = tables(earlier)
    fork = multiprocessing.get_context("fork")
    places = itertools.count()
    while tables(earlier) == before:
        place = next(places)
        process = fork.Process(target=migrate_and_die, args=(earlier, place))
        process.start()
        process.join()
        assert process.exitcode in (-signal.SIGKILL, 0)  # 0 once nothing follows the commit
    killed = tables(earlier)
    assert place > len(("table", "index", "column", "version", "commit"))
    assert migrate(earlier) == (LATER, LATER)
    assert tables(earlier) == killed
    with contextlib.closing(Store(earlier)) as store:
        fold(store)
        assert counted(store, TODAY) == [1, 2, 1]


def test_migrating_a_store_of_this_version_changes_nothing(target):
    Store(target).close()
    assert migrate(target).before == REVISION
    Store(target).close()


def test_migrated_and_fresh_stores_have_the_same_tables(fresh_target):
    fresh, migrated = fresh_target(), fresh_target()
    Store(fresh).close()

    # No store is made this way: from nothing, through every revision.
    open_database(migrated, lambda connection, _: run_revisions(connection)).close()
    assert described(fresh) == described(migrated)


def test_a_store_that_another_program_has_open_is_not_migrated(target, request):
    with contextlib.closing(Store(target)) as store:
        register(store)
        append(store, [decoded(b"\x00\x01")])
        request.getfixturevalue("later_version")
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="another program has the store open"):
                migrate(target)
            append(store, [decoded(b"\x02")])
        fold(store)
        assert counted(store, TODAY) == [1, 1, 2]
    assert migrate(target) == (REVISION, LATER)
    with contextlib.closing(Store(target)) as store:
        assert counted(store, TODAY) == [1, 1, 2]


def test_nobody_opens_a_store_while_it_is_migrated(earlier, monkeypatch):
    monkeypatch.setitem(_SESSION, "lock_timeout", "100ms")
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 100)
    opened = []

    def opening_meanwhile(connection):
        run(connection)
        with pytest.raises((StoreUnavailableError, StoreRefusedError)):
            opened.append(Store(earlier, read_only=True))

    run = transfer.run_revisions
    monkeypatch.setattr(transfer, "run_revisions", opening_meanwhile)
    migrate(earlier)
    assert opened == []
    Store(earlier).close()


def test_an_earlier_version_changes_nothing_in_a_migrated_store(earlier, monkeypatch, tmp_path):
    migrate(earlier)
    with contextlib.closing(Store(earlier)) as store:
        append(store, [decoded(b"\x02")])
    for module in VERSIONED:
        monkeypatch.setattr(module, "REVISION", REVISION)
    monkeypatch.setattr(sqlite, "LOG_COMMITS", 1)
    asked(earlier, "UPDATE inbox SET note = 'kept' RETURNING id")
    with pytest.raises(StoreRefusedError, match=f"has schema {LATER}"):
        Store(earlier)
    backup(earlier, tmp_path / "backup", lambda *_: None)
    assert asked(earlier, "SELECT note FROM inbox") == [("kept",), ("kept",)]


def test_a_server_whose_database_was_migrated_while_it_was_away_stores_nothing(postgresql, request):
    target = postgresql.fresh_schema()
    with contextlib.closing(Store(target)) as store:
        register(store)
        append(store, [decoded(b"\x00")])
        request.getfixturevalue("later_version")
        with postgresql.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        migrate(target)
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match=f"migrated to schema {LATER}"):
                append(store, [decoded(b"\x01")])


def described(target):
    with contextlib.closing(Store(target)) as store, store._database.read() as connection:
        assert not compare_metadata(MigrationContext.configure(connection), metadata)
        looking = inspect(connection)
        views = {
            name: " ".join(looking.get_view_definition(name).split())
            for name in looking.get_view_names()
        }
        assert set(views) == {LATEST_ESTIMATES}
        return columns(connection), views


def columns(connection):
    """By table: its columns, its primary key and its indexes."""
    looking = inspect(connection)
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
