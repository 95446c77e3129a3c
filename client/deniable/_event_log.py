"""Counts of what happens in a client, and log messages about problems; never a recorded value."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import Counter

from deniable import _import_lock

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final

    from deniable._status import Outcome

LOG_INTERVAL_SECONDS: Final = 3_600.0
"""A kind of problem is logged at most once in this time."""


class EventLog:
    """Counts outcomes and reports, and logs problems. Safe for threads.

    Attributes:
        sent: how many reports the aggregator has acknowledged.
        last_error: the latest problem in one line, or None.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may record while its thread holds it
        self._outcomes: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._logged_at: dict[str, float] = {}
        self.sent = 0
        self.last_error: str | None = None

    def count_outcome(self, outcome: Outcome, metric: object) -> None:  # noqa: ARG002
        """Counts one call of `record`.

        Args:
            outcome: what came of it.
            metric: as it was passed; used in development alone.
        """
        with self._lock:
            self._outcomes[outcome._value_] += 1

    def count_dropped(self, reason: str, count: int = 1) -> None:
        """Counts reports that were given up."""
        if count:
            with self._lock:
                self._dropped[str(reason)] += count

    def count_sent(self) -> None:
        """Counts one acknowledged report."""
        with self._lock:
            self.sent += 1

    def problem(self, kind: str, message: str) -> None:
        """Notes a problem, and logs it unless its kind was logged within the hour.

        Args:
            kind: a constant word.
            message: one line without any value, key or payload.
        """
        self.last_error = f"{kind}: {message}"
        now = time.monotonic()
        with self._lock:
            due = now >= self._logged_at.get(kind, -math.inf) + LOG_INTERVAL_SECONDS
            if due:
                self._logged_at[kind] = now
        if due:
            self.warn(kind, message)

    def warn(self, kind: str, message: str) -> None:
        """Logs a warning; see `problem` for what it may hold."""
        # `record` must never raise, but the host's log handlers and filters may, and so may an
        # import while the interpreter ends.
        with contextlib.suppress(Exception):
            with _import_lock.hold():
                import logging  # costs start-up time, and most programs never log a problem

            logger = logging.getLogger("deniable")
            if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
                logger.addHandler(logging.NullHandler())
            logger.warning("%s: %s", kind, message)

    def outcomes(self) -> dict[str, int]:
        """How often `record` answered with each outcome."""
        with self._lock:
            return dict(self._outcomes)

    def dropped(self) -> dict[str, int]:
        """How many reports were given up, by reason."""
        with self._lock:
            return dict(self._dropped)

    def after_fork_in_child(self) -> None:
        """Replaces the lock, which a thread of the parent may have held."""
        self._lock = threading.RLock()
