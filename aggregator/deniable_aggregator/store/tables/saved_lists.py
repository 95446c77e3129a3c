"""The table of saved lists: values that analysts keep, to look for in metrics of strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, select

from deniable_aggregator.store.encoding.compression import compress, decompress
from deniable_aggregator.store.schema import saved_lists
from deniable_aggregator.store.tables.audit import append, lock_audit_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement

    from deniable_aggregator.audit import AuditRecord
    from deniable_aggregator.store.backends.base import Database


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
