"""The fold: gathers the reports of inbox rows, and moves batches of them to tallies, once each."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from deniable_aggregator.keeping.store.batch import Gathering
from deniable_aggregator.keeping.store.encoding import join_reports
from deniable_aggregator.keeping.store.inbox import new_row_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.counting.tallies import Tally
    from deniable_aggregator.keeping.catalog import MetricCatalog
    from deniable_aggregator.keeping.store import Batch, Store, TallyKey, WaitingRow

BATCH_BYTES: Final = 8 << 20
BATCH_ROWS: Final = 4_000

WORTH_BYTES: Final = 1 << 20
WORTH_ROWS: Final = 2_500
"""So many rows, or bytes of reports in them, are worth a fold at once."""

FEW_ROWS: Final = 100
FEW_ROWS_SECONDS: Final = 60.0
"""So many are, after so long. A fold writes some pages of the file, whatever it moves."""

MOST_REST: Final = 3.0
EVEN_LAG_SECONDS: Final = 10.0

log = logging.getLogger("deniable_aggregator")


def rest_seconds(worked: float, lag: float) -> float:
    """How long whoever folds rests after each piece of work, so that uploads go first.

    It works a quarter of the time at first, half of it once reports have waited for
    `EVEN_LAG_SECONDS`, and the more of it the longer they wait: no backlog stays.

    Args:
        worked: seconds that the piece took; at least 0.
        lag: seconds since nothing was left to fold; at least 0.
    """
    return worked * EVEN_LAG_SECONDS / max(lag, EVEN_LAG_SECONDS / MOST_REST)


class InboxFold:
    """Gathers the reports of the inbox by slice, and moves them to tallies, which answers are of.

    What comes of a slice (a version, day and key) is gathered in one row, sorted. With
    `batch_reports` in it, it is a full batch, which moves to the tallies when the next one is full.
    When a day begins, all that has come before moves, each slice in one step. So nobody who reads
    answers sees which report came when, but for the day, or sees fewer than a batch.

    Each row is deleted in the transaction that adds its reports to a tally, or to another row. So
    any number of servers may fold one store. On PostgreSQL one of them does at a time. On SQLite a
    batch is prepared outside any lock; if a row is gone by the time of the transaction, another
    process has counted it, and the transaction changes nothing. After a crash a batch may be
    prepared again, but is never counted twice.

    It runs when it is worth what it writes: the more reports wait, the sooner; and on a new day.

    Args:
        catalogue: the registered metrics.
        batch_reports: how many reports are a batch; with 1, all are moved as they are found.
        day: the current day, in days since 1970-01-01.
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
        batch_reports: int = 1,
        day: Callable[[], int] = lambda: 0,
        patience_seconds: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
        keep_reports: bool = False,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._batch_reports = batch_reports
        self._day = day
        self._shown_day = 0
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
        if seconds >= self._patience or self._day() > self._shown_day:
            return True
        rows, payload_bytes = self._store.inbox.size()
        enough = rows >= WORTH_ROWS or payload_bytes >= WORTH_BYTES
        if enough or (rows >= FEW_ROWS and seconds >= FEW_ROWS_SECONDS):
            return True
        self._caught_up_at = self._monotonic()
        return False

    def fold(self, *, seconds: float, rest: Callable[[float], bool] = lambda _: False) -> bool:
        """Counts the rows that wait.

        Args:
            seconds: no batch is begun after so long; the next call goes on.
            rest: called after each batch with the seconds that it took; ends the fold if true.

        Returns:
            Whether more rows wait.

        Raises:
            StoreUnavailableError: if the store failed; no report was lost or counted twice.
        """
        deadline = self._monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            return True
        try:
            self._catalogue.renew()
            more = True
            while more and (start := self._monotonic()) < deadline:
                # All that came before the day is gathered when the rest becomes due.
                more = self._fold_batch() or self._begin_day()
                if not more:
                    self._caught_up_at = self._folded_at = self._monotonic()
                if rest(self._monotonic() - start):
                    break
            return more
        finally:
            self._lock.release()

    def _begin_day(self) -> bool:
        """Makes all that was gathered due on a new day. Returns whether this call did."""
        day = self._day()
        if day <= self._shown_day:
            return False
        begun = self._store.inbox.show_all(day)
        self._shown_day = day if begun else max(self._shown_day, self._store.inbox.shown_day())
        return begun

    def _fold_batch(self) -> bool:
        """Counts one batch. Returns whether there may be more rows."""
        # Skip rows whose metric only a newer server can decode.
        unreadable = self._catalogue.unreadable()
        with self._store.inbox.claim(
            max_bytes=BATCH_BYTES,
            max_rows=BATCH_ROWS,
            unreadable=unreadable,
            everything=self._batch_reports == 1,
        ) as batch:
            strangers = batch.unknown_keys()
            good: dict[TallyKey, tuple[Tally, list[WaitingRow]]] = {}
            gathered: list[Gathering] = []
            for where, rows in batch.groups().items():
                if where.key in strangers:
                    _set_aside(batch, rows, "their key is not in the store")
                elif (tally := self._tally(where.digest)) is not None:
                    checked = _countable_rows(batch, tally, rows)
                    showing, gathering = self._divide(tally, checked, batch.shown_day)
                    if showing:
                        good[where] = tally, showing
                    if gathering is not None:
                        gathered.append(gathering)
                elif where.digest in self._catalogue.removed():
                    batch.discard(rows)
                elif where.digest not in self._catalogue.unreadable():
                    _set_aside(batch, rows, "their metric is not registered")
            if batch.move_to_tallies(good, gathered, keep_reports=self._keep_reports):
                self.folded_reports += sum(
                    len(row.payload) // tally.report_bytes
                    for tally, rows in good.values()
                    for row in rows
                )
            return batch.may_have_more

    def _divide(
        self, tally: Tally, rows: list[WaitingRow], shown_day: int
    ) -> tuple[list[WaitingRow], Gathering | None]:
        """The rows of one slice that are shown, and those that are gathered in one."""
        if self._batch_reports == 1:
            return rows, None
        due = [row for row in rows if row.gathered is not None and row.gathered < shown_day]
        waiting = [row for row in rows if row.gathered is None or row.gathered >= shown_day]
        batches = [row for row in waiting if row.is_full]
        open_rows = [row for row in waiting if not row.is_full]
        if all(row.gathered is not None for row in open_rows):  # nothing new has come
            return due, None
        payload = join_reports((row.payload for row in open_rows), tally.report_bytes)
        is_full = len(payload) >= self._batch_reports * tally.report_bytes
        first = open_rows[0]._replace(
            id=new_row_id(open_rows[0].digest, open_rows[0].epoch),
            payload=payload,
            largest=max(row.largest for row in open_rows),
            gathered=shown_day,
            is_full=int(is_full),
        )
        return (due + batches if is_full else due), Gathering(open_rows, first)

    def _tally(self, digest: bytes) -> Tally | None:
        tally = self._catalogue.tally(digest)
        if tally is None:
            # Another server may have registered the metric a moment ago.
            self._catalogue.reload()
            tally = self._catalogue.tally(digest)
        return tally


def _countable_rows(batch: Batch, tally: Tally, rows: list[WaitingRow]) -> list[WaitingRow]:
    """The rows that can be counted; the others are set aside."""
    if _is_countable(tally, rows):
        return rows
    bad = [row for row in rows if not _is_countable(tally, [row])]
    _set_aside(batch, bad, "they cannot be counted")
    return [row for row in rows if row not in bad]


def _set_aside(batch: Batch, rows: list[WaitingRow], reason: str) -> None:
    message = "%d inbox rows were set aside: %s; see deniable store set-aside list"
    log.error(message, len(rows), reason)
    batch.set_aside(rows)


def _is_countable(tally: Tally, rows: list[WaitingRow]) -> bool:
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
