"""The fold: adds the reports of inbox rows to tallies, exactly once, in bounded batches."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store import Store, TallyTotal

if TYPE_CHECKING:
    from deniable_aggregator.catalog import MetricCatalog
    from deniable_aggregator.store import Batch, InboxRow, TallyKey
    from deniable_aggregator.tallies import Tally

BATCH_BYTES: Final = 16 << 20
BATCH_ROWS: Final = 20_000


log = logging.getLogger("deniable_aggregator")


class InboxFold:
    """Counts the reports of the inbox.

    Each row is deleted in the transaction that adds its reports to a tally. So any number of
    servers may fold one store. On PostgreSQL a fold locks the rows of its batch, and others take
    other rows. On SQLite a batch is summed outside any lock; if a row is gone by the time of the
    transaction, another process has counted it, and the transaction changes nothing. After a crash
    a batch may be summed again, but is never counted twice.

    Args:
        store: the store.
        catalogue: the registered metrics.

    Attributes:
        folded_reports: how many reports this process has counted.
        failures: how often a fold in the background failed.
    """

    def __init__(self, store: Store, catalogue: MetricCatalog) -> None:
        self._store = store
        self._catalogue = catalogue
        # Held while folding: on SQLite a second thread would only sum the same batch.
        self._lock = threading.Lock()
        self._caught_up_at = time.monotonic()
        self.folded_reports = 0
        self.failures = 0

    def lag_seconds(self) -> float:
        """How long ago this process found no row left that no other server was counting."""
        return time.monotonic() - self._caught_up_at

    def fold(self, *, seconds: float) -> None:
        """Counts the rows that wait.

        Args:
            seconds: no batch is begun after so long; the next call goes on.

        Raises:
            StoreUnavailableError: if the store failed; no report was lost or counted twice.
        """
        deadline = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return
        try:
            full = True
            while full and time.monotonic() < deadline:
                full = self._fold_batch()
            if not full:
                self._caught_up_at = time.monotonic()
        finally:
            self._lock.release()

    def _fold_batch(self) -> bool:
        """Counts one batch; returns whether it was full, so that there may be more rows."""
        # Skip rows whose metric only a newer server can decode.
        left = self._catalogue.unreadable()
        with self._store.inbox.claim(
            max_bytes=BATCH_BYTES, max_rows=BATCH_ROWS, left=left
        ) as batch:
            size = sum(len(row.payload) for row in batch.rows)
            # Sum one tally at a time, so that memory does not grow with the number of metrics.
            for where, rows in batch.groups().items():
                self._fold_group(batch, where, rows)
            return len(batch.rows) == BATCH_ROWS or size >= BATCH_BYTES

    def _fold_group(self, batch: Batch, where: TallyKey, rows: list[InboxRow]) -> None:
        entry = self._catalogue.find(where.digest)
        if entry is None:
            # Another server may have registered the metric a moment ago.
            self._catalogue.reload()
            entry = self._catalogue.find(where.digest)
        if entry is None and where.digest in self._catalogue.unreadable():
            return
        if entry is None:
            _set_aside(batch, rows, "their metric is not registered")
            return
        counted = _sum_rows(entry.tally, rows)
        if counted is None:
            counted, rows = _sum_one_by_one(batch, entry.tally, rows)
        if counted is not None:
            done = batch.move_to_tally(where, counted, rows)
            self.folded_reports += counted.reports if done else 0


def _sum_one_by_one(
    batch: Batch, tally: Tally, rows: list[InboxRow]
) -> tuple[TallyTotal | None, list[InboxRow]]:
    """Sums the rows that can be summed, and sets the others aside; returns the sum and its rows."""
    total: TallyTotal | None = None
    good, bad = [], []
    for row in rows:
        counted = _sum_rows(tally, [row])
        if counted is None:
            bad.append(row)
            continue
        good.append(row)
        if total is None:
            total = counted
        else:
            total = TallyTotal(total.reports + counted.reports, total.cells + counted.cells)
    if bad:
        _set_aside(batch, bad, "they cannot be counted")
    return total, good


def _set_aside(batch: Batch, rows: list[InboxRow], reason: str) -> None:
    message = "%d inbox rows were set aside: %s; see deniable store set-aside list"
    log.error(message, len(rows), reason)
    batch.set_aside(rows)


def _sum_rows(tally: Tally, rows: list[InboxRow]) -> TallyTotal | None:
    """The sum of rows, or None if one of them cannot be decoded.

    Ingest has checked every report, so a failure means damage, a defect, or too little memory for
    so many rows. It must not keep other rows from being counted.
    """
    try:
        reports, cells = tally.fold(b"".join(row.payload for row in rows))
    except Exception as error:  # noqa: BLE001  see above
        log.error("reports could not be decoded: %s", type(error).__name__)
        return None
    return TallyTotal(reports, cells)
