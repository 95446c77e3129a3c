"""The table of annotations: what happened on a day, in an administrator's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, select

from deniable_aggregator.store.schema import annotated_days
from deniable_aggregator.store.tables.audit import append, lock_audit_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement

    from deniable_aggregator.audit import AuditRecord
    from deniable_aggregator.store.backends.base import Database


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
