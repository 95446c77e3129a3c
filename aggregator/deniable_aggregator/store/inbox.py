"""The inbox: what was accepted and not yet counted, and the ids that make a retry recognisable."""

from __future__ import annotations

import enum
import hashlib
import secrets
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from deniable_aggregator.store.schema import epochs, inbox, seen, set_aside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from sqlite3 import Cursor

    from sqlalchemy import Connection

    from deniable_aggregator.store.database import Database
    from deniable_shared.wire import Upload

HASH_BYTES: Final = 16
KEY_BYTES: Final = 32
ROW_ID_BITS: Final = 63
FORGET_ROWS: Final = 10_000
"""Ids of closed epochs are deleted in steps of this many, so that ingest never waits long."""

Name = tuple[int, bytes]
"""Under which epoch and hash an upload is remembered."""

_shuffle: Final = secrets.SystemRandom().shuffle


class _KnownError(Exception):
    """Some upload of a group was stored before; undoes the transaction."""


class Outcome(enum.Enum):
    """What became of an upload."""

    STORED = enum.auto()
    DUPLICATE = enum.auto()
    CLOSED = enum.auto()


class Row(NamedTuple):
    """One row of the inbox: reports of one spec and day from the uploads of one commit."""

    id: int
    digest: bytes
    epoch: int
    payload: bytes


class Backlog(NamedTuple):
    """What one spec has waiting in the inbox."""

    digest: bytes
    rows: int
    payload_bytes: int


class Inbox:
    """Appends uploads once, and hands out what is to be counted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # SQLAlchemy writes the statements of ingest, and the driver runs them.
        self._keys = database.compiled(
            select(epochs.c.epoch, epochs.c.key).where(
                epochs.c.epoch.between(bindparam("first"), bindparam("last"))
            )
        )
        self._remember = database.compiled(upsert(seen).on_conflict_do_nothing())
        self._recognise = database.compiled(
            select(seen.c.epoch).where(
                seen.c.epoch == bindparam("e"), seen.c.hash == bindparam("h")
            )
        )
        self._open = database.compiled(insert(epochs))
        self._append = database.compiled(insert(inbox))

    def append(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Stores uploads in one transaction; durable when this returns.

        The payloads of all uploads are put together by (digest, epoch), in random order and under
        a random key, so that what arrived in one upload cannot be joined again.

        Returns:
            One outcome for each upload, in order. An upload is stored whole or not at all.

        Raises:
            StoreUnavailableError: nothing was stored.
        """
        try:
            with self._database.write_fast() as cursor:
                return self._append_new(cursor, uploads, known=set())
        except _KnownError:
            with self._database.write_fast() as cursor:
                names = _names(uploads, self._open_keys(cursor, uploads))
                return self._append_new(cursor, uploads, known=self._known(cursor, names))

    def _append_new(
        self, cursor: Cursor, uploads: Sequence[Upload], *, known: set[Name]
    ) -> list[Outcome]:
        """Appends what is neither closed nor known.

        Raises:
            _KnownError: if an upload turns out to be known; the transaction is to be undone.
        """
        outcomes: list[Outcome] = []
        fresh: list[Name] = []
        payloads: defaultdict[tuple[bytes, int], list[bytes]] = defaultdict(list)
        names = _names(uploads, self._open_keys(cursor, uploads))
        for upload, name in zip(uploads, names, strict=True):
            if name is None:
                outcomes.append(Outcome.CLOSED)
            elif name in known:
                outcomes.append(Outcome.DUPLICATE)
            else:
                outcomes.append(Outcome.STORED)
                known.add(name)
                fresh.append(name)
                for digest, epoch, payload in upload.parts:
                    payloads[digest, epoch].append(payload)
        if fresh:
            if cursor.executemany(self._remember, fresh).rowcount != len(fresh):
                raise _KnownError
            cursor.executemany(self._append, [_row(*item) for item in payloads.items()])
        return outcomes

    def _open_keys(self, cursor: Cursor, uploads: Sequence[Upload]) -> Mapping[int, bytes | None]:
        """The keys of all epochs in uploads; made for the new ones, None for the closed ones."""
        wanted = {part.epoch for upload in uploads for part in upload.parts}
        found = cursor.execute(self._keys, (min(wanted), max(wanted)))
        keys: dict[int, bytes | None] = {row[0]: row[1] for row in found}
        for epoch in wanted - keys.keys():
            keys[epoch] = secrets.token_bytes(KEY_BYTES)
            cursor.execute(self._open, (epoch, keys[epoch]))
        return keys

    def _known(self, cursor: Cursor, names: Iterable[Name | None]) -> set[Name]:
        """Those of these names that were stored before."""
        wanted = {name for name in names if name is not None}
        return {name for name in wanted if cursor.execute(self._recognise, name).fetchone()}

    def batch(self, *, max_bytes: int, max_rows: int) -> list[Row]:
        """Rows to count, of any metric: at least one, if there is any.

        Args:
            max_bytes: the batch ends with the row that reaches this size.
            max_rows: the batch has at most this many rows.
        """
        query = (
            select(inbox.c.id, inbox.c.digest, inbox.c.epoch, inbox.c.payload)
            .limit(max_rows)
            .execution_options(yield_per=64)
        )
        rows: list[Row] = []
        size = 0
        with self._database.read() as connection, connection.execute(query) as result:
            for row in result:
                rows.append(Row(*row))
                size += len(rows[-1].payload)
                if size >= max_bytes:
                    break
        return rows

    def set_aside(self, row_ids: Sequence[int]) -> None:
        """Takes rows that cannot be counted out of the way; they are kept and shown as such."""
        columns = ["id", "digest", "epoch", "payload"]
        with self._database.write() as connection:
            for row_id in row_ids:
                chosen = select(*(inbox.c[name] for name in columns)).where(inbox.c.id == row_id)
                connection.execute(insert(set_aside).from_select(columns, chosen))
            take(connection, row_ids)

    def backlog(self, digests: Collection[bytes]) -> list[Backlog]:
        """What waits to be counted, for each of these specs that has something."""
        query = (
            select(inbox.c.digest, func.count(), func.sum(func.length(inbox.c.payload)))
            .where(inbox.c.digest.in_(digests))
            .group_by(inbox.c.digest)
        )
        with self._database.read() as connection:
            return [Backlog(*row) for row in connection.execute(query)]

    def count_set_aside(self, digests: Collection[bytes]) -> int:
        """How many rows of these specs could not be counted."""
        query = select(func.count()).where(set_aside.c.digest.in_(digests))
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def close_epochs(self, oldest_open: int) -> None:
        """Closes every epoch before the given day, for good, and forgets its upload ids.

        The key goes first and at once, which leaves hashes that nobody can check; then the hashes
        go, in steps; then the log that still holds both, though nothing was left to delete: an
        earlier call may not have come so far.

        Raises:
            StoreUnavailableError: if not everything is gone from the disk; to be called again.
        """
        closing = epochs.c.epoch < oldest_open, epochs.c.key.is_not(None)
        with self._database.write() as connection:
            connection.execute(update(epochs).where(*closing).values(key=None))
        some = select(seen.c.epoch, seen.c.hash).where(seen.c.epoch < oldest_open)
        while True:
            with self._database.write() as connection:
                rows = connection.execute(some.limit(FORGET_ROWS)).all()
                if rows:
                    connection.execute(_FORGET, [{"e": epoch, "h": hash_} for epoch, hash_ in rows])
            if len(rows) < FORGET_ROWS:
                break
        self._database.empty_log()


def take(connection: Connection, row_ids: Iterable[int]) -> int:
    """Deletes rows of the inbox inside a transaction and says how many were still there."""
    return connection.execute(_TAKE, [{"row": row_id} for row_id in row_ids]).rowcount


_TAKE: Final = delete(inbox).where(inbox.c.id == bindparam("row"))
_FORGET: Final = delete(seen).where(seen.c.epoch == bindparam("e"), seen.c.hash == bindparam("h"))


def _names(uploads: Sequence[Upload], keys: Mapping[int, bytes | None]) -> list[Name | None]:
    return [_name(upload, keys) for upload in uploads]


def _name(upload: Upload, keys: Mapping[int, bytes | None]) -> Name | None:
    """Under which epoch and hash an upload is remembered; None if one of its epochs is closed.

    The epoch is the latest of its parts, so that the id is kept for as long as any part of a
    retry could still be accepted.
    """
    latest = max(part.epoch for part in upload.parts)
    key = keys[latest]
    if key is None or any(keys[part.epoch] is None for part in upload.parts):
        return None
    return latest, hashlib.blake2b(upload.id, digest_size=HASH_BYTES, key=key).digest()


def _row(group: tuple[bytes, int], payloads: list[bytes]) -> tuple[int, bytes, int, bytes]:
    if len(payloads) > 1:
        _shuffle(payloads)
    return secrets.randbits(ROW_ID_BITS), *group, b"".join(payloads)
