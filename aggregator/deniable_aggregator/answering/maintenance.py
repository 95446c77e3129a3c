"""What a server does by itself: folding the inbox, closing days, and what is due besides."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from deniable_aggregator.answering.roll_up import RollUp
from deniable_aggregator.keeping.audit import SERVER, AuditAction, AuditRecord
from deniable_aggregator.keeping.fold import InboxFold, rest_seconds
from deniable_aggregator.keeping.store import BeingReadError, Store, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.answers.words import LongPeriod
    from deniable_aggregator.keeping.catalog import MetricCatalog
    from deniable_aggregator.keeping.clock import GuardedClock
    from deniable_aggregator.keeping.key_quotas import KeyQuotas
    from deniable_aggregator.keeping.key_verifier import KeyVerifier
    from deniable_aggregator.keeping.parts import Parts


log = logging.getLogger("deniable_aggregator")

FOLD_LIMIT_SECONDS: Final = 5.0
"""After so long in one fold, with its rests, the thread goes on to maintenance."""

MAINTENANCE_SECONDS: Final = 5.0
"""After so long, maintenance lets reports that wait go first."""

LOOK_SECONDS: Final = 10.0
"""The thread looks so often whether there is something to do."""

BUSY_LOOKS: Final = 30
"""A task that readers kept at so many looks in a row has failed: after five minutes."""


class BackgroundWorker:
    """A thread that folds the inbox and maintains the store while the server runs.

    It rests after each batch and each step of maintenance, see `rest_seconds`.

    Args:
        maintenance: what the store needs besides.
        look_seconds: how often to look whether there is something to do.
    """

    def __init__(
        self, inbox_fold: InboxFold, maintenance: Maintenance, *, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._inbox_fold = inbox_fold
        self._maintenance = maintenance
        self._pause = look_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="deniable-fold", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread after the batch or the task that it is working on."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        more = False
        while not self._stop.wait(0 if more else self._pause):
            more = self._fold(more=more)
            self._maintain()  # also if the fold failed: days must be closed

    def _maintain(self) -> None:
        """Runs maintenance, which rests between its steps."""
        start = step = time.monotonic()

        def leaves() -> bool:
            nonlocal step
            stopped = self._rest(time.monotonic() - step)
            step = time.monotonic()
            return stopped or (step >= start + MAINTENANCE_SECONDS and self._reports_wait())

        with suppress(Exception):  # maintenance has logged what failed
            self._maintenance.run(self._stop.is_set, leaves)
        self._rest(time.monotonic() - step)

    def _rest(self, worked: float) -> bool:
        """Pauses after some seconds of work. Returns whether the thread is to end."""
        return self._stop.wait(rest_seconds(worked, self._inbox_fold.lag_seconds()))

    def _reports_wait(self) -> bool:
        try:
            return self._inbox_fold.is_worth_it()
        except StoreUnavailableError:
            return True

    def _fold(self, *, more: bool) -> bool:
        """Folds what is known to wait, or is worth it. Returns whether more waits."""
        try:
            # What waits is not looked at where the last fold has left some of it.
            if not (more or self._inbox_fold.is_worth_it()):
                return False
            return self._inbox_fold.fold(seconds=FOLD_LIMIT_SECONDS, rest=self._rest)
        except Exception as error:  # noqa: BLE001  this thread must outlive every failure
            self._inbox_fold.failures += 1
            reason = error if isinstance(error, StoreUnavailableError) else type(error).__name__
            log.error("counting reports failed and will be tried again: %s", reason)
            return False


TASKS: Final = (
    "clock",
    "metrics",
    "retention",
    "keys",
    "log",
    "close",
    "order",
    "compact",
    "roll-up",
    "delete",
    "shrink",
    "estimates",
    "digests",
    "check",
)

SHRINK_BYTES: Final = 1 << 20
"""The store gives back so much at a time."""


class Maintenance:
    """Maintains one store, in small transactions.

    Any number of servers may do so at once: one of them does a step, and the others find it done.

    Args:
        accept_days: a day is closed so many days after it.
        retain_days: the tallies of a day are deleted so many days after it; None keeps those of
            metrics that do not say for how long.
        archive_days: reports of closed days stay reports for so many days, or until they are in an
            archive.
        clock: the current day.
        catalogue: the registered metrics.
        verifier: knows the last use of keys; None if nobody verifies keys here.
        quotas: know what keys have brought; None if nobody brings anything here.
        roll_up_days: days become one so many days after them; None for never.
        write_estimates: looks after the SQL table of estimates, without waiting; called with the
            current day.
        send_digests: looks whether people are to be sent something; called as the above.
        look: goes on with the daily look whether the store is whole; called as the above.

    Attributes:
        failures: how often each of `TASKS` has failed. That somebody reads what a task would
            erase is none until it has kept the task `BUSY_LOOKS` times in a row.
    """

    def __init__(
        self,
        store: Store,
        *,
        accept_days: int,
        retain_days: int | None = None,
        archive_days: int = 0,
        clock: GuardedClock,
        catalogue: MetricCatalog,
        verifier: KeyVerifier | None = None,
        quotas: KeyQuotas | None = None,
        roll_up: RollUp | None = None,
        roll_up_days: int | None = None,
        write_estimates: Callable[[int], None] = lambda _: None,
        send_digests: Callable[[int], None] = lambda _: None,
        look: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._accept_days = accept_days
        self._retain_days = retain_days
        self._archive_days = archive_days
        self._clock = clock
        self._verifier = verifier
        self._quotas = quotas
        self._catalogue = catalogue
        self._roll_up = roll_up
        self._roll_up_days = roll_up_days
        self._write_estimates = write_estimates
        self._send_digests = send_digests
        self._look = look
        self._rolled_up: tuple[int, list[int]] | None = None
        self._settler = store.tallies.settler(catalogue.tally)
        self._today = 0
        self._retention_recorded = False
        self._closed_before = -1
        self._deleted_on: tuple[int, int] | None = None
        self._left_for_archive: tuple[int, set[int]] = (-1, set())
        self.failures = Counter(dict.fromkeys(TASKS, 0))
        self._busy: Counter[str] = Counter()

    def run(
        self,
        stopped: Callable[[], bool] = lambda: False,
        leaves: Callable[[], bool] = lambda: False,
    ) -> None:
        """Runs all tasks, also if some of them fail.

        Args:
            stopped: tells between two steps whether to leave all the rest to the next call.
            leaves: tells whether to leave the rest of a long task to it.

        Raises:
            Exception: the first failure, or what kept a task, once every task was tried.
        """
        failures: list[Exception] = []
        if not self._attempt("clock", self._read_clock, failures):
            raise failures[0]  # every other task needs the day

        def ends() -> bool:
            return stopped() or leaves()

        tasks: Mapping[str, Callable[[], None]] = {
            "metrics": self._catalogue.renew,
            "retention": self._record_retention,
            "keys": self._renew_keys,
            "log": self._store.empty_log,
            "close": self._close_days,
            "order": lambda: self._store.id_order.go_on(self._today),
            "compact": lambda: self._compact(ends),
            "roll-up": lambda: self._roll_up_days_that_are_due(ends),
            "delete": lambda: self._delete_expired(ends),
            "shrink": lambda: self._shrink(ends),
            "estimates": lambda: self._write_estimates(self._today),
            "digests": lambda: self._send_digests(self._today),
            "check": lambda: self._look(self._today),
        }
        for task, work in tasks.items():
            if not stopped():
                self._attempt(task, work, failures)
        if failures:
            raise failures[0]

    def _attempt(self, task: str, work: Callable[[], None], failures: list[Exception]) -> bool:
        try:
            work()
        except Exception as error:  # noqa: BLE001  other tasks must still run
            failures.append(error)
            self._busy[task] = self._busy[task] + 1 if isinstance(error, BeingReadError) else 0
            if 0 < self._busy[task] < BUSY_LOOKS:
                return False
            self.failures[task] += 1
            reason = error if isinstance(error, StoreUnavailableError) else type(error).__name__
            log.error(_FAILURE_MESSAGES[task], reason)
            return False
        self._busy[task] = 0
        return True

    def _read_clock(self) -> None:
        self._today = self._clock.day()

    def _record_retention(self) -> None:
        """Records in the audit log how long days are open and kept, if that has changed."""
        if not self._retention_recorded:
            days = {
                "accept_days": self._accept_days,
                "retain_days": self._retain_days,
                "roll_up_days": self._roll_up_days,
            }
            self._store.audit.record_if_changed(
                AuditRecord(self._today, SERVER, AuditAction.RETENTION_SET, days)
            )
            self._retention_recorded = True

    def _renew_keys(self) -> None:
        if self._verifier is not None:
            self._verifier.write_last_used()
        if self._quotas is not None:
            self._quotas.synchronize()
        self._store.sessions.delete_past(self._today)
        self._store.share_links.delete_past(self._today)

    def _oldest_open(self) -> int:
        return self._today - self._accept_days

    def _close_days(self) -> None:
        if self._oldest_open() > self._closed_before:
            self._store.inbox.close_epochs(self._oldest_open())
            self._closed_before = self._oldest_open()

    def _compact(self, stopped: Callable[[], bool]) -> None:
        if self._left_for_archive[0] != self._today:
            self._left_for_archive = self._today, set()
        left_days = self._left_for_archive[1]
        for epoch in self._settler.unsettled_days(self._oldest_open()):
            if stopped():
                return
            keep_reports = epoch >= self._oldest_open() - self._archive_days
            if keep_reports and epoch in left_days:
                continue  # nothing but the archive is waited for: once a day is enough
            if not self._settler.settle(epoch, stopped, keep_reports=keep_reports) and keep_reports:
                left_days.add(epoch)

    def _roll_up_days_that_are_due(self, stopped: Callable[[], bool]) -> None:
        if self._roll_up is None or self._roll_up_days is None:
            return
        before = self._today - max(self._roll_up_days, self._accept_days)
        # A day to which reports have come late is unsettled, and a moment later settled again.
        now = before, self._settler.unsettled_days(before)
        if now != self._rolled_up and self._roll_up.run(*now, stopped):
            self._rolled_up = now

    def _delete_expired(self, stopped: Callable[[], bool]) -> None:
        # Nothing more expires until the next day, unless somebody changes for how long it is kept.
        now = self._today, self._store.metrics.revision()
        if now == self._deleted_on:
            return
        while not stopped():
            deleted = self._store.tallies.delete_expired(
                self._today, keep=self._retain_days, open_days=self._accept_days
            )
            if not deleted and not self._store.tallies.delete_removed():
                self._deleted_on = now
                return

    def _shrink(self, stopped: Callable[[], bool]) -> None:
        while not stopped() and self._store.shrink(SHRINK_BYTES):
            pass


_FAILURE_MESSAGES: Final = {
    "clock": "checking the clock failed and will be tried again: %s",
    "metrics": "reading the metrics again failed and will be tried again: %s",
    "retention": "recording how long days are kept failed and will be tried again: %s",
    "keys": "writing the use of keys, or ending sessions, failed and will be tried again: %s",
    "log": "emptying the log of commits failed and will be tried again: %s",
    "close": "closing days failed and will be tried again: %s",
    "order": "putting upload ids in order failed and will be tried again: %s",
    "compact": "merging tallies failed and will be tried again: %s",
    "roll-up": "rolling up days failed and will be tried again: %s",
    "shrink": "making the store smaller failed and will be tried again: %s",
    "estimates": "writing the table of estimates failed and will be tried again: %s",
    "digests": "sending digests failed: %s",
    "check": "looking whether the store is whole failed and will be tried again: %s",
    "delete": "deleting old tallies failed and will be tried again: %s",
}


@dataclass(frozen=True, eq=False)
class BackgroundWork:
    """What runs beside requests.

    Attributes:
        inbox_fold: counts the reports that wait.
        maintenance: closes days, merges tallies and deletes expired ones.
        thread: runs the two.
    """

    inbox_fold: InboxFold
    maintenance: Maintenance
    thread: BackgroundWorker


def build(
    parts: Parts,
    clock: GuardedClock,
    quotas: KeyQuotas,
    write_estimates: Callable[[int], None],
    send_digests: Callable[[int], None],
    look: Callable[[int], None],
) -> BackgroundWork:
    """Makes it, and starts the thread.

    Args:
        parts: the store, and what is made over it.
        clock: says which day it is, and whether that is plausible.
        quotas: how much each key may bring.
        write_estimates: looks whether the SQL table of estimates must be written.
        send_digests: looks whether people are to be sent something.
        look: goes on with the daily look whether the store is whole.
    """
    store, catalogue, settings = parts.store, parts.catalogue, parts.settings
    inbox_fold = InboxFold(
        store,
        catalogue,
        batch_reports=settings.batch_reports,
        day=clock.day,
        patience_seconds=settings.fold_seconds,
        keep_reports=settings.archive_days > 0,
    )
    maintenance = Maintenance(
        store,
        accept_days=settings.accept_days,
        retain_days=settings.retention_days or None,
        archive_days=settings.archive_days,
        clock=clock,
        catalogue=catalogue,
        verifier=parts.verifier,
        quotas=quotas,
        roll_up=RollUp(store, catalogue, cast("LongPeriod", settings.roll_up_by)),
        roll_up_days=settings.roll_up_days or None,
        write_estimates=write_estimates,
        send_digests=send_digests,
        look=look,
    )
    look_seconds = min(settings.fold_seconds, LOOK_SECONDS)
    thread = BackgroundWorker(inbox_fold, maintenance, look_seconds=look_seconds)
    return BackgroundWork(inbox_fold, maintenance, thread)
