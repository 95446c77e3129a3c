"""A store of another kind, or of another version: transfer and migration."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, LargeBinary, Table, func, insert, select

from deniable_aggregator.keeping.audit import AuditAction, record_from_command_line
from deniable_aggregator.keeping.store.backup import atomic_file
from deniable_aggregator.keeping.store.base import StoreRefusedError
from deniable_aggregator.keeping.store.keys import append, append_if_possible
from deniable_aggregator.keeping.store.opening import (
    newer_schema_error,
    open_database,
    require_existing,
    revision_of,
)
from deniable_aggregator.keeping.store.schema import REVISION, metadata, revision, sessions, tallies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


MIGRATIONS = Path(__file__).with_name("migrations")


class MigrationResult(NamedTuple):
    """The schema of a store before and after a migration.

    Attributes:
        before: the revision that the store had.
        after: the revision that it has now.
    """

    before: str
    after: str


def migrate(target: str | Path) -> MigrationResult:
    """Brings a store to the newest schema, in one transaction.

    Args:
        target: a store that exists.

    Raises:
        StoreRefusedError: if the target is not a store, or a later version wrote it.
        StoreUnavailableError: if the store cannot be written, or another program has it open; then
            nothing has changed.
    """
    require_existing(target)
    found: list[str | None] = []

    def look(connection: Connection, name: str) -> None:
        found.append(revision_of(connection, name))

    def prepare(connection: Connection, name: str) -> None:
        found.append(upgrade(connection, name))

    open_database(target, look).close()
    if found != [REVISION]:  # nobody need stop for a store that has it already
        open_database(target, prepare, alone=True).close()
    return MigrationResult(str(found[-1]), REVISION)


def upgrade(connection: Connection, name: str) -> str:
    """Runs the revisions that a store lacks, and records that in its audit log.

    Args:
        connection: in a transaction that nobody else can be in.
        name: the store's name in messages.

    Returns:
        The revision that the store had.

    Raises:
        StoreRefusedError: if the database is not a store, or a later version wrote it.
    """
    revision_found = revision_of(connection, name)
    if revision_found is None:
        raise StoreRefusedError(f"{name}: is empty. deniable serve --store {name} creates a store.")
    scripts = ScriptDirectory.from_config(_alembic_config(connection))
    if revision_found not in {script.revision for script in scripts.walk_revisions()}:
        raise newer_schema_error(name, revision_found)
    run_revisions(connection)
    if revision_found != REVISION:
        details = {"from": revision_found, "to": REVISION}
        append(connection, record_from_command_line(AuditAction.STORE_MIGRATE, **details))
    return revision_found


def run_revisions(connection: Connection) -> None:
    """Runs the revisions that Alembic's table does not name; all of them if it has no table."""
    command.upgrade(_alembic_config(connection), "head")


def _alembic_config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


FETCHED_ROWS: Final = 256
INSERTED_ROWS: Final = 5_000
INSERTED_BYTES: Final = 8 << 20


def export_store(target: str | Path, file: Path, progress: Callable[[int, int], None]) -> int:
    """Copies a store into a new SQLite file, which is a store itself.

    Args:
        file: must not exist; only its owner may read it then.
        progress: called with the number of copied rows and of all rows.

    Returns:
        How many rows were copied.

    Raises:
        StoreRefusedError: if the target is no store of this version, or the file exists.
        StoreUnavailableError: if reading or writing failed; then there is no file.
    """
    require_existing(target)
    with atomic_file(file) as part:
        rows = copy_store(target, part, progress)
    with closing(open_database(target)) as database:
        append_if_possible(database, record_from_command_line(AuditAction.STORE_EXPORT, rows=rows))
    return rows


def import_store(file: Path, target: str | Path, progress: Callable[[int, int], None]) -> int:
    """Copies a store in an SQLite file into an empty store, in one transaction.

    Args:
        file: a store in an SQLite file, such as `export_store` makes.
        target: a store without any content; created if absent.
        progress: called with the number of copied rows and of all rows.

    Returns:
        How many rows were copied.

    Raises:
        StoreRefusedError: if one of them is no store of this version, or the target has content;
            then nothing was copied.
        StoreUnavailableError: if reading or writing failed; then nothing was copied.
    """
    require_existing(file)
    return copy_store(file, target, progress, AuditAction.STORE_IMPORT)


def copy_store(
    source: str | Path,
    target: str | Path,
    progress: Callable[[int, int], None],
    act: AuditAction | None = None,
) -> int:
    """Copies all tables into an empty store; only sessions stay behind, so people sign in again.

    That includes the upload ids and keys of open days, so that an upload that is sent again after
    the move counts once.

    Args:
        target: a store without any content; created if absent.
        progress: called with the number of copied rows and of all rows.
        act: the action to record in the copy's audit log, if any.

    Returns:
        How many rows were copied.
    """
    tables = [table for table in metadata.sorted_tables if table not in (revision, sessions)]
    origin = open_database(source)
    try:
        destination = open_database(target)
        try:
            with origin.read() as reading, destination.write() as writing:
                rows_by_table = {table.name: _count_rows(writing, table) for table in tables}
                if any(rows_by_table.values()):
                    full = ", ".join(name for name, number in rows_by_table.items() if number)
                    raise StoreRefusedError(
                        f"{destination.name}: must be empty, but it has content in {full}. "
                        "Name a new store."
                    )
                total = sum(_count_rows(reading, table) for table in tables)
                copied = 0
                progress(0, total)
                for table in tables:
                    for rows in _row_chunks(reading, table):
                        writing.execute(insert(table), rows)
                        copied += len(rows)
                        progress(copied, total)
                _require_equal(reading, writing, tables)
                if act is not None:
                    append(writing, record_from_command_line(act, rows=copied))
        finally:
            destination.close()
    finally:
        origin.close()
    return copied


def _count_rows(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _row_chunks(connection: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    """Yields the rows of a table in chunks that fit into memory."""
    binary = [column.name for column in table.c if isinstance(column.type, LargeBinary)]
    query = select(table).execution_options(yield_per=FETCHED_ROWS)
    rows: list[dict[str, Any]] = []
    size = 0
    with connection.execute(query) as result:
        for row in result.mappings():
            rows.append(dict(row))
            size += sum(len(row[name] or b"") for name in binary)
            if len(rows) >= INSERTED_ROWS or size >= INSERTED_BYTES:
                yield rows
                rows, size = [], 0
    if rows:
        yield rows


def _require_equal(reading: Connection, writing: Connection, tables: Sequence[Table]) -> None:
    """Checks that a copy has as many rows and reports as its original."""
    reports = select(func.coalesce(func.sum(tallies.c.reports), 0))
    same = all(
        _count_rows(reading, table) == _count_rows(writing, table) for table in tables
    ) and int(reading.execute(reports).scalar_one()) == int(writing.execute(reports).scalar_one())
    if not same:
        raise StoreRefusedError("the copy differs from its original; nothing was kept of it")
