"""The inbox: reports that wait to be counted, and the upload ids by which a retry is recognised."""

from __future__ import annotations

import enum
import hashlib
import secrets
from collections import Counter, defaultdict
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, Select, delete, func, select, tuple_, update

from deniable_aggregator.keeping.store.base import Database, InboxRow, IngestTransaction, UploadName
from deniable_aggregator.keeping.store.batch import Batch
from deniable_aggregator.keeping.store.schema import epochs, inbox, seen, set_aside
from deniable_aggregator.keeping.store.stored_slices import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deniable_shared.wire import Upload

HASH_BYTES: Final = 16
ROW_ID_BITS: Final = 63
FETCHED_ROWS: Final = 64
FORGET_ROWS: Final = 10_000
"""Ids of closed epochs are deleted so many at a time, so that ingest never waits long."""


class Outcome(enum.Enum):
    """What the store did with an upload."""

    STORED = enum.auto()
    DUPLICATE = enum.auto()
    CLOSED = enum.auto()


class Sender(NamedTuple):
    """Who brought an upload, as far as the server knows.

    Attributes:
        application: the application of the write key.
        key_id: the id of the write key, which all devices of a build share.
    """

    application: str
    key_id: str


class Backlog(NamedTuple):
    """The rows of one spec that wait to be counted."""

    digest: bytes
    rows: int
    payload_bytes: int

    @property
    def is_left_out(self) -> bool:
        """Whether questions leave these rows out, as there are too many to read."""
        return self.payload_bytes > MOST_BYTES


class Inbox:
    """Appends each upload once, and hands out rows to count."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, uploads: Sequence[Upload], senders: Sequence[Sender]) -> list[Outcome]:
        """Stores uploads in one transaction; durable when this returns.

        The payloads of all uploads are joined by (digest, epoch, key), sorted, under a random row
        id. So the store shows neither which reports came in one upload nor their order. Of the
        sizes of these uploads only the largest is kept.

        Args:
            uploads: at least one.
            senders: of each upload, in order.

        Returns:
            One outcome for each upload, in order. An upload is stored whole or not at all.

        Raises:
            StoreUnavailableError: if the commit failed, or whether it succeeded is unknown. An
                upload that is sent again counts once in either case.
        """
        return self._database.ingest(lambda step: _append(step, uploads, senders))

    @contextmanager
    def claim(
        self, *, max_bytes: int, max_rows: int, unreadable: Collection[bytes] = ()
    ) -> Iterator[Batch]:
        """Claims rows to count, of any metric: at least one, unless all are claimed by others.

        Where the database can lock rows, the block is one transaction: nobody else can claim these
        rows, and all changes are durable when the block ends, or none. Where it cannot, each
        change is one transaction, which does nothing if another process was first.

        Args:
            max_bytes: the batch ends with the row that reaches this size.
            max_rows: the batch has at most this many rows.
            unreadable: digests of specs whose rows are not claimed.

        Raises:
            StoreUnavailableError: if the store failed; uncounted rows stay in the inbox.
        """
        query = select(*(inbox.c[name] for name in InboxRow._fields)).limit(max_rows)
        if unreadable:
            query = query.where(inbox.c.digest.not_in(unreadable))
        if self._database.locks_rows:
            locking = query.with_for_update(skip_locked=True)
            with self._database.write() as connection:
                rows = _fetch(connection, locking, max_bytes)
                yield Batch(rows, lambda: nullcontext(connection), lambda: _savepoint(connection))
        else:
            with self._database.read() as connection:
                rows = _fetch(connection, query, max_bytes)
            yield Batch(rows, self._database.read, self._database.write)

    def backlog(self, digests: Collection[bytes]) -> list[Backlog]:
        """The rows that wait to be counted, for each of these specs that has any."""
        query = (
            select(
                inbox.c.digest,
                func.count().label("rows"),
                func.sum(func.length(inbox.c.payload)).label("payload_bytes"),
            )
            .where(inbox.c.digest.in_(digests))
            .group_by(inbox.c.digest)
        )
        with self._database.read() as connection:
            return [
                Backlog(digest=row.digest, rows=row.rows, payload_bytes=int(row.payload_bytes))
                for row in connection.execute(query)
            ]

    def size(self) -> tuple[int, int]:
        """How many rows wait to be counted, and how many bytes of reports are in them."""
        query = select(func.count(), func.coalesce(func.sum(func.length(inbox.c.payload)), 0))
        with self._database.look_up() as connection:
            rows, payload_bytes = connection.execute(query.select_from(inbox)).one()
            return rows, int(payload_bytes)

    def count_set_aside(self, digests: Collection[bytes]) -> int:
        """How many rows of these specs could not be counted."""
        query = select(func.count()).where(set_aside.c.digest.in_(digests))
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def newest_day(self) -> int | None:
        """The newest day of all reports ever stored; None if there were none."""
        with self._database.look_up() as connection:
            newest: int | None = connection.execute(select(func.max(epochs.c.epoch))).scalar_one()
            return newest

    def close_epochs(self, oldest_open: int) -> None:
        """Closes every epoch before the given day for good, and deletes its upload ids.

        First it deletes the keys, which leaves hashes that nobody can check. Then it deletes the
        hashes, in chunks. Then it erases the deleted bytes from the database's files, also if there
        was nothing to delete now, as an earlier call may have failed at this step.

        Raises:
            StoreUnavailableError: if bytes may be left on the disk; to be called again.
        """
        closing = epochs.c.epoch < oldest_open, epochs.c.key.is_not(None)
        with self._database.write() as connection:
            connection.execute(update(epochs).where(*closing).values(key=None))
        name = tuple_(seen.c.epoch, seen.c.hash)
        forgotten = select(seen.c.epoch, seen.c.hash).where(seen.c.epoch < oldest_open)
        while True:
            with self._database.write() as connection:
                forget = delete(seen).where(name.in_(forgotten.limit(FORGET_ROWS)))
                if connection.execute(forget).rowcount == 0:
                    break
        self._database.purge()


def _append(
    step: IngestTransaction, uploads: Sequence[Upload], senders: Sequence[Sender]
) -> list[Outcome]:
    epoch_keys = step.epoch_keys({part.epoch for upload in uploads for part in upload.parts})
    names = [
        _upload_name(upload, sender.application, epoch_keys)
        for upload, sender in zip(uploads, senders, strict=True)
    ]
    distinct = sorted({name for name in names if name is not None})
    fresh = step.remember_uploads(distinct) if distinct else set()
    outcomes: list[Outcome] = []
    payloads: defaultdict[tuple[bytes, int, str], list[bytes]] = defaultdict(list)
    largest: Counter[tuple[bytes, int, str]] = Counter()
    for upload, sender, name in zip(uploads, senders, names, strict=True):
        if name is None:
            outcomes.append(Outcome.CLOSED)
        elif name not in fresh:
            outcomes.append(Outcome.DUPLICATE)
        else:
            outcomes.append(Outcome.STORED)
            fresh.remove(name)
            sizes: Counter[tuple[bytes, int, str]] = Counter()
            for digest, epoch, payload in upload.parts:
                payloads[digest, epoch, sender.key_id].append(payload)
                sizes[digest, epoch, sender.key_id] += len(payload)
            largest |= sizes  # the larger of each
    if payloads:
        step.append_rows([_inbox_row(*item, largest[item[0]]) for item in payloads.items()])
    return outcomes


@contextmanager
def _savepoint(connection: Connection) -> Iterator[Connection]:
    """A part of a transaction that can be rolled back alone."""
    with connection.begin_nested():
        yield connection


def _fetch(connection: Connection, query: Select[Any], max_bytes: int) -> list[InboxRow]:
    rows: list[InboxRow] = []
    size = 0
    with connection.execute(query.execution_options(yield_per=FETCHED_ROWS)) as result:
        for row in result:
            rows.append(InboxRow(*row))
            size += len(rows[-1].payload)
            if size >= max_bytes:
                break
    return rows


def _upload_name(
    upload: Upload, application: str, keys: Mapping[int, bytes | None]
) -> UploadName | None:
    """The epoch and hash by which an upload is remembered; None if one of its epochs is closed.

    It is the latest epoch of its parts, so that the id is kept as long as a retry of any part
    could be accepted. Two applications may draw the same id: the hash is of both, and without the
    epoch's key nobody can tell that two hashes are of one id.
    """
    latest = max(part.epoch for part in upload.parts)
    key = keys[latest]
    if key is None or any(keys[part.epoch] is None for part in upload.parts):
        return None
    name_bytes = upload.id + application.encode()
    return latest, hashlib.blake2b(name_bytes, digest_size=HASH_BYTES, key=key).digest()


def _inbox_row(group: tuple[bytes, int, str], payloads: list[bytes], largest: int) -> InboxRow:
    return InboxRow(secrets.randbits(ROW_ID_BITS), *group, b"".join(sorted(payloads)), largest)
