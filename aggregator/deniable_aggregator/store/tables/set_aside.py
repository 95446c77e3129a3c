"""The table of rows that could not be counted: listing them, and counting or deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import delete, func, insert, select

from deniable_aggregator.audit import AuditAction, AuditRecord
from deniable_aggregator.store.chunks import in_chunks
from deniable_aggregator.store.schema import inbox, metrics, set_aside
from deniable_aggregator.store.tables.audit import append, lock_audit_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from deniable_aggregator.store.backends.base import Database

MOVED_ROWS: Final = 10_000
"""So many rows are moved in one transaction, so that nobody waits long."""


class SetAsideGroup(NamedTuple):
    """The rows of one spec that were set aside.

    Attributes:
        digest: the spec's digest.
        application: the application of the metric, or None if the spec is not registered.
        name: the metric's name, or None if the spec is not registered.
        payload_bytes: bytes of reports in them.
        first: the first day of their reports.
        last: the last day of their reports.
    """

    digest: bytes
    application: str | None
    name: str | None
    rows: int
    payload_bytes: int
    first: int
    last: int


class SetAsideRows:
    """Rows that could not be counted. An operator who has removed the cause puts them back."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def groups(self) -> list[SetAsideGroup]:
        """The rows that were set aside, grouped by spec, in the order of digests."""
        query = (
            select(
                set_aside.c.digest,
                metrics.c.application,
                metrics.c.name,
                func.count().label("rows"),
                func.sum(func.length(set_aside.c.payload)).label("payload_bytes"),
                func.min(set_aside.c.epoch).label("first"),
                func.max(set_aside.c.epoch).label("last"),
            )
            .join_from(set_aside, metrics, metrics.c.digest == set_aside.c.digest, isouter=True)
            .group_by(set_aside.c.digest, metrics.c.application, metrics.c.name)
            .order_by(set_aside.c.digest)
        )
        with self._database.read() as connection:
            groups = [SetAsideGroup(**row._mapping) for row in connection.execute(query)]
        return [group._replace(payload_bytes=int(group.payload_bytes)) for group in groups]

    def retry(self, digest: bytes, *, day: int, actor: str) -> int:
        """Puts the rows of a spec back into the inbox, each of them once.

        Their uploads were accepted while their days were open, so they count also if the days are
        closed now. Rows that still cannot be counted are set aside again.

        Args:
            day: days since 1970-01-01, for the audit log.
            actor: who does it, for the audit log.

        Returns:
            How many rows were put back.

        Raises:
            StoreUnavailableError: if the store failed; every row is in one of the two tables.
        """
        return self._empty(digest, AuditRecord(day, actor, AuditAction.ASIDE_RETRY, {}), back=True)

    def discard(self, digest: bytes, *, day: int, actor: str) -> int:
        """Deletes the rows of a spec for good.

        Args:
            day: days since 1970-01-01, for the audit log.
            actor: who does it, for the audit log.

        Returns:
            How many rows were deleted.

        Raises:
            StoreUnavailableError: if the store failed; some rows may have been deleted.
        """
        return self._empty(
            digest, AuditRecord(day, actor, AuditAction.ASIDE_DISCARD, {}), back=False
        )

    def _empty(self, digest: bytes, record: AuditRecord, *, back: bool) -> int:
        # Only the rows of now: what a server sets aside again meanwhile is left for the next call.
        query = select(set_aside.c.id).where(set_aside.c.digest == digest)
        with self._database.read() as connection:
            ids = connection.execute(query).scalars().all()
        settled = 0
        for start in range(0, len(ids), MOVED_ROWS):
            with self._database.write() as connection:
                lock_audit_log(connection)
                rows = _remove_rows(connection, ids[start : start + MOVED_ROWS], back=back)
                if rows:
                    details = {"digest": digest.hex(), "rows": rows}
                    append(connection, record._replace(details=details))
            settled += rows
        return settled


def _remove_rows(connection: Connection, ids: Sequence[int], *, back: bool) -> int:
    """Deletes rows, and copies them into the inbox if wanted; returns how many were still there."""
    columns = [column.name for column in inbox.c]
    removed = 0
    for chunk in in_chunks(ids):
        # Lock them, as a server may be deleting the rows of old days.
        query = select(set_aside.c.id).where(set_aside.c.id.in_(chunk)).with_for_update()
        present = connection.execute(query).scalars().all()
        condition = set_aside.c.id.in_(present)
        if back:
            chosen = select(*(set_aside.c[name] for name in columns)).where(condition)
            connection.execute(insert(inbox).from_select(columns, chosen))
        connection.execute(delete(set_aside).where(condition))
        removed += len(present)
    return removed
