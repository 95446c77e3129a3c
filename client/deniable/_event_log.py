"""Counts of what happens in a client, and log messages about problems; never a recorded value."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections import Counter

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Final

    from deniable._status import Outcome

LOG_INTERVAL_SECONDS: Final = 3_600.0
"""A kind of problem is logged at most once in this time."""

_INFO, _WARNING, _ERROR = 20, 30, 40  # as in logging, which is not imported here

_LOST: Final[Mapping[str, str]] = {
    "too_old": "reports were given up, as they could not be sent within 30 days, 14 if memoised",
    "spool_full": "reports were given up to make room, as too many could not be sent",
}
"""What is said of reports that are lost; why they could not be sent was said before."""

_ALREADY_REPORTED: Final = "already_reported"

_REPEATED: Final = "refused"
"""A mistake by which one report after the other is lost: it is said again."""


class EventLog:
    """Counts outcomes and reports, and logs problems. Safe for threads.

    Attributes:
        sent: how many reports the aggregator has acknowledged.
        last_error: the latest problem that is not known to be over, in one line, or None.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may record while its thread holds it
        self._outcomes: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._repeated: Counter[str] = Counter()
        self.logged_at: dict[str, float] = {}
        self._announced: set[str] = set()  # kinds that were logged and are not over
        self.sent = 0
        self.last_error: str | None = None

    def count_outcome(self, outcome: Outcome, metric: object) -> None:
        """Counts one call of `record`.

        Args:
            outcome: what came of it.
            metric: as it was passed.
        """
        with self._lock:
            self._outcomes[outcome._value_] += 1
            if outcome._value_ == _ALREADY_REPORTED:
                self._repeated[str(metric)] += 1

    def count_dropped(self, reason: str, count: int = 1) -> None:
        """Counts reports that were given up; notes it if they could not be sent in time."""
        if count:
            with self._lock:
                self._dropped[str(reason)] += count
            if reason in _LOST:
                self.problem(str(reason), f"{_LOST[reason]}: {count}")

    def count_sent(self) -> None:
        """Counts one acknowledged report."""
        with self._lock:
            self.sent += 1

    def problem(self, kind: str, message: str, *, mistake: bool = False) -> None:
        """Notes a problem, and logs it unless its kind was logged within the hour.

        Args:
            kind: a constant word.
            message: one line without any value, key or payload.
            mistake: whether only the developer or the operator can end it. It is logged as an
                error, and not again until it was `solved`, unless reports are lost by it.
        """
        self.last_error = f"{kind}: {message}"
        if "logging" not in sys.modules:
            return  # nobody listens yet, see `_log`
        now = time.monotonic()
        with self._lock:
            due = now >= self.logged_at.get(kind, -math.inf) + LOG_INTERVAL_SECONDS
            if mistake and kind != _REPEATED:
                due = due and kind not in self._announced
            if due:
                self.logged_at[kind] = now
                self._announced.add(kind)
        if due:
            self._log(_ERROR if mistake else _WARNING, kind, message)

    def solved(
        self,
        kinds: Collection[str],
        last_error: str | None,
        word: str = "accepted",
        message: str = "the server takes reports again",
    ) -> None:
        """Notes that problems are over, and logs it if they were logged.

        Args:
            kinds: of the problems that are over.
            last_error: the latest one that is not, if any.
            word: the constant word of the log's line.
            message: see `problem`.
        """
        if self.last_error is not None and self.last_error.partition(":")[0] in kinds:
            self.last_error = last_error
        with self._lock:
            announced = self._announced.intersection(kinds)
            self._announced -= announced
        if announced:
            over = ", ".join(sorted(announced))
            self._log(_WARNING, word, f"{message} (over: {over})")

    def warn(self, kind: str, message: str) -> None:
        """Logs a warning; see `problem` for what it may hold."""
        self._log(_WARNING, kind, message)

    def inform(self, kind: str, message: Callable[[], str]) -> None:
        """Logs what went well, if the host has set the level of the logger ``deniable`` itself.

        The level of the root logger does not count: lines with the times of uploads are only for
        hosts that asked for them.

        Args:
            kind: a constant word.
            message: makes the line; see `problem` for what it may hold.
        """
        logging = sys.modules.get("logging")
        with contextlib.suppress(Exception):  # as in `_log`
            if logging is not None and 0 < logging.getLogger("deniable").level <= _INFO:
                self._log(_INFO, kind, message())

    def _log(self, level: int, kind: str, message: str) -> None:
        # Not imported here: a program that has not imported it cannot listen, and a fork while it
        # is imported prints an error of logging's own.
        logging = sys.modules.get("logging")
        # `record` must never raise, but the host's log handlers and filters may.
        with contextlib.suppress(Exception):
            if logging is None:
                return
            logger = logging.getLogger("deniable")
            if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
                logger.addHandler(logging.NullHandler())
            logger.log(level, "%s: %s", kind, message)

    def outcomes(self) -> dict[str, int]:
        """How often `record` answered with each outcome."""
        with self._lock:
            return dict(self._outcomes)

    def repeated(self) -> dict[str, int]:
        """How often a metric was recorded that had already reported in its period, by name."""
        with self._lock:
            return dict(self._repeated)

    def dropped(self) -> dict[str, int]:
        """How many reports were given up, by reason."""
        with self._lock:
            return dict(self._dropped)

    def after_fork_in_child(self) -> None:
        """Replaces the lock, which a thread of the parent may have held."""
        self._lock = threading.RLock()
