"""What a store holds, for its operator; and a role of PostgreSQL that reads only the estimates."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, or_, select, text

from deniable_aggregator.keeping.audit import AuditAction, record_from_command_line
from deniable_aggregator.keeping.store.base import StoreRefusedError, is_url
from deniable_aggregator.keeping.store.expiry import size_bytes
from deniable_aggregator.keeping.store.keys import append
from deniable_aggregator.keeping.store.opening import open_database, require_existing
from deniable_aggregator.keeping.store.schema import (
    LATEST_ESTIMATES,
    REVISION,
    epochs,
    estimates,
    keys,
    metadata,
    revision,
    tallies,
)

if TYPE_CHECKING:
    from pathlib import Path


def summary(target: str | Path, today: int) -> dict[str, Any]:
    """Counts what a store holds.

    Args:
        today: days since 1970-01-01.

    Returns:
        ``store``, ``database``, ``schema``, ``bytes``, ``rows`` by table, ``reports``, ``slices``,
        ``days`` (``first``, ``last``, ``open``, ``closed``; days since 1970-01-01), ``keys``
        (``valid``, ``revoked``, ``excluded``).

    Raises:
        StoreRefusedError: if it is not a store of this version.
        StoreUnavailableError: if it cannot be read.
    """
    require_existing(target)
    database = open_database(target)
    try:
        with database.read() as connection:
            return {
                "store": database.name,
                "database": connection.dialect.name,
                "schema": REVISION,
                "bytes": size_bytes(database, connection),
                "rows": {
                    table.name: connection.execute(
                        select(func.count()).select_from(table)
                    ).scalar_one()
                    for table in metadata.sorted_tables
                    if table is not revision
                },
                "reports": _reports(connection),
                "slices": _slices(connection),
                "days": _days(connection),
                "keys": _keys(connection, today),
            }
    finally:
        database.close()


def _reports(connection: Connection) -> int:
    return int(connection.execute(select(func.sum(tallies.c.reports))).scalar_one() or 0)


def _slices(connection: Connection) -> int:
    slices = select(tallies.c.metric, tallies.c.epoch, tallies.c.key).distinct().subquery()
    return connection.execute(select(func.count()).select_from(slices)).scalar_one()


def _days(connection: Connection) -> dict[str, Any]:
    first, last = connection.execute(
        select(func.min(tallies.c.epoch), func.max(tallies.c.epoch))
    ).one()
    count = select(func.count()).select_from(epochs)
    return {
        "first": first,
        "last": last,
        "open": connection.execute(count.where(epochs.c.key.is_not(None))).scalar_one(),
        "closed": connection.execute(count.where(epochs.c.key.is_(None))).scalar_one(),
    }


def _keys(connection: Connection, today: int) -> dict[str, int]:
    count = select(func.count()).select_from(keys)
    conditions = {
        "valid": keys.c.revoked.is_(None) & or_(keys.c.expires.is_(None), keys.c.expires >= today),
        "revoked": keys.c.revoked.is_not(None),
        "excluded": keys.c.excluded.is_not(None),
    }
    return {
        name: connection.execute(count.where(condition)).scalar_one()
        for name, condition in conditions.items()
    }


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
