"""Remote configurations at rest: one signed document for each application."""

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
    """Signed documents by application. They are opaque here: the server has no key to any."""

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
        """Puts a document in the place of the one that is there, and says so in the audit log.

        Args:
            application: whose it is.
            document: JSON; if it is the one that is there, nothing happens.
            check: called with the document that is there, if any, in the same transaction; raises
                if that one may not be replaced.
            record: what the audit log says of it.
        """
        here = remote.c.application == application
        query = select(remote.c.document).where(here)
        with self._database.write() as connection:
            lock_audit_log(connection)
            found = connection.execute(query).scalar_one_or_none()
            if found == document:
                return
            if found is not None:
                check(found)
            connection.execute(delete(remote).where(here))
            connection.execute(insert(remote).values(application=application, document=document))
            append(connection, record)
