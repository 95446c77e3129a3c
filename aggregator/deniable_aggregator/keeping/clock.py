"""The server's guarded clock, and a probe of whether its store can be written."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.keeping.store import Store


JUMP_DAYS: Final = 2
"""A clock that is further ahead of the newest report is implausible."""

CONFIRM_SECONDS: Final = 3 * SECONDS_PER_EPOCH
"""Accept the jump after three days without a contradicting report."""

log = logging.getLogger("deniable_aggregator")


class GuardedClock:
    """The day up to which days may be closed and deleted.

    The system's clock can be wrong. Two things show it: a monotonic clock, which nobody can set,
    and the days of devices' reports. A clock that is ahead of both by more than `JUMP_DAYS` is in
    doubt. It is accepted once a report of one of the new days is stored, or after
    `CONFIRM_SECONDS` in which no report of another, older new day contradicts it. A clock that is
    set back is accepted at once: it closes and deletes nothing.

    Args:
        store: knows of which days there are reports.
        clock: seconds since 1970, by the clock that can be set.
        monotonic: seconds by the clock that cannot be set.

    Raises:
        StoreUnavailableError: if the store cannot be read.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        newest = store.inbox.newest_day()
        # Without reports there is nothing that a wrong clock could close or delete.
        believed = clock() if newest is None else float(newest * SECONDS_PER_EPOCH)
        self._newest = newest
        self._believed = (believed, monotonic())
        self._doubted_since: float | None = None

    def days_ahead(self) -> int:
        """By how many days the clock is implausibly ahead; 0 if it is not in doubt."""
        return self._ahead(self._clock(), self._monotonic())

    def day(self) -> int:
        """The day by the clock; while it is in doubt, the day by the monotonic clock.

        Raises:
            StoreUnavailableError: if the clock is in doubt and the store cannot be read.
        """
        # Read each clock once, so that a jump between two readings cannot go unnoticed.
        now, at = self._clock(), self._monotonic()
        ahead = self._ahead(now, at)
        if ahead and not self._is_confirmed(epoch_at(now), at, ahead):
            return epoch_at(self._expected_time(at))
        self._believed = (now, at)
        self._doubted_since = None
        return epoch_at(now)

    def _expected_time(self, at: float) -> float:
        believed, since = self._believed
        return believed + (at - since)

    def _ahead(self, now: float, at: float) -> int:
        ahead = epoch_at(now) - epoch_at(self._expected_time(at))
        return ahead if ahead > JUMP_DAYS else 0

    def _is_confirmed(self, today: int, at: float, ahead: int) -> bool:
        newest = self._store.inbox.newest_day()
        if newest is not None and today - newest <= JUMP_DAYS:
            return True
        if self._doubted_since is None:
            log.warning(
                "the clock is %d days ahead of the newest report: no day is closed or deleted "
                "until a report of one of the new days comes, or %d days pass",
                ahead,
                CONFIRM_SECONDS // SECONDS_PER_EPOCH,
            )
        if self._doubted_since is None or newest != self._newest:
            self._doubted_since, self._newest = at, newest
        return at - self._doubted_since >= CONFIRM_SECONDS


Result = TypeVar("Result")


class ProbeTimeoutError(Exception):
    """The check has not ended in time.

    Args:
        seconds: how long it has been running.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer for {seconds:,.0f} seconds")


class SharedProbe(Generic[Result]):
    """Runs at most one check at a time, whose result all callers share.

    A store that hangs holds one thread, however many callers there are, and no caller for long. The
    thread is a daemon, so the process can end while the check hangs.

    Args:
        check: the check; may take for ever.
        name: of the thread.
        monotonic: a clock in seconds.
    """

    def __init__(
        self,
        check: Callable[[], Result],
        name: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check = check
        self._name = name
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._future: Future[Result] | None = None
        self._started = 0.0

    def result(self, *, timeout_seconds: float, max_age_seconds: float = 0.0) -> Result:
        """The result of the check that runs, or of one that is recent enough.

        Args:
            timeout_seconds: how long the check may take, from its start.
            max_age_seconds: a result whose check began so long ago is returned again.

        Raises:
            ProbeTimeoutError: if the check takes longer.
            Exception: whatever the check has raised.
        """
        with self._lock:
            now = self._monotonic()
            future, started = self._future, self._started
            if future is None or (future.done() and now - started >= max_age_seconds):
                future, started = Future(), now
                self._start(future)
                self._future, self._started = future, started
        try:
            return future.result(max(0.0, started + timeout_seconds - now))
        except TimeoutError:
            raise ProbeTimeoutError(self._monotonic() - started) from None

    def _start(self, future: Future[Result]) -> None:
        def run() -> None:
            try:
                future.set_result(self._check())
            except BaseException as error:  # noqa: BLE001  `result` raises it to the callers
                future.set_exception(error)

        threading.Thread(target=run, name=self._name, daemon=True).start()
