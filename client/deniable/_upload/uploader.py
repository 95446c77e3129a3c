"""The upload thread, which lives only while there is something to wait for.

Every report is a request of its own. `deniable._upload.rounds` chooses the reports, and
`deniable._upload.delivery` sends one and says what becomes of it.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from typing import TYPE_CHECKING, Final

from deniable._clock import DOUBT_SECONDS
from deniable._frames import release_frames
from deniable._platform import lost_threads, uwsgi
from deniable._status import FlushResult
from deniable._storage.device import STORAGE_ERRORS, DeviceStorage
from deniable._upload.delivery import ReportSender
from deniable._upload.rounds import UploadRounds
from deniable_shared.errors import UploadError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from deniable._engine_history import EngineHistory
    from deniable._event_log import EventLog
    from deniable._remote.configuration import RemoteSettings
    from deniable._transport.http import Transport
    from deniable._upload.open_problems import OpenProblems

    class Engine(Protocol):
        """What the thread knows of `deniable._engine.Engine`."""

        uploader: Uploader


STORAGE_BACKOFF_SECONDS: Final = 60.0
_COUNT_SECONDS: Final = 0.05
"""A flush may take this much longer than its timeout to count what is pending."""

_KINDS_OF_THREAD: Final = (
    "storage_unavailable:",
    "clock_wrong:",
    "no_thread:",
    "upload_failed:",
    "too_old:",
)
STORAGE_BUSY: Final = (
    "storage_busy: another process or thread holds the lock of the directory. Flush again later."
)


class Uploader:
    """Sends the reports in the spool, in a thread of its own.

    The thread holds the engine while it is at work, so that forks and the interpreter's exit find
    it, and waits without holding it, so that an engine that nobody else holds can end.

    Args:
        engine: returns the engine whose uploader this is, or None if there is none any longer.
        storage: the storage whose spool holds the reports.
        transport: carries the uploads.
        remote: lengthens delays, and is fetched anew after uploads.
        events: where results are counted.
        problems: where failed uploads are noted.
        clock: seconds since 1970-01-01.
        history: what earlier engines of the directory have learnt.
        prepare: called before anything is sent, outside all locks; returns whether it may be sent.
        clock_is_doubted: asked before each round; then nothing is sent or dropped.
        still_agreed: asked before each report is sent whether the user still agrees.
        delay_seconds: see `UploadRounds`, as are the next two.
        longest_wait_seconds: see there.
        absence_digests: see there. If there are any, the thread stays, and calls `prepare` at least
            every `MAX_WAIT_SECONDS`.
        held_digests: see there, as are the next two.
        required_digests: see there.
        hold_seconds: see there.
        background: whether there is a thread outside of `flush`.

    Attributes:
        put_off: whether there was something to do in a process that is only there to be forked;
            the next `wake` in a worker does it.
    """

    def __init__(
        self,
        engine: Callable[[], Engine | None],
        storage: DeviceStorage,
        transport: Transport,
        remote: RemoteSettings,
        events: EventLog,
        problems: OpenProblems,
        clock: Callable[[], float],
        history: EngineHistory,
        prepare: Callable[[], bool],
        clock_is_doubted: Callable[[], bool],
        still_agreed: Callable[[], bool],
        *,
        delay_seconds: float,
        longest_wait_seconds: float,
        absence_digests: frozenset[bytes],
        held_digests: frozenset[bytes],
        required_digests: frozenset[bytes],
        hold_seconds: float,
        background: bool,
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._sender = ReportSender(storage, transport, remote, events, problems, clock, history)
        self._rounds = UploadRounds(
            storage,
            self._sender,
            clock,
            history,
            delay_seconds=delay_seconds,
            longest_wait_seconds=longest_wait_seconds,
            absence_digests=absence_digests,
            held_digests=held_digests,
            required_digests=required_digests,
            hold_seconds=hold_seconds,
        )
        self._remote = remote
        self._events = events
        self._problems = problems
        self._prepare = prepare
        self._clock_is_doubted = clock_is_doubted
        self._still_agreed = still_agreed
        self._background = background
        self._told_of_threads = False
        self.put_off = False
        self.after_fork_in_child()

    def after_fork_in_child(self) -> None:
        """Forgets the thread, which stays in the parent, and the locks that it may hold."""
        # Acquire the lock itself and not the condition, whose `__exit__` is a Python function that
        # a signal may keep from running: see `deniable._storage.lock`.
        self._lock = threading.RLock()
        self._flushed = threading.Condition(self._lock)
        self._alarm = _new_alarm()
        self._sender.after_fork_in_child()
        self._rounds.after_fork_in_child()
        self._thread: threading.Thread | None = None
        self._wake_at = math.inf
        self._sleeps_until = 0.0
        self._flushes_requested = self._flushes_done = 0
        self._flush_until = 0.0

    def prepare(self) -> None:
        """Imports what the thread is going to need, unless there is none outside of `flush`."""
        if self._background:
            self._sender.prepare()

    def wake(self, in_seconds: float) -> None:
        """Has the thread look in this many seconds; starts it if there is none.

        Does nothing if there is no thread outside of `flush`.
        """
        if not self._background:
            return
        if self._thread is None:
            if uwsgi.forks_later():
                self.put_off = True
                return
            if self.put_off:
                self.put_off, in_seconds = False, 0.0
            self._sender.prepare()
        due = time.monotonic() + in_seconds
        if self._thread is not None and self._wake_at <= due:
            return  # the thread will look earlier, and sees this report then
        with self._lock:
            self._wake_at = min(self._wake_at, due)
            if self._thread is None:
                self._start()
            elif max(due, self._sender.silent_until) < self._sleeps_until:
                self._ring()

    def flush(self, timeout_seconds: float) -> tuple[FlushResult, UploadError | None]:
        """Tries every stored report once, now, unless the aggregator cannot be reached.

        Args:
            timeout_seconds: when to return at the latest; an upload that is under way goes on.

        Returns:
            What was done; and an error if reports were not accepted because of a mistake.
        """
        deadline = time.monotonic() + timeout_seconds
        sent, dropped = self._events.sent, sum(self._events.dropped().values())
        noted, last_error = self._problems.noted, self._events.last_error
        self._sender.prepare()
        with self._lock:
            self._flushes_requested += 1
            ticket = self._flushes_requested
            self._flush_until = max(self._flush_until, deadline)
            if self._thread is None:
                self._start()
            self._ring()
            while (
                self._thread is not None
                and self._flushes_done < ticket
                and (remaining := deadline - time.monotonic()) > 0
            ):
                self._flushed.wait(remaining)
        ended_early = self._flushes_done < ticket or time.monotonic() >= deadline
        sent = self._events.sent - sent
        dropped = sum(self._events.dropped().values()) - dropped
        pending = self.count_pending(deadline - time.monotonic())
        found = self._problems.since(noted)
        problem = None if found is None else str(found)
        if problem is None and self._events.last_error is not last_error:
            problem = self._problem_of_thread()
        if problem is None and pending is None:
            problem = self._problem_of_thread() or STORAGE_BUSY
        if problem is None and not self._storage.exists:  # perhaps as it cannot be made
            problem = self._problem_of_thread()
        if problem is None and pending and ended_early:
            problem = str(self._problems.of_flush(timeout_seconds))
        result = FlushResult(sent, pending, dropped, problem)
        if found is None or not found.mistake:
            return result, None
        return result, UploadError(found.kind, found.text)

    def _problem_of_thread(self) -> str | None:
        """The latest problem, if it is one of the thread or of the storage."""
        last_error = self._events.last_error or ""
        return last_error if last_error.startswith(_KINDS_OF_THREAD) else None

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
            return None  # the storage has noted why, unless it is merely in use
        except Exception as error:  # noqa: BLE001  `flush` must not raise into the host
            self._events.problem("internal_error", type(error).__name__)
            return None

    def exchange_seconds(self) -> float:
        """How long the latest upload has been under way, unless it has ended."""
        return time.monotonic() - self._sender.exchange_started

    def stop(self) -> threading.Thread | None:
        """Has the thread end after the upload that it is in; nothing is lost by that.

        Returns:
            The thread to wait for, if there was one.
        """
        with self._lock:
            thread, self._thread = self._thread, None
            self._ring()
            self._flushed.notify_all()
        return thread

    def __del__(self) -> None:
        # The engine is gone by now: the thread, if it waits, wakes up, sees that, and ends. At the
        # end of the interpreter the names of this module may be gone, too.
        try:
            self._alarm.release()
        except (AttributeError, RuntimeError):
            return

    def _ring(self) -> None:
        """Wakes the thread up, or keeps it from waiting. Needs no lock, as `__del__` has none."""
        with contextlib.suppress(RuntimeError):  # it rings already
            self._alarm.release()

    def _start(self) -> None:
        forks_later = uwsgi.forks_later()
        if forks_later or lost_threads.are_there():
            reason = uwsgi.WORKERS_ALONE if forks_later else lost_threads.LOST
            self._events.problem("no_thread", reason)
            return
        if not self._told_of_threads and uwsgi.stops_threads():
            self._told_of_threads = True
            self._events.problem("uwsgi", uwsgi.SWITCH_ON, mistake=True)
        self._alarm = alarm = _new_alarm()  # each thread has its own, and takes no other's
        thread = threading.Thread(
            target=_run,
            args=(self._engine, alarm, self._sender.closing()),
            name="deniable-uploader",
            daemon=True,
        )
        self._thread = thread
        lost_threads.remember(thread)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the interpreter is about to end
            self._thread = None
            self._events.problem("no_thread", str(error))
        except BaseException:
            self._thread = None  # if the thread has started after all, it ends when it sees this
            raise

    def work(self) -> float | None:
        """One round of the thread, which calls this.

        Returns:
            How long the thread is to wait, 0 or more, unless it is woken up; None if it ends.
        """
        me = threading.current_thread()
        with self._lock:
            if self._thread is not me:
                return None  # flushes that are requested now are another thread's
            self._wake_at = math.inf
            ticket = self._flushes_requested
            flushing = self._flushes_done < ticket
        try:
            wait = self._round(me, flushing=flushing)
        except Exception as error:  # noqa: BLE001  the thread must outlive any error
            if not isinstance(error, STORAGE_ERRORS):
                self._events.problem("upload_failed", type(error).__name__)
            release_frames(error)
            wait = STORAGE_BACKOFF_SECONDS if self._background else None
        with self._lock:
            if flushing:
                self._flushes_done = ticket
                self._flushed.notify_all()
            if self._thread is not me:
                return None
            if self._flushes_done < self._flushes_requested:
                return 0.0
            now = time.monotonic()
            if self._wake_at < math.inf:
                # A report was recorded during the round, which may have been too early to see it.
                # Do not look for it before the aggregator may be asked again.
                due = max(self._wake_at, self._sender.silent_until) - now
                wait = due if wait is None else min(wait, due)
            if wait is None:
                self._thread = None
                return None
            self._alarm.acquire(blocking=False)  # what it has rung for is known by now
            self._sleeps_until = now + wait
            return max(wait, 0.0)

    def _round(self, me: threading.Thread, *, flushing: bool) -> float | None:
        """Sends what has to be sent now.

        Returns:
            In how many seconds to look again, or None if there is nothing to wait for.
        """

        def wanted() -> bool:
            return self._thread is me and self._still_agreed()

        def seconds_left() -> float:
            return self._flush_until - time.monotonic()

        def flush_is_over() -> bool:
            return self._thread is not me or seconds_left() <= 0

        def flush_is_waiting() -> bool:
            return self._thread is not me or self._flushes_done < self._flushes_requested

        if not self._prepare():
            return None
        if self._clock_is_doubted():
            return DOUBT_SECONDS if self._background else None
        sent = self._events.sent
        if flushing:
            self._rounds.send_all(wanted, flush_is_over, seconds_left)
        elif self._background:
            self._rounds.send_due(wanted, flush_is_waiting)
        has_sent = self._events.sent > sent
        self._rounds.erase_traces(at_once=flushing or has_sent)
        if has_sent and self._thread is me:
            self._sender.with_transport(self._remote.fetch_if_due)
        return self._rounds.next_wait() if self._background else None


def _run(
    find_engine: Callable[[], Engine | None], alarm: threading.Lock, closing: Callable[[], None]
) -> None:
    """The thread: holds the engine while it works, and lets it go while it waits."""
    try:
        while (engine := find_engine()) is not None:
            wait = engine.uploader.work()
            del engine
            if wait is None:
                return
            alarm.acquire(timeout=wait)
    finally:
        closing()


def _new_alarm() -> threading.Lock:
    """A lock that is released to wake up the thread that waits to acquire it."""
    alarm = threading.Lock()
    alarm.acquire()
    return alarm
