"""The table of keys. It has hashes of tokens, never tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import bindparam, case, func, insert, or_, select, update

from deniable_aggregator.store.schema import keys
from deniable_aggregator.store.tables.audit import append, lock_audit_log

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sqlalchemy import Connection

    from deniable_aggregator.audit import AuditRecord
    from deniable_aggregator.store.backends.base import Database


class StoredKey(NamedTuple):
    """One key.

    Attributes:
        id: the part of the token that lists show.
        hash: SHA-256 of the whole token.
        scope: what it allows: write, read or admin.
        application: the only application that it is valid for.
        label: a note of its owner.
        created: the day it was made, in days since 1970-01-01.
        revoked: the day it was revoked, or None.
        expires: the last day on which it is valid, or None.
        last_used: the last day on which it was used, or None.
        excluded: the day since which its reports are left out of estimates, or None.
        intake_day: the last day on which it brought reports, or None if that is not counted.
        intake_bytes: how many bytes it brought on that day.
    """

    id: str
    hash: bytes
    scope: str
    application: str
    label: str
    created: int
    revoked: int | None
    expires: int | None = None
    last_used: int | None = None
    excluded: int | None = None
    intake_day: int | None = None
    intake_bytes: int = 0


class KeyChange(NamedTuple):
    """A change of a key.

    Attributes:
        values: the new values, by attribute of `StoredKey`.
        record: the entry for the audit log.
        successor: a key to add, or None.
    """

    values: Mapping[str, int | None]
    record: AuditRecord
    successor: StoredKey | None = None


_columns: Final = [keys.c[name] for name in StoredKey._fields]


class Keys:
    """Keys by id. Revoked keys stay, so that their ids are never given out again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: StoredKey, record: AuditRecord) -> None:
        """Adds a key, and an entry to the audit log."""
        with self._database.write() as connection:
            lock_audit_log(connection)
            insert_key(connection, key)
            append(connection, record)

    def find(self, key_id: str) -> StoredKey | None:
        """The key with this id, revoked or not."""
        with self._database.look_up() as connection:
            row = connection.execute(select(*_columns).where(keys.c.id == key_id)).one_or_none()
        return None if row is None else StoredKey(*row)

    def ids(self) -> frozenset[str]:
        """The ids of all keys, revoked or not."""
        with self._database.look_up() as connection:
            return frozenset(connection.execute(select(keys.c.id)).scalars())

    def all(self) -> list[StoredKey]:
        """Every key, by application, scope and id."""
        query = select(*_columns).order_by(keys.c.application, keys.c.scope, keys.c.id)
        with self._database.read() as connection:
            return [StoredKey(*row) for row in connection.execute(query)]

    def change(self, key_id: str, decide: Callable[[StoredKey], KeyChange]) -> StoredKey | None:
        """Changes a key, and adds an entry to the audit log, in one transaction.

        Args:
            decide: called with the key, which nobody else can change meanwhile; returns the change,
                or raises to leave the key as it is.

        Returns:
            The changed key, or None if there is no such key.
        """
        condition = keys.c.id == key_id
        with self._database.write() as connection:
            lock_audit_log(connection)
            row = connection.execute(
                select(*_columns).where(condition).with_for_update()
            ).one_or_none()
            if row is None:
                return None
            stored = StoredKey(*row)
            change = decide(stored)
            connection.execute(update(keys).where(condition).values(**change.values))
            if change.successor is not None:
                insert_key(connection, change.successor)
            append(connection, change.record)
        return StoredKey(**{**stored._asdict(), **change.values})

    def mark_used(self, key_ids: Collection[str], today: int) -> None:
        """Writes the day of last use of keys, unless a later one is there."""
        earlier = or_(keys.c.last_used.is_(None), keys.c.last_used < today)
        with self._database.write() as connection:
            connection.execute(
                update(keys).where(keys.c.id.in_(key_ids), earlier).values(last_used=today)
            )

    def add_intake(self, day: int, added: Mapping[str, int]) -> dict[str, int]:
        """Adds to what keys have brought on a day.

        Args:
            day: in days since 1970-01-01; what a key brought on another day is forgotten.
            added: bytes by id of the key.

        Returns:
            What every key has brought on that day, in bytes.
        """
        bytes_before = case((keys.c.intake_day == day, keys.c.intake_bytes), else_=0)
        adding = (
            update(keys)
            .where(keys.c.id == bindparam("key_id"))
            .values(intake_day=day, intake_bytes=bytes_before + bindparam("size"))
        )
        # In order, so that two servers never wait for each other's rows.
        rows = [{"key_id": key_id, "size": size} for key_id, size in sorted(added.items())]
        if not rows:
            with self._database.look_up() as connection:
                return _intake(connection, day)
        with self._database.write() as connection:
            connection.execute(adding, rows)
            return _intake(connection, day)


def _intake(connection: Connection, day: int) -> dict[str, int]:
    query = select(keys.c.id, keys.c.intake_bytes).where(keys.c.intake_day == day)
    return {row.id: row.intake_bytes for row in connection.execute(query)}


def insert_key(connection: Connection, key: StoredKey) -> None:
    """Adds a key under the next number. The lock of the audit log must be held."""
    number = select(func.coalesce(func.max(keys.c.number), 0) + 1).scalar_subquery()
    connection.execute(insert(keys).values(number=number, **key._asdict()))
