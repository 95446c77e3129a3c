"""Bringing a store of an earlier version to the schema of this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from deniable_aggregator.audit import AuditAction, record_from_command_line
from deniable_aggregator.store.backends.creation import newer_schema_error, revision_of
from deniable_aggregator.store.backends.opening import open_database, require_existing
from deniable_aggregator.store.errors import StoreRefusedError
from deniable_aggregator.store.schema import REVISION
from deniable_aggregator.store.tables.audit import append

if TYPE_CHECKING:
    from sqlalchemy import Connection

MIGRATIONS = Path(__file__).parents[1] / "migrations"


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
        StoreUnavailableError: if the store cannot be written; then nothing has changed.
    """
    require_existing(target)
    revisions: list[str] = []

    def prepare(connection: Connection, name: str) -> None:
        revisions.append(upgrade(connection, name))

    open_database(target, prepare).close()
    return MigrationResult(revisions[0], REVISION)


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
