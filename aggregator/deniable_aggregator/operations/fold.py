"""The fold: inbox rows become tallies, exactly once, in bounded batches."""

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
    """Counts what is in the inbox.

    A row is deleted in the transaction that adds what it amounts to. So any number of folders may
    work on one store: on PostgreSQL each locks the rows of its batch, and others are given other
    rows; on SQLite a batch is counted outside any lock, and if one of its rows is gone, another
    process has counted it, and nothing changes. A crash repeats a batch or not, but never counts
    it twice.

    Attributes:
        folded: reports that it has counted.
        failed: how often it failed in the background.
    """

    def __init__(self, store: Store, catalogue: MetricCatalog) -> None:
        self._store = store
        self._catalogue = catalogue
        # Two threads of this process would only do the same work twice.
        self._lock = threading.Lock()
        self._caught_up_at = time.monotonic()
        self.folded_reports = 0
        self.failures = 0

    def lag_seconds(self) -> float:
        """How long ago all that waited was counted, or found to be in another server's hands."""
        return time.monotonic() - self._caught_up_at

    def fold(self, *, seconds: float) -> None:
        """Counts what is waiting.

        Args:
            seconds: when this time is up, the rest is left to the next call.

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
        """Counts one batch; True if the batch was full, so that there may be more."""
        # What a server of another version can count must not be in the way here.
        left = self._catalogue.unreadable()
        with self._store.inbox.claim(
            max_bytes=BATCH_BYTES, max_rows=BATCH_ROWS, left=left
        ) as batch:
            size = sum(len(row.payload) for row in batch.rows)
            # One tally at a time, so that memory does not grow with the number of metrics.
            for where, rows in batch.groups().items():
                self._fold_group(batch, where, rows)
            return len(batch.rows) == BATCH_ROWS or size >= BATCH_BYTES

    def _fold_group(self, batch: Batch, where: TallyKey, rows: list[InboxRow]) -> None:
        entry = self._catalogue.find(where.digest)
        if entry is None:
            # Another server may have registered it, and accepted its reports, a moment ago.
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
    """What the rows that can be counted amount to, and which they are; the others are set aside."""
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
    words = "%d inbox rows were set aside: %s; see deniable store set-aside list"
    log.error(words, len(rows), reason)
    batch.set_aside(rows)


def _sum_rows(tally: Tally, rows: list[InboxRow]) -> TallyTotal | None:
    """What rows amount to, or None if one of them cannot be counted.

    Ingest has checked every report, so this happens through damage or a defect, or where there is
    no memory for so many at once. None of these must stop the others from being counted.
    """
    try:
        reports, cells = tally.fold(b"".join(row.payload for row in rows))
    except Exception as error:  # noqa: BLE001  see above
        log.error("counting failed: %s", type(error).__name__)
        return None
    return TallyTotal(reports, cells)
