"""The sending of digests in a process beside the server, and what is said to it."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.answering.digests.sending import due_at, due_period
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.answers.words import Count  # noqa: TC001
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
        today: the server's day, in days since 1970-01-01.
        ahead: by how many seconds the server's clock is ahead of the system's.
        settings: all of the server's.
    """

    store: str
    today: int
    ahead: float
    settings: dict[str, Any]

    @property
    def memory_bytes(self) -> int:
        """How much memory it may take."""
        return int(self.settings["question_memory_bytes"])


class Finished(msgspec.Struct, frozen=True, tag=True):
    """What was due was tried.

    Attributes:
        sent: how many messages were delivered.
        failures: why others were not.
        next_attempt: when something is due again, seconds since 1970; None if nothing is.
    """

    sent: Count
    failures: list[str]
    next_attempt: float | None


MODULE: Final = "deniable_aggregator.answering.digests.process"

LAST_SECONDS: Final = 900.0
"""After so long a run is ended, whatever it does."""

PAUSE_SECONDS: Final = 60.0
"""Between runs of which one has failed, or found another server's at work."""

log = logging.getLogger("deniable_aggregator")


class SendingError(StoreUnavailableError):
    """Digests could not be sent, or not all of them."""


class DigestRuns:
    """Looks whether digests are due, and starts a process that sends them.

    Any number of servers may do so: one process at a time sends, and others find it done.

    Args:
        store: the store.
        settings: what is sent when, and where to.
        clock: seconds since 1970.
        command: starts the process.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        command: Sequence[str] = (*PYTHON, MODULE),
    ) -> None:
        self._store, self._settings, self._clock, self._command = store, settings, clock, command
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._done_until: object = None
        self._not_before = float("-inf")
        self._failures: list[str] = []

    def look(self, today: int) -> None:
        """Starts a process if something is due, and does not wait for it.

        To be called again and again, by one thread.

        Args:
            today: the current day, in days since 1970-01-01.

        Raises:
            SendingError: if something could not be sent; it is tried again after a while, a few
                times.
        """
        if self._settings.digest_every == "never" or self._closed.is_set():
            return
        if self._thread is not None and self._thread.is_alive():
            return
        failures, self._failures = self._failures, []
        if failures:
            raise SendingError("; ".join(failures))
        period = due_period(self._settings.digest_every, day_of(today))
        now = self._clock()
        if period == self._done_until or now < max(
            self._not_before, due_at(self._settings, period)
        ):
            return
        self._thread = threading.Thread(
            target=self._run, args=(today, period), name="deniable-digests", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Ends the process, if there is one."""
        self._closed.set()
        self.wait()

    def wait(self) -> None:
        """Waits until the process has ended, if there is one."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, today: int, period: object) -> None:
        ahead = self._clock() - time.time()
        job = Job(str(self._store.target), today, ahead, asdict(self._settings))
        outcome = run_job(self._command, job, Finished, self._closed, seconds=LAST_SECONDS)
        self._not_before = self._clock() + PAUSE_SECONDS
        match outcome:
            case Finished(sent=sent, failures=failures, next_attempt=next_attempt):
                self._failures = failures
                if next_attempt is None:
                    self._done_until = period
                else:
                    self._not_before = next_attempt
                if sent:
                    log.info("sent %d digests", sent)
            case Failed(why=why):
                self._failures = [why]
