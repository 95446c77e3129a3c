"""The table of the audit log. Entries are added, and never changed or deleted."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final

from sqlalchemy import insert, select, type_coerce
from sqlalchemy.types import NullType

from deniable_aggregator.audit import AuditEntry, AuditRecord, canonical_json, next_entry
from deniable_aggregator.store.errors import StoreUnavailableError
from deniable_aggregator.store.schema import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sqlalchemy import Connection, Select

    from deniable_aggregator.audit import AuditAction
    from deniable_aggregator.store.backends.base import Database

FETCHED_ROWS: Final = 256

log = logging.getLogger("deniable_aggregator")

# Not a lock on the table: a role that may only add entries has no right to lock it. The table's oid
# is in the lock's key, as one database may hold the tables of two stores.
_LOCK: Final = f"SELECT pg_advisory_xact_lock({0x61756474}, 'audit'::regclass::oid::int)"


class AuditLog:
    """What administrators did, in order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, after: int = 0) -> Iterator[AuditEntry]:
        """Yields the entries after a sequence number, in order."""
        query = _entries().where(audit.c.sequence > after).order_by(audit.c.sequence)
        query = query.execution_options(yield_per=FETCHED_ROWS)
        with self._database.read() as connection, connection.execute(query) as rows:
            for row in rows:
                yield AuditEntry(*row)

    def last(self, entries: int) -> list[AuditEntry]:
        """The last entries, in order.

        Args:
            entries: at most how many; at least 1.
        """
        query = _entries().order_by(audit.c.sequence.desc()).limit(entries)
        with self._database.read() as connection:
            return [AuditEntry(*row) for row in connection.execute(query)][::-1]

    def newest_details(self, act: AuditAction) -> dict[str, Any] | None:
        """The details of the last entry of an action; None if there is none."""
        with self._database.look_up() as connection:
            details = connection.execute(_details(act)).scalar_one_or_none()
        return None if details is None else json.loads(details)

    def record_if_changed(self, record: AuditRecord) -> bool:
        """Records a state, such as a setting, unless the last entry of its action says the same.

        Returns:
            Whether it was recorded.
        """
        with self._database.read() as connection:
            details = connection.execute(_details(record.act)).scalar_one_or_none()
        if details == canonical_json(record.details):
            return False
        with self._database.write() as connection:
            append(connection, record)
        return True


def lock_audit_log(connection: Connection) -> None:
    """Makes transactions that record actions wait for each other, until this one ends."""
    # SQLite has one writing transaction at a time anyway.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_LOCK)


def append(connection: Connection, record: AuditRecord) -> None:
    """Records an action in the action's own transaction, so that both are committed or neither.

    Args:
        connection: in the transaction of the action. This should be its last step, as nobody else
            can record anything until it ends.

    Raises:
        StoreUnavailableError: if somebody has damaged the last hash, so that no entry can follow.
    """
    lock_audit_log(connection)
    row = connection.execute(_entries().order_by(audit.c.sequence.desc()).limit(1)).one_or_none()
    last = None if row is None else AuditEntry(*row)
    if last is not None and not isinstance(last.hash, bytes):
        raise StoreUnavailableError("the audit log is damaged; see deniable log verify")
    connection.execute(insert(audit).values(next_entry(last, record)._asdict()))


def append_if_possible(database: Database, record: AuditRecord) -> None:
    """Records that a store was copied. Logs a warning if it cannot: a read-only role may copy."""
    try:
        with database.write() as connection:
            append(connection, record)
    except StoreUnavailableError as error:
        log.warning("this is not in the audit log: %s", error)


def _details(act: AuditAction) -> Select[str]:
    query = select(audit.c.details).where(audit.c.act == act.value)
    return query.order_by(audit.c.sequence.desc()).limit(1)


def _entries() -> Select[Any]:
    # Read the hash untyped: a value that somebody else put there must be found, not fail to load.
    columns = (audit.c[name] for name in AuditEntry._fields if name != "hash")
    return select(*columns, type_coerce(audit.c.hash, NullType()).label("hash"))
