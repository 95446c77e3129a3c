"""Tables of views: those that people keep under names, and links that share one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, select

from deniable_aggregator.keeping.store.keys import HashedSecrets, append, lock_audit_log
from deniable_aggregator.keeping.store.schema import saved_views, share_links

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement

    from deniable_aggregator.keeping.audit import AuditRecord
    from deniable_aggregator.keeping.store.base import Database


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


class StoredViews:
    """Saved views by application and name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, application: str) -> list[StoredView]:
        """The views of an application, by name."""
        columns = [saved_views.c[name] for name in StoredView._fields]
        condition = saved_views.c.application == application
        query = select(*columns).where(condition).order_by(saved_views.c.name)
        with self._database.look_up() as connection:
            return [StoredView(*row) for row in connection.execute(query)]

    def save(
        self,
        application: str,
        new: StoredView,
        check: Callable[[int], None],
        record: AuditRecord,
    ) -> None:
        """Saves a view, in place of one of the same name, and records that in the audit log.

        Args:
            check: called with how many other views the application has, in the same transaction;
                raises if there is no room for one more.
        """
        others = saved_views.c.application == application, saved_views.c.name != new.name
        count = select(func.count()).select_from(saved_views).where(*others)
        row: dict[str, Any] = {"application": application, **new._asdict()}
        with self._database.write() as connection:
            lock_audit_log(connection)
            check(int(connection.execute(count).scalar_one()))
            connection.execute(delete(saved_views).where(*_of_view(application, new.name)))
            connection.execute(insert(saved_views).values(row))
            append(connection, record)

    def delete(self, application: str, name: str, record: AuditRecord) -> bool:
        """Deletes a view, and records that in the audit log; returns whether there was one."""
        with self._database.write() as connection:
            lock_audit_log(connection)
            deleted = connection.execute(delete(saved_views).where(*_of_view(application, name)))
            if deleted.rowcount:
                append(connection, record)
        return bool(deleted.rowcount)


def _of_view(application: str, name: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return saved_views.c.application == application, saved_views.c.name == name


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
