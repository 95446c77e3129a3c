"""Bringing a store of an earlier version to this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import insert

from deniable_aggregator.audit import AuditAction, record_from_command_line
from deniable_aggregator.store.backends.creation import (
    FIRST_REVISION,
    newer_schema_error,
    revision_of,
)
from deniable_aggregator.store.backends.opening import open_database, require_existing
from deniable_aggregator.store.errors import StoreRefusedError
from deniable_aggregator.store.schema import REVISION, revision
from deniable_aggregator.store.tables.audit import append

if TYPE_CHECKING:
    from sqlalchemy import Connection

MIGRATIONS = Path(__file__).parents[1] / "migrations"


class MigrationResult(NamedTuple):
    """What a migration has done.

    Attributes:
        before: the revision that was found.
        after: the revision that the store has now.
    """

    before: str
    after: str


def migrate(target: str | Path) -> MigrationResult:
    """Brings a store to the newest schema, in one transaction.

    Args:
        target: a store that exists.

    Raises:
        StoreRefusedError: if it is not a store, or one of a later version.
        StoreUnavailableError: if it cannot be written; then nothing has changed.
    """
    require_existing(target)
    found: list[str] = []

    def prepare(connection: Connection, name: str) -> None:
        found.append(upgrade(connection, name))

    open_database(target, prepare).close()
    return MigrationResult(found[0], REVISION)


def upgrade(connection: Connection, name: str) -> str:
    """Runs the missing revisions in a transaction; returns the revision that was found.

    Raises:
        StoreRefusedError: if it is not a store, or one of a later version.
    """
    found = revision_of(connection, name)
    if found is None:
        raise StoreRefusedError(f"{name}: is empty. deniable serve --store {name} creates a store.")
    if found not in {each.revision for each in _scripts(connection).walk_revisions()}:
        raise newer_schema_error(name, found)
    if found == FIRST_REVISION:
        revision.create(connection)
        connection.execute(insert(revision).values(version_num=FIRST_REVISION))
    run_revisions(connection)
    if found != REVISION:
        append(
            connection,
            record_from_command_line(AuditAction.STORE_MIGRATE, **{"from": found, "to": REVISION}),
        )
    return found


def run_revisions(connection: Connection) -> None:
    """Runs the revisions that Alembic's table does not have, all of them if there is no table."""
    command.upgrade(_config(connection), "head")


def _scripts(connection: Connection) -> ScriptDirectory:
    return ScriptDirectory.from_config(_config(connection))


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
