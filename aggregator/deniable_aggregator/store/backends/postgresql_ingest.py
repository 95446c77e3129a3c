"""What ingest does in one transaction of PostgreSQL, each step in one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.store.backends.base import IngestTransaction, new_epoch_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

    from deniable_aggregator.store.backends.base import InboxRow, UploadName

_KEYS: Final = "SELECT epoch, key FROM epochs WHERE epoch = ANY(%s::int[]) ORDER BY epoch FOR SHARE"
_OPEN: Final = (
    "INSERT INTO epochs (epoch, key) SELECT * FROM unnest(%s::int[], %b::bytea[]) "
    "ON CONFLICT DO NOTHING"
)
_REMEMBER: Final = (
    "INSERT INTO seen (epoch, hash) SELECT * FROM unnest(%s::int[], %b::bytea[]) "
    "ON CONFLICT DO NOTHING RETURNING epoch, hash"
)
_APPEND: Final = (
    "INSERT INTO inbox (id, digest, epoch, key, payload) "
    "SELECT * FROM unnest(%s::bigint[], %b::bytea[], %s::int[], %s::text[], %b::bytea[])"
)


class PostgresqlIngest(IngestTransaction):
    """A transaction that has begun.

    Args:
        connection: the connection that began it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def epoch_keys(self, days: Collection[int]) -> Mapping[int, bytes | None]:
        """See `IngestTransaction.epoch_keys`."""
        keys_by_day = self._locked_keys(days)
        missing = sorted(days - keys_by_day.keys())
        if missing:
            fresh = [new_epoch_key() for _ in missing]
            self._connection.exec_driver_sql(_OPEN, (missing, fresh))
            # Read them again, as another server may have opened any of these epochs first.
            keys_by_day |= self._locked_keys(missing)
        return keys_by_day

    def _locked_keys(self, days: Collection[int]) -> dict[int, bytes | None]:
        # Shared locks: whoever closes one of these epochs waits for the end of this transaction.
        rows = self._connection.exec_driver_sql(_KEYS, (sorted(days),))
        return {epoch: key for epoch, key in rows}  # noqa: C416  rows are not pairs to mypy

    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        """See `IngestTransaction.remember_uploads`."""
        epochs, hashes = zip(*names, strict=True)
        fresh = self._connection.exec_driver_sql(_REMEMBER, (list(epochs), list(hashes)))
        return {(epoch, hash_) for epoch, hash_ in fresh}

    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        """See `IngestTransaction.append_rows`."""
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        self._connection.exec_driver_sql(_APPEND, columns)
