"""Tables of what people declare: annotations, lists, remote configurations, registered versions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select

from deniable_aggregator.answers.registry_history import (
    GENESIS,
    HistoryEntry,
    RegistryHistory,
    chain_entry,
)
from deniable_aggregator.keeping.store.base import Database, StoreUnavailableError
from deniable_aggregator.keeping.store.counters import compress, decompress
from deniable_aggregator.keeping.store.keys import append, lock_audit_log
from deniable_aggregator.keeping.store.schema import (
    annotated_days,
    registered_versions,
    remote,
    saved_lists,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deniable_aggregator.keeping.audit import AuditRecord


class StoredAnnotation(NamedTuple):
    """What happened on a day.

    Attributes:
        day: in days since 1970-01-01.
    """

    day: int
    text: str


class StoredAnnotations:
    """Annotations by application and day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, application: str) -> list[StoredAnnotation]:
        """The annotations of an application, by day."""
        columns = annotated_days.c.day, annotated_days.c.text
        condition = annotated_days.c.application == application
        query = select(*columns).where(condition).order_by(annotated_days.c.day)
        with self._database.look_up() as connection:
            return [StoredAnnotation(*row) for row in connection.execute(query)]

    def write(
        self,
        application: str,
        new: StoredAnnotation,
        check: Callable[[int], None],
        record: AuditRecord,
    ) -> None:
        """Writes an annotation, in place of one of the same day, and records that in the audit log.

        Args:
            check: called with how many other days are annotated, in the same transaction; raises
                if there is no room for one more.
        """
        conditions = annotated_days.c.application == application, annotated_days.c.day != new.day
        row: dict[str, Any] = {"application": application, **new._asdict()}
        with self._database.write() as connection:
            lock_audit_log(connection)
            count = select(func.count()).select_from(annotated_days).where(*conditions)
            check(int(connection.execute(count).scalar_one()))
            connection.execute(delete(annotated_days).where(*_day_conditions(application, new.day)))
            connection.execute(insert(annotated_days).values(row))
            append(connection, record)

    def delete(self, application: str, day: int, record: AuditRecord) -> bool:
        """Deletes an annotation, and records that in the audit log.

        Args:
            day: in days since 1970-01-01.

        Returns:
            Whether there was one.
        """
        with self._database.write() as connection:
            lock_audit_log(connection)
            deleted = connection.execute(
                delete(annotated_days).where(*_day_conditions(application, day))
            )
            if deleted.rowcount:
                append(connection, record)
        return bool(deleted.rowcount)


def _day_conditions(application: str, day: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return annotated_days.c.application == application, annotated_days.c.day == day


class StoredList(NamedTuple):
    """A saved list, without its values.

    Attributes:
        name: unique in its application.
        saved: the day on which it got these values, in days since 1970-01-01.
        number: of values.
        size: of the values as text, in bytes.
    """

    name: str
    saved: int
    number: int
    size: int


class SavedLists:
    """Lists of values by application and name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, application: str) -> list[StoredList]:
        """The lists of an application, by name."""
        columns = [saved_lists.c[name] for name in StoredList._fields]
        condition = saved_lists.c.application == application
        query = select(*columns).where(condition).order_by(saved_lists.c.name)
        with self._database.look_up() as connection:
            return [StoredList(*row) for row in connection.execute(query)]

    def text(self, application: str, name: str) -> str | None:
        """The values of a list, a line each; None if there is no such list."""
        query = select(saved_lists.c.body).where(*_list_conditions(application, name))
        with self._database.look_up() as connection:
            body = connection.execute(query).scalar_one_or_none()
        return None if body is None else decompress(bytes(body)).decode()

    def save(
        self,
        application: str,
        new: StoredList,
        text: str,
        check: Callable[[int, int], None],
        record: AuditRecord,
    ) -> None:
        """Saves a list, in place of one of the same name, and records that in the audit log.

        Args:
            text: its values, a line each.
            check: called with how many other lists the application has, and how large they are
                together, in the same transaction; raises if there is no room for one more.
        """
        body = compress(text.encode())
        conditions = saved_lists.c.application == application, saved_lists.c.name != new.name
        together = select(func.count(), func.coalesce(func.sum(saved_lists.c.size), 0))
        row: dict[str, Any] = {"application": application, **new._asdict(), "body": body}
        with self._database.write() as connection:
            lock_audit_log(connection)
            lists, size = connection.execute(together.where(*conditions)).one()
            check(lists, int(size))
            connection.execute(delete(saved_lists).where(*_list_conditions(application, new.name)))
            connection.execute(insert(saved_lists).values(row))
            append(connection, record)

    def delete(self, application: str, name: str, record: AuditRecord) -> bool:
        """Deletes a list, and records that in the audit log.

        Returns:
            Whether there was such a list.
        """
        with self._database.write() as connection:
            lock_audit_log(connection)
            deleted = connection.execute(
                delete(saved_lists).where(*_list_conditions(application, name))
            )
            if deleted.rowcount:
                append(connection, record)
        return bool(deleted.rowcount)


def _list_conditions(
    application: str, name: str
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return saved_lists.c.application == application, saved_lists.c.name == name


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
