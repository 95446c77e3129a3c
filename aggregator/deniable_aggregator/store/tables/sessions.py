"""The table of sessions: who is signed in to pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, insert, select

from deniable_aggregator.store.schema import sessions
from deniable_aggregator.store.tables.audit import append, lock_audit_log

if TYPE_CHECKING:
    from deniable_aggregator.audit import AuditRecord
    from deniable_aggregator.store.backends.base import Database


class StoredSession(NamedTuple):
    """One session.

    Attributes:
        hash: SHA-256 of the cookie.
        key_ids: the keys it was opened with, the newest first.
        until: the last day on which it may be valid, in days since 1970-01-01.
    """

    hash: bytes
    key_ids: tuple[str, ...]
    until: int


class Sessions:
    """Sessions by hash."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, session: StoredSession, record: AuditRecord, *, replaced: bytes | None = None
    ) -> None:
        """Adds a session, and an entry to the audit log.

        Args:
            replaced: the hash of a session that ends with this; None for none.
        """
        values = session._asdict() | {"key_ids": " ".join(session.key_ids)}
        with self._database.write() as connection:
            lock_audit_log(connection)
            if replaced is not None:
                connection.execute(delete(sessions).where(sessions.c.hash == replaced))
            connection.execute(insert(sessions).values(values))
            append(connection, record)

    def find(self, session_hash: bytes) -> StoredSession | None:
        """The session with this hash."""
        query = select(sessions.c.key_ids, sessions.c.until).where(sessions.c.hash == session_hash)
        with self._database.look_up() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        return StoredSession(session_hash, key_ids=tuple(row.key_ids.split()), until=row.until)

    def hashes(self) -> frozenset[bytes]:
        """The hashes of all sessions."""
        with self._database.look_up() as connection:
            return frozenset(map(bytes, connection.execute(select(sessions.c.hash)).scalars()))

    def end(self, session_hash: bytes, record: AuditRecord) -> None:
        """Ends a session and adds an entry to the audit log, unless it has ended already."""
        with self._database.write() as connection:
            lock_audit_log(connection)
            ended = connection.execute(delete(sessions).where(sessions.c.hash == session_hash))
            if ended.rowcount:
                append(connection, record)

    def delete_past(self, today: int) -> None:
        """Deletes the sessions of past days.

        Args:
            today: days since 1970-01-01.
        """
        past = sessions.c.until < today
        with self._database.look_up() as connection:
            if connection.execute(select(sessions.c.hash).where(past).limit(1)).first() is None:
                return
        with self._database.write() as connection:
            connection.execute(delete(sessions).where(past))
