"""Tables of what people declare: remote configurations, and the history of registered versions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection, Select, delete, insert, select

from deniable_aggregator.answers.registry_history import (
    GENESIS,
    HistoryEntry,
    RegistryHistory,
    chain_entry,
)
from deniable_aggregator.keeping.store.base import Database, StoreUnavailableError
from deniable_aggregator.keeping.store.keys import append, lock_audit_log
from deniable_aggregator.keeping.store.schema import registered_versions, remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deniable_aggregator.keeping.audit import AuditRecord


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


def read_history(connection: Connection, application: str) -> RegistryHistory:
    """The history of an application's registry; without entries if it never had a metric.

    Raises:
        StoreUnavailableError: if somebody has damaged an entry so that it cannot be read.
    """
    query = _entries(application).order_by(registered_versions.c.sequence)
    entries = [_decode(entry) for entry in connection.execute(query).scalars()]
    head = entries[-1].hash if entries else GENESIS
    return RegistryHistory(application=application, entries=entries, head=head)


def applications_with_history(connection: Connection) -> list[str]:
    """The applications that ever had a metric, by name."""
    names = select(registered_versions.c.application).distinct()
    return sorted(connection.execute(names).scalars())


def append_history(connection: Connection, acts: Iterable[tuple[str, HistoryEntry]]) -> None:
    """Records acts on registries in the transaction of the acts, so that both happen or neither.

    Args:
        connection: in the transaction, which holds the lock of the audit log.
        acts: of whose registry each is, and its entry without a place.

    Raises:
        StoreUnavailableError: if somebody has damaged the last entry, so that none can follow.
    """
    by_application: defaultdict[str, list[HistoryEntry]] = defaultdict(list)
    for application, entry in acts:
        by_application[application].append(entry)
    for application, entries in by_application.items():
        newest = _entries(application).order_by(registered_versions.c.sequence.desc()).limit(1)
        newest_entry = connection.execute(newest).scalar_one_or_none()
        last = None if newest_entry is None else _decode(newest_entry)
        rows = []
        for entry in entries:
            last = chain_entry(application, last, entry)
            text = msgspec.json.encode(last).decode()
            rows.append({"application": application, "sequence": last.sequence, "entry": text})
        connection.execute(insert(registered_versions), rows)


def _entries(application: str) -> Select[str]:
    condition = registered_versions.c.application == application
    return select(registered_versions.c.entry).where(condition)


def _decode(text: str) -> HistoryEntry:
    try:
        return msgspec.json.decode(text, type=HistoryEntry)
    except (msgspec.MsgspecError, TypeError) as error:
        raise StoreUnavailableError(f"the history of the registry is damaged: {error}") from None
