"""The table of remote configurations: one signed document for each application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from deniable_aggregator.store.schema import remote
from deniable_aggregator.store.tables.audit import append, lock_audit_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.audit import AuditRecord
    from deniable_aggregator.store.backends.base import Database


class RemoteDocuments:
    """Signed documents by application. The server has no key to sign or change one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, application: str) -> str | None:
        """The document of an application, or None."""
        query = select(remote.c.document).where(remote.c.application == application)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one_or_none()

    def replace(
        self, application: str, document: str, check: Callable[[str], None], record: AuditRecord
    ) -> None:
        """Replaces the document of an application, and records that in the audit log.

        Args:
            document: JSON; if it is the present document, nothing happens.
            check: called with the present document, if there is one, in the same transaction;
                raises if it may not be replaced.
        """
        condition = remote.c.application == application
        query = select(remote.c.document).where(condition)
        with self._database.write() as connection:
            lock_audit_log(connection)
            stored = connection.execute(query).scalar_one_or_none()
            if stored == document:
                return
            if stored is not None:
                check(stored)
            connection.execute(delete(remote).where(condition))
            connection.execute(insert(remote).values(application=application, document=document))
            append(connection, record)
