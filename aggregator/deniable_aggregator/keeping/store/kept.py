"""Tables of what people keep beside reports: notes on days, lists, views, and links to views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from sqlalchemy import delete, func, insert, select

from deniable_aggregator.keeping.store.counters import compress, decompress
from deniable_aggregator.keeping.store.keys import HashedSecrets, append, lock_audit_log
from deniable_aggregator.keeping.store.schema import saved_lists, share_links

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from deniable_aggregator.keeping.audit import AuditRecord
    from deniable_aggregator.keeping.store.base import Database


class StoredAnnotation(NamedTuple):
    """What happened on a day.

    Attributes:
        day: in days since 1970-01-01.
    """

    day: int
    text: str


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


class StoredView(NamedTuple):
    """A saved view.

    Attributes:
        name: unique in its application.
        saved: the day on which it got this address, in days since 1970-01-01.
        place: path and query of its page.
    """

    name: str
    saved: int
    place: str


Row = TypeVar("Row", StoredAnnotation, StoredList, StoredView)


class KeptRows(Generic[Row]):
    """What is kept of one kind, by application; the first field of a row says under what.

    Args:
        database: has the table.
        table: the column ``application``, the fields of a row, and perhaps more.
        row: the type of its rows.
    """

    def __init__(self, database: Database, table: Table, row: type[Row]) -> None:
        self._database, self._table = database, table
        self._row: type[Row] = row
        self._key = table.c[row._fields[0]]

    def all(self, application: str) -> list[Row]:
        """What an application has, in the order of the first field."""
        with self._database.look_up() as connection:
            return self._read(connection, self._table.c.application == application)

    def save(
        self,
        application: str,
        new: Row,
        check: Callable[[Sequence[Row]], None],
        record: AuditRecord,
        **columns: Any,
    ) -> None:
        """Keeps a row, in place of one with the same first field; the audit log has the record.

        Args:
            check: called with all other rows of the application, in the same transaction; raises
                if there is no room for one more.
            **columns: of the table, beyond the fields of a row.
        """
        of_application = self._table.c.application == application
        row = {"application": application, **new._asdict(), **columns}
        with self._database.write() as connection:
            lock_audit_log(connection)
            check(self._read(connection, of_application, self._key != new[0]))
            connection.execute(delete(self._table).where(of_application, self._key == new[0]))
            connection.execute(insert(self._table).values(row))
            append(connection, record)

    def delete(self, application: str, under: str | int, record: AuditRecord) -> bool:
        """Deletes the row with this first field; if there was one, the audit log has the record.

        Returns:
            Whether there was one.
        """
        row = self._table.c.application == application, self._key == under
        with self._database.write() as connection:
            lock_audit_log(connection)
            deleted = connection.execute(delete(self._table).where(*row))
            if deleted.rowcount:
                append(connection, record)
        return bool(deleted.rowcount)

    def _read(self, connection: Connection, *conditions: ColumnElement[bool]) -> list[Row]:
        columns = [self._table.c[name] for name in self._row._fields]
        query = select(*columns).where(*conditions).order_by(self._key)
        return [self._row(*row) for row in connection.execute(query)]


class SavedLists(KeptRows[StoredList]):
    """Lists of values under names; the values of a list are a text, a line each."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, saved_lists, StoredList)

    def save_text(
        self,
        application: str,
        new: StoredList,
        text: str,
        check: Callable[[Sequence[StoredList]], None],
        record: AuditRecord,
    ) -> None:
        """Saves a list with its values, as `save` does."""
        self.save(application, new, check, record, body=compress(text.encode()))

    def text(self, application: str, name: str) -> str | None:
        """The values of a list; None if there is no such list."""
        table = saved_lists.c
        query = select(table.body).where(table.application == application, table.name == name)
        with self._database.look_up() as connection:
            body = connection.execute(query).scalar_one_or_none()
        return None if body is None else decompress(bytes(body)).decode()


class StoredLink(NamedTuple):
    """A link that shares one view.

    Attributes:
        hash: SHA-256 of its secret.
        application: whose metric it shows.
        place: path and query of the page, with fixed days.
        key: the id of the key that it was made with.
        made: on which day, in days since 1970-01-01.
        until: the last day on which it works, likewise.
    """

    hash: bytes
    application: str
    place: str
    key: str
    made: int
    until: int


class ShareLinks(HashedSecrets):
    """Links by the hash of their secret."""

    _table = share_links

    def add(self, link: StoredLink, check: Callable[[int], None], record: AuditRecord) -> None:
        """Adds a link, and records that in the audit log.

        Args:
            check: called with how many links the application has, in the same transaction; raises
                if there is no room for one more.
        """
        of_application = share_links.c.application == link.application
        count = select(func.count()).select_from(share_links).where(of_application)
        with self._database.write() as connection:
            lock_audit_log(connection)
            check(int(connection.execute(count).scalar_one()))
            connection.execute(insert(share_links).values(link._asdict()))
            append(connection, record)

    def find(self, link_hash: bytes) -> StoredLink | None:
        """The link whose secret has this hash."""
        with self._database.look_up() as connection:
            query = select(*_link_columns).where(share_links.c.hash == link_hash)
            row = connection.execute(query).one_or_none()
        return None if row is None else _stored(row)

    def all(self, application: str) -> list[StoredLink]:
        """The links of an application, the newest first."""
        order = share_links.c.made.desc(), share_links.c.hash
        condition = share_links.c.application == application
        query = select(*_link_columns).where(condition).order_by(*order)
        with self._database.look_up() as connection:
            return [_stored(row) for row in connection.execute(query)]


_link_columns = [share_links.c[name] for name in StoredLink._fields]


def _stored(row: Any) -> StoredLink:
    return StoredLink(bytes(row[0]), *row[1:])
