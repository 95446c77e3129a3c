"""The inbox: what was accepted and not yet counted, and the ids that make a retry recognisable."""

from __future__ import annotations

import enum
import hashlib
import secrets
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update

from deniable_aggregator.store.schema import epochs, inbox, seen, set_aside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from deniable_aggregator.store.database import Database
    from deniable_shared.wire import Upload

HASH_BYTES: Final = 16
KEY_BYTES: Final = 32
ROW_ID_BITS: Final = 63
FORGET_ROWS: Final = 10_000
"""Ids of closed epochs are deleted in steps of this many, so that ingest never waits long."""

_shuffle: Final = secrets.SystemRandom().shuffle


class Outcome(enum.Enum):
    """What became of an upload."""

    STORED = enum.auto()
    DUPLICATE = enum.auto()
    CLOSED = enum.auto()


class Row(NamedTuple):
    """One row of the inbox: reports of one spec and day from the uploads of one commit."""

    id: int
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

    def append(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Stores uploads in one transaction; durable when this returns.

        The payloads of all uploads are put together by (digest, epoch), in random order and under
        a random key, so that what arrived in one upload cannot be joined again.

        Returns:
            One outcome for each upload, in order. An upload is stored whole or not at all.

        Raises:
            StoreUnavailableError: nothing was stored.
        """
        outcomes: list[Outcome] = []
        payloads: defaultdict[tuple[bytes, int], list[bytes]] = defaultdict(list)
        fresh: list[dict[str, object]] = []
        with self._database.write() as connection:
            keys = _open_keys(connection, {part.epoch for up in uploads for part in up.parts})
            names = [_name(upload, keys) for upload in uploads]
            known = _known(connection, names)
            for upload, name in zip(uploads, names, strict=True):
                if name is None:
                    outcomes.append(Outcome.CLOSED)
                elif name in known:
                    outcomes.append(Outcome.DUPLICATE)
                else:
                    outcomes.append(Outcome.STORED)
                    known.add(name)
                    fresh.append({"epoch": name[0], "hash": name[1]})
                    for digest, epoch, payload in upload.parts:
                        payloads[digest, epoch].append(payload)
            if fresh:
                connection.execute(_INSERT_SEEN, fresh)
                connection.execute(_INSERT_ROWS, list(map(_row, payloads.items())))
        return outcomes

    def groups(self, digests: Collection[bytes] | None = None) -> list[tuple[bytes, int]]:
        """The (digest, epoch) pairs that have something to count; of all specs, or of these."""
        query = select(inbox.c.digest, inbox.c.epoch).distinct()
        if digests is not None:
            query = query.where(inbox.c.digest.in_(digests))
        with self._database.read() as connection:
            return [(digest, epoch) for digest, epoch in connection.execute(query)]

    def batch(self, digest: bytes, epoch: int, *, max_bytes: int, max_rows: int) -> list[Row]:
        """Rows of one spec and day to count together: at least one, if there is any.

        Args:
            digest: the spec's digest.
            epoch: the day.
            max_bytes: the batch ends with the row that reaches this size.
            max_rows: the batch has at most this many rows.
        """
        query = (
            select(inbox.c.id, inbox.c.payload)
            .where(inbox.c.digest == digest, inbox.c.epoch == epoch)
            .limit(max_rows)
            .execution_options(yield_per=64)
        )
        rows: list[Row] = []
        size = 0
        with self._database.read() as connection, connection.execute(query) as result:
            for row_id, payload in result:
                rows.append(Row(row_id, payload))
                size += len(payload)
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
        go, in steps.
        """
        closing = epochs.c.epoch < oldest_open, epochs.c.key.is_not(None)
        with self._database.write() as connection:
            closed = connection.execute(update(epochs).where(*closing).values(key=None)).rowcount
        some = select(seen.c.epoch, seen.c.hash).where(seen.c.epoch < oldest_open)
        while True:
            with self._database.write() as connection:
                rows = connection.execute(some.limit(FORGET_ROWS)).all()
                if rows:
                    connection.execute(_FORGET, [{"e": epoch, "h": hash_} for epoch, hash_ in rows])
            if len(rows) < FORGET_ROWS:
                break
        if closed:
            self._database.empty_log()


def take(connection: Connection, row_ids: Iterable[int]) -> int:
    """Deletes rows of the inbox inside a transaction and says how many were still there."""
    return connection.execute(_TAKE, [{"row": row_id} for row_id in row_ids]).rowcount


_INSERT_SEEN: Final = insert(seen)
_INSERT_ROWS: Final = insert(inbox)
_TAKE: Final = delete(inbox).where(inbox.c.id == bindparam("row"))
_FORGET: Final = delete(seen).where(seen.c.epoch == bindparam("e"), seen.c.hash == bindparam("h"))
_KNOWN: Final = select(seen.c.hash).where(
    seen.c.epoch == bindparam("e"), seen.c.hash.in_(bindparam("hashes", expanding=True))
)
_KEYS: Final = select(epochs.c.epoch, epochs.c.key).where(
    epochs.c.epoch.in_(bindparam("wanted", expanding=True))
)


def _open_keys(connection: Connection, wanted: set[int]) -> dict[int, bytes | None]:
    """The keys of these epochs; made for those that are new, None for those that are closed."""
    found = connection.execute(_KEYS, {"wanted": list(wanted)})
    keys: dict[int, bytes | None] = dict(found.tuples().all())
    for epoch in wanted - keys.keys():
        keys[epoch] = secrets.token_bytes(KEY_BYTES)
        connection.execute(insert(epochs).values(epoch=epoch, key=keys[epoch]))
    return keys


def _name(upload: Upload, keys: dict[int, bytes | None]) -> tuple[int, bytes] | None:
    """Under which epoch and hash an upload is remembered; None if one of its epochs is closed.

    The epoch is the latest of its parts, so that the id is kept for as long as any part of a
    retry could still be accepted.
    """
    touched = {part.epoch for part in upload.parts}
    if any(keys[epoch] is None for epoch in touched):
        return None
    latest = max(touched)
    key = keys[latest]
    assert key is not None
    return latest, hashlib.blake2b(upload.id, digest_size=HASH_BYTES, key=key).digest()


def _known(
    connection: Connection, names: Iterable[tuple[int, bytes] | None]
) -> set[tuple[int, bytes]]:
    by_epoch: defaultdict[int, list[bytes]] = defaultdict(list)
    for name in names:
        if name is not None:
            by_epoch[name[0]].append(name[1])
    return {
        (epoch, hash_)
        for epoch, hashes in by_epoch.items()
        for hash_ in connection.execute(_KNOWN, {"e": epoch, "hashes": hashes}).scalars()
    }


def _row(item: tuple[tuple[bytes, int], list[bytes]]) -> dict[str, object]:
    (digest, epoch), payloads = item
    _shuffle(payloads)
    return {
        "id": secrets.randbits(ROW_ID_BITS),
        "digest": digest,
        "epoch": epoch,
        "payload": b"".join(payloads),
    }
