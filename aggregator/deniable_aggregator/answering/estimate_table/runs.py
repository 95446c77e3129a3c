"""The writing of the SQL table in a process beside the server, and what is said to it."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

import msgspec

from deniable_aggregator.answers.words import Count, PeriodLength  # noqa: TC001
from deniable_aggregator.keeping.background_job import Failed, run_job
from deniable_aggregator.keeping.child_process import PYTHON
from deniable_aggregator.keeping.store import Store, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.keeping.settings import Settings


class Job(msgspec.Struct, frozen=True):
    """What the process is to do; the first line that it reads.

    Attributes:
        store: the path or URL of the store.
        memory_bytes: how much memory it may take.
        seconds: after so many it begins no further period.
        accept_days: for how many days a day stays open for reports.
        retain_days: after so many days reports are deleted at the latest; None for never.
        today: the server's day, in days since 1970-01-01.
        lengths: how long periods are.
    """

    store: str
    memory_bytes: Count
    seconds: float
    accept_days: Count
    retain_days: Count | None
    today: int
    lengths: tuple[PeriodLength, ...]


class Finished(msgspec.Struct, frozen=True, tag=True):
    """What was done.

    Attributes:
        periods: how many periods were written.
        deleted: how many were deleted.
        left: how many are still due.
    """

    periods: Count
    deleted: Count
    left: Count


MODULE: Final = "deniable_aggregator.answering.estimate_table.process"

RUN_SECONDS: Final = 300.0
"""After so long a run begins no further period, and the next run goes on."""

LAST_SECONDS: Final = 2 * RUN_SECONDS
"""After so long a run is ended, whatever it does."""

PAUSE_SECONDS: Final = 60.0
"""Between runs of which one has failed, or found another server's at work."""

log = logging.getLogger("deniable_aggregator")


class WritingError(StoreUnavailableError):
    """The table could not be written by its process, or not all of it."""


class EstimateTableRuns:
    """Looks whether the table must be written, and starts a process that does so.

    Any number of servers may do so: one process at a time writes, and others find it done. A thread
    runs as long as the process does.

    Args:
        store: the store.
        settings: limits, and which periods there are.
        monotonic: seconds.
        command: starts the process.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        monotonic: Callable[[], float] = time.monotonic,
        command: Sequence[str] = (*PYTHON, MODULE),
    ) -> None:
        self._store = store
        self._settings = settings
        self._lengths = settings.period_lengths
        self._monotonic = monotonic
        self._command = command
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_right_at: object = None
        self._not_before = float("-inf")
        self._failure: str | None = None

    def look(self, today: int) -> None:
        """Starts a process if anything may have changed, and does not wait for it.

        To be called again and again, by one thread.

        Args:
            today: the current day, in days since 1970-01-01.

        Raises:
            WritingError: if the last process has failed; another one is started after a while.
            StoreUnavailableError: if the store cannot be read.
        """
        if self._thread is not None and self._thread.is_alive():
            return
        failure, self._failure = self._failure, None
        if failure is not None:
            raise WritingError(failure)
        if self._closed.is_set() or self._monotonic() < self._not_before:
            return
        stamp = self._store.counted_days.stamp(today - self._settings.accept_days)
        if stamp == self._is_right_at:
            return
        if self._has_nothing_to_do(today):
            self._is_right_at = stamp
            return
        self._thread = threading.Thread(
            target=self._run, args=(today, stamp), name="deniable-estimates", daemon=True
        )
        self._thread.start()

    def _has_nothing_to_do(self, today: int) -> bool:
        """Whether nothing was written and nothing is there to be written, as in a new store."""
        is_wanted = self._lengths and self._store.counted_days.any(today)
        return not is_wanted and self._store.estimates.is_empty()

    def close(self) -> None:
        """Ends the process, if there is one; what it has written stays, and the rest is due."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def wait(self) -> None:
        """Waits until the process has ended, if there is one."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, today: int, stamp: object) -> None:
        outcome = run_job(
            self._command,
            self._job(today),
            Finished,
            self._closed,
            seconds=LAST_SECONDS,
            monotonic=self._monotonic,
        )
        match outcome:
            case Finished(left=0):
                self._is_right_at = stamp
            case Failed(why=why):
                self._failure = why
        if not isinstance(outcome, Finished):
            self._not_before = self._monotonic() + PAUSE_SECONDS
        elif outcome.periods or outcome.deleted:
            log.info(
                "wrote estimates of %d periods, deleted those of %d, %d are left",
                outcome.periods,
                outcome.deleted,
                outcome.left,
            )

    def _job(self, today: int) -> Job:
        return Job(
            str(self._store.target),
            self._settings.question_memory_bytes,
            RUN_SECONDS,
            self._settings.accept_days,
            self._settings.retention_days or None,
            today,
            self._lengths,
        )
