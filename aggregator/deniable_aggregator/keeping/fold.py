"""The fold: moves the reports of inbox rows to tallies, exactly once, in bounded batches."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.counting.tallies import Tally
    from deniable_aggregator.keeping.catalog import MetricCatalog
    from deniable_aggregator.keeping.store import Batch, InboxRow, Store, TallyKey

BATCH_BYTES: Final = 8 << 20
BATCH_ROWS: Final = 4_000

WORTH_BYTES: Final = 1 << 20
WORTH_ROWS: Final = 2_500
"""So many rows, or bytes of reports in them, are worth a fold at once."""

FEW_ROWS: Final = 250
FEW_ROWS_SECONDS: Final = 600.0
"""So many are, after so long. A fold writes some pages of the file, whatever it moves."""

log = logging.getLogger("deniable_aggregator")


class InboxFold:
    """Moves the reports of the inbox to tallies.

    Each row is deleted in the transaction that adds its reports to a tally. So any number of
    servers may fold one store. On PostgreSQL a fold locks the rows of its batch, and others take
    other rows. On SQLite a batch is prepared outside any lock; if a row is gone by the time of the
    transaction, another process has counted it, and the transaction changes nothing. After a crash
    a batch may be prepared again, but is never counted twice.

    No question waits for this, as questions read the inbox too. So it runs when it is worth what it
    writes: the more reports wait, the sooner.

    Args:
        catalogue: the registered metrics.
        patience_seconds: how long any report waits at most.
        monotonic: seconds by a clock that cannot be set.
        keep_reports: whether reports stay reports in tallies, until an archive has them.

    Attributes:
        folded_reports: how many reports this process has counted.
        failures: how often a fold in the background failed.
    """

    def __init__(
        self,
        store: Store,
        catalogue: MetricCatalog,
        *,
        patience_seconds: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
        keep_reports: bool = False,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._patience = patience_seconds
        self._monotonic = monotonic
        self._keep_reports = keep_reports
        # Held while folding: on SQLite a second thread would only prepare the same batch.
        self._lock = threading.Lock()
        self._caught_up_at = self._folded_at = monotonic()
        self.folded_reports = 0
        self.failures = 0

    def lag_seconds(self) -> float:
        """How long ago this process found nothing that was worth a fold."""
        return self._monotonic() - self._caught_up_at

    def is_worth_it(self) -> bool:
        """Whether enough reports wait, or some for long enough.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        seconds = self._monotonic() - self._folded_at
        if seconds >= self._patience:
            return True
        rows, payload_bytes = self._store.inbox.size()
        enough = rows >= WORTH_ROWS or payload_bytes >= WORTH_BYTES
        if enough or (rows >= FEW_ROWS and seconds >= FEW_ROWS_SECONDS):
            return True
        self._caught_up_at = self._monotonic()
        return False

    def fold(self, *, seconds: float) -> None:
        """Counts the rows that wait.

        Args:
            seconds: no batch is begun after so long; the next call goes on.

        Raises:
            StoreUnavailableError: if the store failed; no report was lost or counted twice.
        """
        deadline = self._monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return
        try:
            self._catalogue.renew()
            full = True
            while full and self._monotonic() < deadline:
                full = self._fold_batch()
            if not full:
                self._caught_up_at = self._folded_at = self._monotonic()
        finally:
            self._lock.release()

    def _fold_batch(self) -> bool:
        """Counts one batch. Returns whether it was full: then there may be more rows."""
        # Skip rows whose metric only a newer server can decode.
        unreadable = self._catalogue.unreadable()
        with self._store.inbox.claim(
            max_bytes=BATCH_BYTES, max_rows=BATCH_ROWS, unreadable=unreadable
        ) as batch:
            size = sum(len(row.payload) for row in batch.rows)
            strangers = batch.unknown_keys()
            good: dict[TallyKey, tuple[Tally, list[InboxRow]]] = {}
            for where, rows in batch.groups().items():
                if where.key in strangers:
                    _set_aside(batch, rows, "their key is not in the store")
                elif (tally := self._tally(where.digest)) is not None:
                    checked = _countable_rows(batch, tally, rows)
                    if checked:
                        good[where] = tally, checked
                elif where.digest in self._catalogue.removed():
                    batch.discard(rows)
                elif where.digest not in self._catalogue.unreadable():
                    _set_aside(batch, rows, "their metric is not registered")
            if batch.move_to_tallies(good, keep_reports=self._keep_reports):
                self.folded_reports += sum(
                    len(row.payload) // tally.report_bytes
                    for tally, rows in good.values()
                    for row in rows
                )
            return len(batch.rows) == BATCH_ROWS or size >= BATCH_BYTES

    def _tally(self, digest: bytes) -> Tally | None:
        tally = self._catalogue.tally(digest)
        if tally is None:
            # Another server may have registered the metric a moment ago.
            self._catalogue.reload()
            tally = self._catalogue.tally(digest)
        return tally


def _countable_rows(batch: Batch, tally: Tally, rows: list[InboxRow]) -> list[InboxRow]:
    """The rows that can be counted; the others are set aside."""
    if _is_countable(tally, rows):
        return rows
    bad = [row for row in rows if not _is_countable(tally, [row])]
    _set_aside(batch, bad, "they cannot be counted")
    return [row for row in rows if row not in bad]


def _set_aside(batch: Batch, rows: list[InboxRow], reason: str) -> None:
    message = "%d inbox rows were set aside: %s; see deniable store set-aside list"
    log.error(message, len(rows), reason)
    batch.set_aside(rows)


def _is_countable(tally: Tally, rows: list[InboxRow]) -> bool:
    """Whether the reports of rows are possible ones.

    Ingest has checked every report, so a failure means damage, a defect, or too little memory for
    so many rows. It must not keep other rows from being counted.
    """
    try:
        tally.check(b"".join(row.payload for row in rows))
    except Exception as error:  # noqa: BLE001  see above
        log.error("reports could not be decoded: %s", type(error).__name__)
        return False
    return True
