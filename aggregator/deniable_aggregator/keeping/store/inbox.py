"""The inbox: reports that wait to be counted, and the upload ids by which a retry is recognised."""

from __future__ import annotations

import enum
import hashlib
import secrets
from collections import Counter, defaultdict
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, Select, delete, func, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from deniable_aggregator.keeping.store.base import (
    Database,
    InboxRow,
    IngestTransaction,
    RelayGroup,
    UploadName,
    WaitingRow,
    in_chunks,
)
from deniable_aggregator.keeping.store.batch import Batch, read_shown_day
from deniable_aggregator.keeping.store.relayed import forget_batches
from deniable_aggregator.keeping.store.schema import epochs, inbox, seen, set_aside, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deniable_shared.wire import Upload

    _SliceName = tuple[bytes, int, str]  # the digest of a version, a day, the id of a write key

HASH_BYTES: Final = 16
DIGEST_BITS, DAY_BITS, RANDOM_BITS = 11, 4, 48
"""Of the id of a row: 63 in all."""
FETCHED_ROWS: Final = 64
NEVER: Final = 2**31 - 1
"""After every day."""
FORGET_ROWS: Final = 10_000
"""Ids of closed epochs are deleted so many at a time, so that ingest never waits long."""


class Outcome(enum.Enum):
    """What the store did with an upload."""

    STORED = enum.auto()
    DUPLICATE = enum.auto()
    CLOSED = enum.auto()


class Relay(NamedTuple):
    """How an upload came through a relay.

    Attributes:
        key_id: the id of the key that it was sealed to, 8 bytes.
        batch: the batch that it came with, 16 bytes; another for each size that is told of one.
    """

    key_id: bytes
    batch: bytes


class Sender(NamedTuple):
    """Who brought an upload, as far as the server knows.

    Attributes:
        application: the application of the write key.
        key_id: the id of the write key, which all devices of a build share.
        relay: how it came, if it counts in a group of a relay; None if it came directly, or hides
            among no others.
    """

    application: str
    key_id: str
    relay: Relay | None = None


class Inbox:
    """Appends each upload once, and hands out rows to count."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._has_shown_row = False

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
        self,
        *,
        max_bytes: int,
        max_rows: int,
        unreadable: Collection[bytes] = (),
        everything: bool = False,
    ) -> Iterator[Batch]:
        """Claims rows to count, of any metric: those of commits, and gathered ones that are due.

        With them come all gathered rows of their slices, so that what is due of a slice is shown
        in one step.

        Where the database can lock rows, the block is one transaction: nobody else counts
        meanwhile, and all changes are durable when the block ends, or none. Where it cannot, each
        change is one transaction, which does nothing if another process was first.

        Args:
            max_bytes: the batch ends with the row that reaches this size.
            max_rows: the batch has at most this many rows.
            unreadable: digests of specs whose rows are not claimed.
            everything: whether gathered rows that are not due are wanted, too.

        Raises:
            StoreUnavailableError: if the store failed; uncounted rows stay in the inbox.
        """
        limits = max_bytes, max_rows
        before = NEVER if everything else 0
        if not self._has_shown_row:
            self._make_shown_row()
        if self._database.locks_rows:
            with self._database.write() as connection:
                day = _lock_shown_day(connection)
                claimed: tuple[list[WaitingRow], bool] = [], False
                if day >= 0:
                    claimed = _claim(connection, before or day, limits, unreadable)
                rows, more = claimed
                yield Batch(
                    rows,
                    lambda: nullcontext(connection),
                    lambda: _savepoint(connection),
                    shown_day=day,
                    may_have_more=more,
                )
        else:
            with self._database.read() as connection:
                day = read_shown_day(connection)
                rows, more = _claim(connection, before or day, limits, unreadable)
            yield Batch(
                rows,
                self._database.read,
                self._database.write,
                shown_day=day,
                may_have_more=more,
            )

    def _make_shown_row(self) -> None:
        """Makes the row of `shown`, in a transaction of its own: nobody waits for who counts."""
        with self._database.look_up() as connection:
            self._has_shown_row = connection.execute(select(shown.c.day)).first() is not None
        if not self._has_shown_row:
            with self._database.write() as connection:
                dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
                adding = dialect.insert(shown).on_conflict_do_nothing()
                connection.execute(adding, {"place": 0, "day": 0})

    def shown_day(self) -> int:
        """The last day at whose begin all that waited became due; 0 if there was none."""
        with self._database.look_up() as connection:
            return read_shown_day(connection)

    def show_all(self, day: int) -> bool:
        """Makes all gathered reports due, once a day.

        Args:
            day: the current one, in days since 1970-01-01.

        Returns:
            False if that was done on this day or a later one, or somebody is counting.

        Raises:
            StoreUnavailableError: if the store failed.
        """
        if not self._has_shown_row:
            self._make_shown_row()
        if self.shown_day() >= day:
            return False
        with self._database.write() as connection:
            if not 0 <= _lock_shown_day(connection) < day:
                return False
            connection.execute(update(shown).values(day=day))
        return True

    def size(self, digests: Collection[bytes] | None = None) -> tuple[int, int]:
        """How many rows wait, and how many bytes of reports they have.

        Args:
            digests: of which specs; None for the rows of commits, of all specs.
        """
        query = select(func.count(), func.coalesce(func.sum(func.length(inbox.c.payload)), 0))
        chosen = inbox.c.gathered.is_(None) if digests is None else inbox.c.digest.in_(digests)
        with self._database.look_up() as connection:
            rows, payload_bytes = connection.execute(query.select_from(inbox).where(chosen)).one()
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

        First it deletes the keys, which leaves hashes that nobody can check, and forgets with which
        batches of a relay reports came. Then it deletes the
        hashes, in chunks. Then it erases the deleted bytes from the database's files, also if there
        was nothing to delete now, as an earlier call may have failed at this step.

        Raises:
            StoreUnavailableError: if bytes may be left on the disk; to be called again.
        """
        closing = epochs.c.epoch < oldest_open, epochs.c.key.is_not(None)
        with self._database.write() as connection:
            connection.execute(update(epochs).where(*closing).values(key=None))
            forget_batches(connection, oldest_open)
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
    payloads: defaultdict[_SliceName, list[bytes]] = defaultdict(list)
    largest: defaultdict[_SliceName, int] = defaultdict(int)
    relayed: Counter[tuple[_SliceName, Relay]] = Counter()
    for upload, sender, name in zip(uploads, senders, names, strict=True):
        if name is None:
            outcomes.append(Outcome.CLOSED)
        elif name not in fresh:
            outcomes.append(Outcome.DUPLICATE)
        else:
            outcomes.append(Outcome.STORED)
            fresh.remove(name)
            sizes: defaultdict[_SliceName, int] = defaultdict(int)
            for digest, epoch, payload in upload.parts:
                where = digest, epoch, sender.key_id
                payloads[where].append(payload)
                sizes[where] += len(payload)
            for where, size in sizes.items():
                largest[where] = max(largest[where], size)
                if sender.relay is not None:
                    relayed[where, sender.relay] += 1
    if payloads:
        step.append_rows([_inbox_row(*item, largest[item[0]]) for item in payloads.items()])
    if relayed:
        step.count_relayed(
            {RelayGroup(*where, *relay): number for (where, relay), number in relayed.items()}
        )
    return outcomes


def new_row_id(digest: bytes, epoch: int) -> int:
    """A random id, near those of the same metric and day: the parts of an upload share pages."""
    of_metric = int.from_bytes(digest[:2]) >> 16 - DIGEST_BITS
    of_day = epoch & (1 << DAY_BITS) - 1
    return (of_metric << DAY_BITS | of_day) << RANDOM_BITS | secrets.randbits(RANDOM_BITS)


@contextmanager
def _savepoint(connection: Connection) -> Iterator[Connection]:
    """A part of a transaction that can be rolled back alone."""
    with connection.begin_nested():
        yield connection


def _lock_shown_day(connection: Connection) -> int:
    """The day of `shown`, locked until the transaction ends; -1 if another has locked it."""
    day = connection.execute(select(shown.c.day).with_for_update(skip_locked=True)).scalar()
    return -1 if day is None else int(day)


def _claim(
    connection: Connection,
    before: int,
    limits: tuple[int, int],
    unreadable: Collection[bytes],
) -> tuple[list[WaitingRow], bool]:
    """Rows to count, also gathered ones of before some day, and whether there may be more."""
    max_bytes, max_rows = limits
    columns = [inbox.c[name] for name in WaitingRow._fields]
    due = or_(inbox.c.gathered.is_(None), inbox.c.gathered < before)
    query = select(*columns).where(due, inbox.c.digest.not_in(unreadable)).limit(max_rows)
    rows = _fetch(connection, query, max_bytes)
    size = sum(len(row.payload) for row in rows)
    slices = {(row.digest, row.epoch, row.key) for row in rows}
    known = {row.id for row in rows}
    for chunk in in_chunks(sorted(slices)):
        same = tuple_(inbox.c.digest, inbox.c.epoch, inbox.c.key).in_(chunk)
        gathered = select(*columns).where(inbox.c.gathered.is_not(None), same)
        found = map(WaitingRow._make, connection.execute(gathered))
        rows += [row for row in found if row.id not in known]
    return rows, len(known) == max_rows or size >= max_bytes


def _fetch(connection: Connection, query: Select[Any], max_bytes: int) -> list[WaitingRow]:
    rows: list[WaitingRow] = []
    size = 0
    with connection.execute(query.execution_options(yield_per=FETCHED_ROWS)) as result:
        for row in result:
            rows.append(WaitingRow(*row))
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
    days = [part.epoch for part in upload.parts]
    latest = max(days)
    key = keys[latest]
    if key is None or None in map(keys.get, days):
        return None
    name_bytes = upload.id + application.encode()
    return latest, hashlib.blake2b(name_bytes, digest_size=HASH_BYTES, key=key).digest()


def _inbox_row(group: _SliceName, payloads: list[bytes], largest: int) -> InboxRow:
    digest, epoch, _ = group
    return InboxRow(new_row_id(digest, epoch), *group, b"".join(sorted(payloads)), largest)
