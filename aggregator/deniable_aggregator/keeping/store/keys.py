"""The tables of keys, of sessions and of the audit log."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from sqlalchemy import (
    Connection,
    Select,
    bindparam,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)
from sqlalchemy.types import NullType

from deniable_aggregator.keeping.audit import (
    AuditAction,
    AuditEntry,
    AuditRecord,
    canonical_json,
    next_entry,
)
from deniable_aggregator.keeping.store.base import Database, StoreUnavailableError
from deniable_aggregator.keeping.store.schema import audit, keys, sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Any

    from sqlalchemy import Table


FETCHED_ROWS: Final = 256

log = logging.getLogger("deniable_aggregator")

# Not a lock on the table: a role that may only add entries has no right to lock it. The table's oid
# is in the lock's key, as one database may hold the tables of two stores.
_LOCK: Final = f"SELECT pg_advisory_xact_lock({0x61756474}, 'audit'::regclass::oid::int)"


class AuditLog:
    """What administrators did, in order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, after: int = 0) -> Iterator[AuditEntry]:
        """Yields the entries after a sequence number, in order."""
        query = _entries().where(audit.c.sequence > after).order_by(audit.c.sequence)
        query = query.execution_options(yield_per=FETCHED_ROWS)
        with self._database.read() as connection, connection.execute(query) as rows:
            for row in rows:
                yield AuditEntry(*row)

    def last(self, entries: int) -> list[AuditEntry]:
        """The last entries, in order.

        Args:
            entries: at most how many; at least 1.
        """
        query = _entries().order_by(audit.c.sequence.desc()).limit(entries)
        with self._database.read() as connection:
            return [AuditEntry(*row) for row in connection.execute(query)][::-1]

    def newest_details(self, act: AuditAction) -> dict[str, Any] | None:
        """The details of the last entry of an action; None if there is none."""
        with self._database.look_up() as connection:
            details = connection.execute(_details(act)).scalar_one_or_none()
        return None if details is None else json.loads(details)

    def record_if_changed(self, record: AuditRecord) -> bool:
        """Records a state, such as a setting, unless the last entry of its action says the same.

        Returns:
            Whether it was recorded.
        """
        with self._database.read() as connection:
            details = connection.execute(_details(record.act)).scalar_one_or_none()
        if details == canonical_json(record.details):
            return False
        with self._database.write() as connection:
            append(connection, record)
        return True


def lock_audit_log(connection: Connection) -> None:
    """Makes transactions that record actions wait for each other, until this one ends."""
    # SQLite has one writing transaction at a time anyway.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_LOCK)


def append(connection: Connection, record: AuditRecord) -> None:
    """Records an action in the action's own transaction, so that both are committed or neither.

    Args:
        connection: in the transaction of the action. This should be its last step, as nobody else
            can record anything until it ends.

    Raises:
        StoreUnavailableError: if somebody has damaged the last hash, so that no entry can follow.
    """
    lock_audit_log(connection)
    row = connection.execute(_entries().order_by(audit.c.sequence.desc()).limit(1)).one_or_none()
    last = None if row is None else AuditEntry(*row)
    if last is not None and not isinstance(last.hash, bytes):
        raise StoreUnavailableError("the audit log is damaged; see deniable log verify")
    connection.execute(insert(audit).values(next_entry(last, record)._asdict()))


def append_if_possible(database: Database, record: AuditRecord) -> None:
    """Records that a store was copied. Logs a warning if it cannot: a read-only role may copy."""
    try:
        with database.write() as connection:
            append(connection, record)
    except StoreUnavailableError as error:
        log.warning("this is not in the audit log: %s", error)


def _details(act: AuditAction) -> Select[str]:
    query = select(audit.c.details).where(audit.c.act == act.value)
    return query.order_by(audit.c.sequence.desc()).limit(1)


def _entries() -> Select[Any]:
    # Read the hash untyped: a value that somebody else put there must be found, not fail to load.
    columns = (audit.c[name] for name in AuditEntry._fields if name != "hash")
    return select(*columns, type_coerce(audit.c.hash, NullType()).label("hash"))


class StoredKey(NamedTuple):
    """One key.

    Attributes:
        id: the part of the token that lists show.
        hash: SHA-256 of the whole token.
        scope: what it allows: write, batch, read or admin.
        application: the only application that it is valid for.
        label: a note of its owner.
        created: the day it was made, in days since 1970-01-01.
        revoked: the day it was revoked, or None.
        expires: the last day on which it is valid, or None.
        last_used: the last day on which it was used, or None.
        excluded: the day since which its reports are left out of estimates, or None.
        intake_day: the last day on which it brought reports, or None if that is not counted.
        intake_bytes: how many bytes it brought on that day.
        intake_larger: how many of them in uploads of several reports.
        refused_since: the first of the last days in a row on which uploads were refused as it had
            brought all that it may, or None.
        refused_until: the last of these days.
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
    intake_larger: int = 0
    refused_since: int | None = None
    refused_until: int | None = None


class Intake(NamedTuple):
    """What a key has brought.

    Attributes:
        size: in bytes.
        larger: how many of them in uploads of several reports.
    """

    size: int
    larger: int


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

    def add_intake(
        self, day: int, added: Mapping[str, Intake], refused: Collection[str]
    ) -> dict[str, Intake]:
        """Adds to what keys have brought on a day.

        Args:
            day: in days since 1970-01-01; what a key brought on another day is forgotten.
            added: by id of the key.
            refused: ids of keys of which uploads were refused on that day, as they had brought all
                that they may.

        Returns:
            What every key has brought on that day.
        """
        if not added and not refused:
            with self._database.look_up() as connection:
                return _intake(connection, day)
        same_day = keys.c.intake_day == day
        adding = (
            update(keys)
            .where(keys.c.id == bindparam("key_id"))
            .values(
                intake_day=day,
                intake_bytes=case((same_day, keys.c.intake_bytes), else_=0) + bindparam("size"),
                intake_larger=case((same_day, keys.c.intake_larger), else_=0) + bindparam("larger"),
            )
        )
        in_a_row = keys.c.refused_until.in_((day - 1, day))
        refusing = (
            update(keys)
            .where(keys.c.id == bindparam("key_id"))
            .values(
                refused_since=case((in_a_row, keys.c.refused_since), else_=day), refused_until=day
            )
        )
        # In order, so that two servers never wait for each other's rows.
        rows = [{"key_id": key_id, **added[key_id]._asdict()} for key_id in sorted(added)]
        with self._database.write() as connection:
            if rows:
                connection.execute(adding, rows)
            if refused:
                connection.execute(refusing, [{"key_id": key_id} for key_id in sorted(refused)])
            return _intake(connection, day)


def _intake(connection: Connection, day: int) -> dict[str, Intake]:
    columns = keys.c.id, keys.c.intake_bytes, keys.c.intake_larger
    query = select(*columns).where(keys.c.intake_day == day)
    return {key_id: Intake(size, larger) for key_id, size, larger in connection.execute(query)}


def insert_key(connection: Connection, key: StoredKey) -> None:
    """Adds a key under the next number. The lock of the audit log must be held."""
    number = select(func.coalesce(func.max(keys.c.number), 0) + 1).scalar_subquery()
    connection.execute(insert(keys).values(number=number, **key._asdict()))


class HashedSecrets:
    """A table of secrets by their hash, each with the last day on which it may be valid."""

    _table: ClassVar[Table]

    def __init__(self, database: Database) -> None:
        self._database = database

    def hashes(self) -> frozenset[bytes]:
        """All hashes."""
        with self._database.look_up() as connection:
            return frozenset(map(bytes, connection.execute(select(self._table.c.hash)).scalars()))

    def end(self, secret_hash: bytes, record: AuditRecord) -> None:
        """Deletes a row and adds an entry to the audit log, unless it is gone already."""
        with self._database.write() as connection:
            lock_audit_log(connection)
            ended = connection.execute(delete(self._table).where(self._table.c.hash == secret_hash))
            if ended.rowcount:
                append(connection, record)

    def delete_past(self, today: int) -> None:
        """Deletes the rows of past days.

        Args:
            today: days since 1970-01-01.
        """
        past = self._table.c.until < today
        with self._database.look_up() as connection:
            query = select(self._table.c.hash).where(past).limit(1)
            if connection.execute(query).first() is None:
                return
        with self._database.write() as connection:
            connection.execute(delete(self._table).where(past))


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


class Sessions(HashedSecrets):
    """Sessions by the hash of their cookie."""

    _table = sessions

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
