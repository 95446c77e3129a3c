"""What the client tells about itself: outcomes, counts and the last trouble, never a value."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import Counter
from enum import StrEnum

from deniable import _import_lock
from deniable_shared.frozen import frozen

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

NANO: Final = 10**9
"""Amounts of epsilon are whole nano-nats."""

LOG_INTERVAL_SECONDS: Final = 3_600.0
"""The same kind of trouble is logged at most once in this time."""


class Outcome(StrEnum):
    """What became of one call of `Client.record`."""

    RECORDED = "recorded"
    """The value was randomized, and the report will be uploaded."""
    ALREADY_REPORTED = "already_reported"
    """This metric has reported in this period."""
    NO_CONSENT = "no_consent"
    DO_NOT_TRACK = "do_not_track"
    """The environment variable of that name refuses for the user."""
    OUTSIDE_DOMAIN = "outside_domain"
    """The value has the wrong type, or is no category of a metric without a catch-all."""
    UNKNOWN_METRIC = "unknown_metric"
    EXPIRED = "expired"
    """The metric's last day is over."""
    DISABLED = "disabled"
    """The remote configuration says that this metric records nothing."""
    THINNED = "thinned"
    """The remote configuration lets this device sit this period out."""
    OVER_BUDGET = "over_budget"
    """The report would exceed the epsilon of this day or of this device's lifetime."""
    STORAGE_UNAVAILABLE = "storage_unavailable"
    """The directory, the ledger or the spool cannot be used: see `Status.last_error`."""
    CLOSED = "closed"
    INTERNAL_ERROR = "internal_error"
    """A defect of the client; please report it with `Status.last_error`."""


class Dropped(StrEnum):
    """Why reports were given up, besides ``refused_<status>``, a final answer of the aggregator."""

    TOO_OLD = "too_old"
    DEBIT_LOST = "debit_lost"
    """A power failure, or an old copy of the ledger, undid what had paid for the report."""
    SPOOL_FULL = "spool_full"
    SPOOL_CORRUPT = "spool_corrupt"
    """Counts spools that were set aside: how many reports each held is not known."""
    CONSENT_WITHDRAWN = "consent_withdrawn"
    FORGOTTEN = "forgotten"
    """Deleted by `Client.forget`."""


@frozen
class FlushResult:
    """What a flush achieved.

    Attributes:
        sent: reports that the aggregator acknowledged during the flush.
        pending: reports that are still stored, to be sent later; None if they could not be
            counted, for the storage cannot be used or others held it until the timeout.
        dropped: reports that were given up for good during the flush.
    """

    sent: int
    pending: int | None
    dropped: int


@frozen
class Status:
    """A snapshot of one client; the counts are of this process, since the client was made.

    Attributes:
        consent: whether anything is recorded at all.
        pending: reports that are stored on this device, waiting to be sent; None if the storage
            cannot be used.
        sent: reports that the aggregator acknowledged.
        outcomes: how often `record` answered with each `Outcome`.
        dropped: reports given up, by reason.
        last_error: the latest trouble in one line, or None; never a value, key or payload.
        epsilon_left_today: nats that may still be spent in this UTC day; 0 without storage.
        epsilon_left_lifetime: nats that this device may ever spend again; 0 without storage.
        do_not_track: whether the environment refuses, so that consent cannot be given.
        remote_serial: of the remote configuration in force, or None.
        remote_refused: how many remote configurations were refused; `last_error` says why.
    """

    consent: bool
    pending: int | None
    sent: int
    outcomes: Mapping[str, int]
    dropped: Mapping[str, int]
    last_error: str | None
    epsilon_left_today: float
    epsilon_left_lifetime: float
    do_not_track: bool = False
    remote_serial: int | None = None
    remote_refused: int = 0


class EventLog:
    """Counts what happens and logs troubles, one line per kind and hour. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may record, too
        self._outcomes: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._logged_at: dict[str, float] = {}
        self.sent = 0
        self.last_error: str | None = None

    def count_outcome(self, outcome: Outcome) -> None:
        """Counts one call of `record`."""
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
        """Notes a trouble, and logs it unless its kind was logged within the hour.

        Args:
            kind: a constant word.
            message: one line that holds no value, key or payload.
        """
        self.last_error = f"{kind}: {message}"
        now = time.monotonic()
        with self._lock:
            due = now >= self._logged_at.get(kind, -math.inf) + LOG_INTERVAL_SECONDS
            if due:
                self._logged_at[kind] = now
        if not due:
            return
        # The host's own handlers and filters may raise, an import may fail while the interpreter
        # ends, and `record` never does.
        with contextlib.suppress(Exception):
            with _import_lock.hold():
                import logging  # most programs never have a trouble

            logger = logging.getLogger("deniable")
            if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
                logger.addHandler(logging.NullHandler())
            logger.warning("%s: %s", kind, message)

    def outcomes(self) -> dict[str, int]:
        """Calls of `record` by outcome."""
        with self._lock:
            return dict(self._outcomes)

    def dropped(self) -> dict[str, int]:
        """Reports given up by reason."""
        with self._lock:
            return dict(self._dropped)

    def after_fork_in_child(self) -> None:
        """Replaces the lock in a forked child: another thread of the parent may have held it."""
        self._lock = threading.RLock()
