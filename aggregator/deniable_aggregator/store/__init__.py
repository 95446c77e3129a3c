"""Where the aggregator keeps what it was told: noise, sums of noise, and who may write and read."""

from __future__ import annotations

from pathlib import Path

from deniable_aggregator.store.batch import Batch, Sum, TallyKey
from deniable_aggregator.store.database import Row
from deniable_aggregator.store.errors import StoreError, StoreRefusedError, StoreUnavailableError
from deniable_aggregator.store.inbox import Backlog, Inbox, Outcome
from deniable_aggregator.store.keys import Keys, StoredKey
from deniable_aggregator.store.metrics import Metrics, Registration
from deniable_aggregator.store.remote import RemoteDocuments
from deniable_aggregator.store.sqlite import SqliteDatabase
from deniable_aggregator.store.tallies import Slice, Tallies


class Store:
    """An open store.

    Args:
        path: the SQLite file; created if absent. ``.lock``, ``-wal`` and ``-shm`` stand beside it.

    Attributes:
        path: the file.
        inbox: what was accepted and not yet counted.
        tallies: what was counted.
        metrics: the registered metrics.
        keys: who may write and read.
        remote: signed remote configurations.

    Raises:
        StoreRefusedError: if the file is not a store of this version, or is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._database = SqliteDatabase(self.path)
        self.inbox = Inbox(self._database)
        self.tallies = Tallies(self._database)
        self.metrics = Metrics(self._database)
        self.keys = Keys(self._database)
        self.remote = RemoteDocuments(self._database)

    def close(self) -> None:
        """Closes the file; everything acknowledged is in it already."""
        self._database.close()


__all__ = [
    "Backlog",
    "Batch",
    "Inbox",
    "Keys",
    "Metrics",
    "Outcome",
    "Registration",
    "RemoteDocuments",
    "Row",
    "Slice",
    "Store",
    "StoreError",
    "StoreRefusedError",
    "StoreUnavailableError",
    "StoredKey",
    "Sum",
    "Tallies",
    "TallyKey",
]
