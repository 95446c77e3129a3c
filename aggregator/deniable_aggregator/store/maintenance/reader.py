"""A role of PostgreSQL that reads the table of estimates and nothing else."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from sqlalchemy import text

from deniable_aggregator.audit import AuditAction, record_from_command_line
from deniable_aggregator.store.backends.opening import open_database, require_existing
from deniable_aggregator.store.backends.urls import is_url
from deniable_aggregator.store.errors import StoreRefusedError
from deniable_aggregator.store.schema import LATEST_ESTIMATES, estimates, metadata
from deniable_aggregator.store.tables.audit import append

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

READABLE = (estimates.name, LATEST_ESTIMATES)


def allow_reader(target: str | Path, role: str) -> None:
    """Lets a role select from `estimates` and `latest_estimates`.

    Args:
        target: the store, in PostgreSQL.
        role: one that exists.

    Raises:
        StoreRefusedError: if the store is a file, there is no such role, or the role may read other
            tables; then nothing has changed.
        StoreUnavailableError: if the store cannot be used.
    """
    if not is_url(target):
        raise StoreRefusedError(
            f"{target}: is a file, which has no roles: whoever may read it reads all of it. Open "
            f"it read-only, file:{target}?mode=ro, or use PostgreSQL"
        )
    require_existing(target)
    with closing(open_database(target)) as database, database.write() as connection:
        _require_role(connection, role)
        quoted = connection.dialect.identifier_preparer.quote(role)
        schema = connection.dialect.identifier_preparer.quote(
            connection.exec_driver_sql("SELECT current_schema()").scalar_one()
        )
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {schema} TO {quoted}")
        connection.exec_driver_sql(f"GRANT SELECT ON {', '.join(READABLE)} TO {quoted}")
        _require_nothing_else(connection, role)
        append(connection, record_from_command_line(AuditAction.STORE_READER))


def _require_role(connection: Connection, role: str) -> None:
    query = text("SELECT 1 FROM pg_roles WHERE rolname = :role")
    if connection.execute(query, {"role": role}).first() is None:
        quoted = connection.dialect.identifier_preparer.quote(role)
        raise StoreRefusedError(
            f"there is no role {role}. Make one first, in psql: CREATE ROLE {quoted} LOGIN "
            "PASSWORD '...'"
        )


def _require_nothing_else(connection: Connection, role: str) -> None:
    allowed = text("SELECT has_table_privilege(:role, :name, :act)")
    objections = {
        name: None
        for name in (*metadata.tables, LATEST_ESTIMATES)
        for act in ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE")
        if not (name in READABLE and act == "SELECT")
        and connection.execute(allowed, {"role": role, "name": name, "act": act}).scalar_one()
    }
    if objections:
        raise StoreRefusedError(
            f"the role {role} may do more than read estimates, with the tables "
            f"{', '.join(objections)}. Name one that neither owns the tables nor is a superuser, "
            "and revoke what it was granted"
        )
