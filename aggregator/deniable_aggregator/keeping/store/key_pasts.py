"""The table of pasts that keys are compared with, where the days themselves do not say them.

The first weeks of keys, once their days became one; or what an administrator has acknowledged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from deniable_aggregator.keeping.store.keys import append, lock_audit_log
from deniable_aggregator.keeping.store.schema import key_pasts, metrics
from deniable_aggregator.keeping.store.stored_slices import metric_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from deniable_aggregator.keeping.audit import AuditRecord
    from deniable_aggregator.keeping.store.base import Database


class StoredPast(NamedTuple):
    """What keys brought of one version of a metric.

    Attributes:
        digest: of the version.
        key: the id of the key of which it was acknowledged; empty for the first weeks of several.
        acknowledged: the day on which an administrator has acknowledged it; None of a key's first
            weeks.
        since: the first of its days, in days since 1970-01-01.
        until: the last.
        note: the administrator's words.
        body: sums by key, as `answering.integrity` writes them.
    """

    digest: bytes
    key: str
    acknowledged: int | None
    since: int
    until: int
    note: str
    body: bytes


class KeyPasts:
    """Pasts by version and key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, digests: Collection[bytes]) -> list[StoredPast]:
        """What is known of some versions, what was acknowledged last at the end.

        Args:
            digests: of the versions.
        """
        columns = (key_pasts.c[name] for name in StoredPast._fields if name != "digest")
        query = (
            select(metrics.c.digest, *columns)
            .join_from(key_pasts, metrics, key_pasts.c.metric == metrics.c.number)
            .where(metrics.c.digest.in_(digests))
        )
        with self._database.look_up() as connection:
            found = [
                StoredPast(
                    bytes(row.digest),
                    row.key,
                    row.acknowledged,
                    row.since,
                    row.until,
                    row.note,
                    bytes(row.body),
                )
                for row in connection.execute(query)
            ]
        # Not by the database, whose sorter would write all bodies into a file.
        return sorted(found, key=lambda past: (past.acknowledged or 0, past.digest, past.since))

    def keep(self, pasts: Iterable[StoredPast]) -> None:
        """Keeps the first weeks of keys of which nothing is kept yet.

        Args:
            pasts: none of them acknowledged.
        """
        with self._database.write() as connection:
            kept = select(metrics.c.digest, key_pasts.c.since).join_from(
                key_pasts, metrics, key_pasts.c.metric == metrics.c.number
            )
            there = connection.execute(kept.where(key_pasts.c.key == ""))
            known = {(bytes(digest), since) for digest, since in there}
            _insert(connection, [past for past in pasts if (past.digest, past.since) not in known])

    def acknowledge(self, pasts: Iterable[StoredPast], record: AuditRecord) -> None:
        """Acknowledges differences in place of earlier ones, and records it in the audit log.

        Args:
            pasts: of one key, each of another version.
            record: of the act.
        """
        listed = list(pasts)
        with self._database.write() as connection:
            lock_audit_log(connection)
            for past in listed:
                _withdraw(connection, [past.digest], past.key)
            _insert(connection, listed)
            append(connection, record)

    def withdraw(self, digests: Collection[bytes], key: str, record: AuditRecord) -> bool:
        """Takes back what was acknowledged of a key, and records it in the audit log.

        Args:
            digests: of the versions.
            key: its id.
            record: of the act.

        Returns:
            Whether anything was acknowledged.
        """
        with self._database.write() as connection:
            lock_audit_log(connection)
            withdrawn = _withdraw(connection, digests, key)
            if withdrawn:
                append(connection, record)
        return withdrawn > 0


def _insert(connection: Connection, pasts: Iterable[StoredPast]) -> None:
    for past in pasts:
        row: dict[str, Any] = past._asdict()
        number = connection.execute(select(metric_number(row.pop("digest")))).scalar_one_or_none()
        if number is not None:  # else the metric was removed meanwhile
            connection.execute(insert(key_pasts).values(metric=number, **row))


def _withdraw(connection: Connection, digests: Collection[bytes], key: str) -> int:
    numbers = select(metrics.c.number).where(metrics.c.digest.in_(digests))
    conditions = key_pasts.c.metric.in_(numbers), key_pasts.c.key == key
    return connection.execute(delete(key_pasts).where(*conditions)).rowcount
