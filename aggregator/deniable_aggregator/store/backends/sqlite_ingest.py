"""What ingest does in one transaction of SQLite, on the driver's own cursor."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store.backends.base import IngestTransaction, new_epoch_key
from deniable_aggregator.store.chunks import in_chunks

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Mapping, Sequence

    from deniable_aggregator.store.backends.base import InboxRow, UploadName

_KEYS: Final = "SELECT epoch, key FROM epochs WHERE epoch BETWEEN ? AND ?"
_OPEN: Final = "INSERT INTO epochs (epoch, key) VALUES (?, ?)"
_REMEMBER: Final = "INSERT INTO seen (epoch, hash) VALUES %s ON CONFLICT DO NOTHING"
_FIND: Final = "SELECT 1 FROM seen WHERE epoch = ? AND hash = ?"
_APPEND: Final = "INSERT INTO inbox (id, digest, epoch, key, payload) VALUES (?, ?, ?, ?, ?)"


class SqliteIngest(IngestTransaction):
    """A transaction that has begun.

    Args:
        cursor: the cursor that began it.
    """

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def epoch_keys(self, days: Collection[int]) -> Mapping[int, bytes | None]:
        """See `IngestTransaction.epoch_keys`."""
        rows = self._cursor.execute(_KEYS, (min(days), max(days)))
        keys: dict[int, bytes | None] = {row[0]: row[1] for row in rows}
        for epoch in days - keys.keys():
            keys[epoch] = new_epoch_key()
            self._cursor.execute(_OPEN, (epoch, keys[epoch]))
        return keys

    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        """See `IngestTransaction.remember_uploads`."""
        # Nearly always all uploads are new, which one statement finds out. With a statement for
        # each, this thread would wait after every one for other threads that run Python.
        self._cursor.execute("SAVEPOINT remembering")
        if sum(self._remember(chunk) for chunk in in_chunks(names)) == len(names):
            return set(names)
        self._cursor.execute("ROLLBACK TO remembering")
        fresh = {name for name in names if not self._cursor.execute(_FIND, name).fetchone()}
        for chunk in in_chunks(sorted(fresh)):
            self._remember(chunk)
        return fresh

    def _remember(self, names: Sequence[UploadName]) -> int:
        """Inserts upload names; returns how many were not there."""
        places = ", ".join(["(?, ?)"] * len(names))
        return self._cursor.execute(_REMEMBER % places, [*chain.from_iterable(names)]).rowcount

    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        """See `IngestTransaction.append_rows`."""
        self._cursor.executemany(_APPEND, rows)
