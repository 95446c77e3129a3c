"""The uploader: a background thread that lives only while there is something to wait for.

It sends one report per request, each at its own random time, or in a flush several at a time; what
becomes of one is in `deniable._upload.delivery`.

Reports whose times came while nobody was there to send them, or while the aggregator could not be
reached, would leave together, and so tell that they come from one device. Of these, one goes and
each of the others gets another random time. What has missed that one, too, or is late, goes when
the next process begins, for a program that is never there for long would otherwise send it never,
or too late.
"""

from __future__ import annotations

import math
import threading
import time

from deniable._status import FlushResult
from deniable._storage.device import STORAGE_ERRORS
from deniable._storage.spool import MAX_AGE_DAYS
from deniable._upload.delivery import (
    CLAIM_SECONDS,
    ReportSender,
    is_claimed_elsewhere,
    random_fraction,
)
from deniable._upload.workers import run_parallel
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final

    from deniable._event_log import EventLog
    from deniable._remote.configuration import RemoteSettings
    from deniable._storage.device import DeviceStorage
    from deniable._storage.stored_report import StoredReport
    from deniable._transport.http import Transport

STORAGE_BACKOFF_SECONDS: Final = 60.0
MAX_WAIT_SECONDS: Final = 3_600.0
"""The thread looks at the clock at least this often, since the clock may be changed."""

MAX_SPREAD_SECONDS: Final = 3_600.0
"""Overdue reports leave within this time, or within the upload delay if that is shorter."""

LATE_DAYS: Final = 7
"""What is so old cannot wait until a program begins once more: the aggregator may have closed its
day by then, which it does after 14 unless it is told otherwise."""

_BATCH: Final = 32
_COUNT_SECONDS: Final = 0.05
"""So long a flush may go on after its timeout to count what is pending."""


class Uploader:
    """Sends what is in the spool.

    Args:
        storage: whose spool.
        transport: what carries an upload; called by as many threads at a time as it says.
        remote: slows back-off down, and is told when something was uploaded.
        events: where results and problems are noted.
        clock: seconds since 1970-01-01.
        prepare: called before anything is sent, outside all locks; says whether it may be.
        delay_seconds: the longest random delay that the application wants.
        longest_wait_seconds: the longest time that a report was given to wait.
        absence_digests: digests of metrics that report even when nothing is recorded. If there are
            any, the thread stays, and calls `prepare` at least every `MAX_WAIT_SECONDS`.
        background: whether there is a thread outside of `flush`.

    Attributes:
        owner: what a running thread keeps alive, so that forks and exits know of it.
    """

    owner: Callable[[], object] = staticmethod(lambda: None)

    def __init__(
        self,
        storage: DeviceStorage,
        transport: Transport,
        remote: RemoteSettings,
        events: EventLog,
        clock: Callable[[], float],
        prepare: Callable[[], bool],
        *,
        delay_seconds: float,
        longest_wait_seconds: float,
        absence_digests: frozenset[bytes],
        background: bool,
    ) -> None:
        self._storage = storage
        self._sender = ReportSender(storage, transport, remote, events, clock)
        self._remote = remote
        self._events = events
        self._clock = clock
        self._prepare = prepare
        self._absence_digests = absence_digests
        self._background = background
        self._spread_seconds = min(delay_seconds, MAX_SPREAD_SECONDS)
        # No report can honestly be due later than this from now on.
        longest_wait_seconds = max(longest_wait_seconds, self._sender.longest_backoff_seconds)
        self._horizon_seconds = longest_wait_seconds + CLAIM_SECONDS
        self.after_fork_in_child()

    def after_fork_in_child(self) -> None:
        """Forgets the thread, which stays in the parent, and its locks. Called in a child."""
        # Held by itself, and not through the condition, whose end is a function in Python: see
        # `deniable._storage.lock`.
        self._lock = threading.RLock()
        self._condition = threading.Condition(self._lock)
        self._sender.after_fork_in_child()
        self._thread: threading.Thread | None = None
        self._wake_at = math.inf
        self._sleeps_until = 0.0
        self._flushes_requested = self._flushes_done = 0
        self._flush_until = 0.0
        self._has_sent_due = False

    def wake(self, in_seconds: float) -> None:
        """Says that a report will be due in so many seconds; starts the thread if there is none.

        Does nothing if there is to be no thread in the background.
        """
        if not self._background:
            return
        due = time.monotonic() + in_seconds
        if self._thread is not None and self._wake_at <= due:
            return  # it has earlier news, and looks at all there is once it forgets them
        with self._lock:
            self._wake_at = min(self._wake_at, due)
            if self._thread is None:
                self._start()
            elif max(due, self._sender.silent_until) < self._sleeps_until:
                self._condition.notify_all()

    def flush(self, timeout_seconds: float) -> FlushResult:
        """Tries every stored report once, now, unless the aggregator cannot be reached.

        Args:
            timeout_seconds: when to return at the latest; an exchange that is under way goes on.
        """
        deadline = time.monotonic() + timeout_seconds
        sent, dropped = self._events.sent, sum(self._events.dropped().values())
        with self._lock:
            self._flushes_requested += 1
            ticket = self._flushes_requested
            self._flush_until = max(self._flush_until, deadline)
            if self._thread is None:
                self._start()
            self._condition.notify_all()
            while (
                self._thread is not None
                and self._flushes_done < ticket
                and (remaining := deadline - time.monotonic()) > 0
            ):
                self._condition.wait(remaining)
        sent = self._events.sent - sent
        dropped = sum(self._events.dropped().values()) - dropped
        pending = self.count_pending(deadline - time.monotonic())
        return FlushResult(sent=sent, pending=pending, dropped=dropped)

    def count_pending(self, wait_seconds: float) -> int | None:
        """How many reports are stored; None if the storage cannot be used.

        Args:
            wait_seconds: how long to wait for others; `_COUNT_SECONDS` at least.
        """
        try:
            if not self._storage.exists:
                return 0
            wait_seconds = max(_COUNT_SECONDS, wait_seconds)
            return self._storage.run_locked(
                lambda: self._storage.spool.count(), wait_seconds=wait_seconds
            )
        except STORAGE_ERRORS:
            return None  # the device has noted why, unless it is merely in use

    def exchange_seconds(self) -> float:
        """For how long the latest exchange has been under way, if it has not ended."""
        return time.monotonic() - self._sender.exchange_started

    def stop(self) -> threading.Thread | None:
        """Tells the thread to end after the exchange it is in; nothing is lost by it.

        Returns:
            The thread, if there was one, to be waited for.
        """
        with self._lock:
            thread, self._thread = self._thread, None
            self._condition.notify_all()
        return thread

    def _start(self) -> None:
        thread = threading.Thread(
            target=self._run, args=(self.owner(),), name="deniable-uploader", daemon=True
        )
        self._thread = thread
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the interpreter is about to end
            self._thread = None
            self._events.problem("no_thread", str(error))
        except BaseException:
            self._thread = None  # if it has begun after all, it sees that it is not wanted
            raise

    def _run(self, _owner: object) -> None:
        try:
            self._work()
        finally:
            self._sender.close()

    def _work(self) -> None:
        me = threading.current_thread()
        while True:
            with self._lock:
                if self._thread is not me:
                    return  # what is requested now is another thread's to serve
                self._wake_at = math.inf
                ticket = self._flushes_requested
                flushing = self._flushes_done < ticket
            try:
                wait = self._round(me, flushing=flushing)
            except Exception as error:  # noqa: BLE001  the thread must outlive any trouble
                if not isinstance(error, STORAGE_ERRORS):
                    self._events.problem("upload_failed", type(error).__name__)
                wait = STORAGE_BACKOFF_SECONDS if self._background else None
            with self._lock:
                if flushing:
                    self._flushes_done = ticket
                    self._condition.notify_all()
                if self._thread is not me:
                    return
                if self._flushes_done < self._flushes_requested:
                    continue
                now = time.monotonic()
                if self._wake_at < math.inf:
                    # The round may have looked too early to see it; while the aggregator cannot be
                    # reached, there is no use in looking again for every report.
                    news = max(self._wake_at, self._sender.silent_until) - now
                    wait = news if wait is None else min(wait, news)
                if wait is None:
                    self._thread = None
                    return
                if wait > 0:
                    self._sleeps_until = now + wait
                    self._condition.wait(wait)

    def _round(self, me: threading.Thread, *, flushing: bool) -> float | None:
        """Sends what is to be sent now.

        Returns:
            In how many seconds to look again, or None if there is nothing to wait for.
        """
        if not self._prepare():
            return None
        sent = self._events.sent
        if flushing:
            self._send_all(me)
        elif self._background:
            self._send_due(me)
        if self._events.sent > sent and self._thread is me:
            self._sender.with_transport(self._remote.fetch_if_due)
        return self._next_wait() if self._background else None

    def _send_due(self, me: threading.Thread) -> None:
        again, self._has_sent_due = self._has_sent_due, True
        while time.monotonic() >= self._sender.silent_until:
            report = self._storage.run_locked(self._next_due_report, self._clock(), again)
            if (
                report is None
                or self._thread is not me
                or self._flushes_done < self._flushes_requested
            ):
                return
            if not self._sender.send(report, lambda: self._thread is me):
                return

    def _send_all(self, me: threading.Thread) -> None:
        today = epoch_at(self._clock())
        last = self._storage.run_locked(self._last_number, today)
        reports = self._to_flush(me, today, last)
        run_parallel(
            reports,
            lambda report: self._sender.send(report, lambda: self._thread is me),
            self._sender.parallel_uploads,
        )

    def _to_flush(self, me: threading.Thread, today: int, last: int) -> Iterator[StoredReport]:
        after = 0
        while True:
            reports = self._storage.run_locked(self._reports_between, after, last)
            if not reports:
                return
            for report in reports:
                if self._thread is not me or time.monotonic() >= self._flush_until:
                    return
                if report.epoch > today:
                    continue  # the aggregator would refuse it for good
                if report.epoch == today and report.digest in self._absence_digests:
                    continue  # absence is not reported before its day is over, so nor is a value
                if not is_claimed_elsewhere(report, self._clock()):
                    yield report
            after = reports[-1].number

    def _next_due_report(self, now: float, again: bool) -> StoredReport | None:
        spool = self._storage.spool
        spool.drop_older(epoch_at(now) - MAX_AGE_DAYS, self._absence_digests)
        horizon = now + self._horizon_seconds
        reports = spool.due_reports(now, horizon, 1)
        if reports and self._spread_seconds > 0:

            def later() -> float:
                return now + self._spread_seconds * random_fraction()

            late = epoch_at(now) - LATE_DAYS
            spool.reschedule_overdue(reports[0], now, horizon, later, late=late, again=again)
        return reports[0] if reports else None

    def _last_number(self, today: int) -> int:
        spool = self._storage.spool
        spool.drop_older(today - MAX_AGE_DAYS, self._absence_digests)
        return spool.last_number()

    def _reports_between(self, after: int, last: int) -> list[StoredReport]:
        return self._storage.spool.reports_between(after, last, _BATCH)

    def _next_wait(self) -> float | None:
        due = self._storage.run_locked(lambda: self._storage.spool.next_due_time())
        now = self._clock()
        longest = MAX_WAIT_SECONDS
        if self._absence_digests:
            # Each day is looked at when it begins, whether or when a value comes.
            tomorrow = SECONDS_PER_EPOCH - now % SECONDS_PER_EPOCH
            longest = min(longest, max(tomorrow, 1.0))
        if due is None:
            return longest if self._absence_digests else None
        wait = due - now
        if wait > self._horizon_seconds:
            wait = 0.0
        return min(max(wait, self._sender.silent_until - time.monotonic(), 0.0), longest)
