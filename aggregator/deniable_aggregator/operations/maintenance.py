"""What a store needs now and then: days are closed, tallies put together, old ones forgotten."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from deniable_aggregator.audit import SERVER, AuditAction, AuditRecord
from deniable_aggregator.store import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.operations.clock import GuardedClock
    from deniable_aggregator.security.keys import KeyVerifier
    from deniable_aggregator.store import Store

OPEN_PARTS: Final = 16
"""Tallies of open days are put together when they are in so many parts; those of closed days when
they are in two."""

SLICES: Final = 100
FIRST_EPOCH: Final = 0
LAST_EPOCH: Final = 2**31 - 1


TASKS: Final = ("clock", "retention", "keys", "close", "compact", "delete")

log = logging.getLogger("deniable_aggregator")


class Maintenance:
    """Looks after one store, in small transactions.

    Any number of servers may do so at once: each step is done by one of them, and finds nothing to
    do in the others.

    Args:
        store: the store.
        accept_days: a day is closed so many days after itself.
        retain_days: tallies are kept for so many days after theirs; None keeps them for ever.
        clock: which day it is; one that is in doubt closes and deletes nothing too early.
        verifier: knows which keys were used, which is written down by the day; None if nobody's.

    Attributes:
        failed: how often each of `TASKS` failed.
    """

    def __init__(
        self,
        store: Store,
        *,
        accept_days: int,
        retain_days: int | None = None,
        clock: GuardedClock,
        verifier: KeyVerifier | None = None,
    ) -> None:
        self._store = store
        self._accept_days = accept_days
        self._retain_days = retain_days
        self._clock = clock
        self._verifier = verifier
        self._today = 0
        self._retention_recorded = False
        self._closed_before = -1
        self._compacted_before = -1
        self._deleted_before = -1
        self.failures = Counter(dict.fromkeys(TASKS, 0))

    def run(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Does what is to be done; what fails keeps nothing else from being done.

        Args:
            stopped: whether the rest is to be left to the next call.

        Raises:
            Exception: the first failure, after everything was tried; to be called again.
        """
        failures: list[Exception] = []
        if not self._attempt("clock", self._read_clock, failures):
            raise failures[0]  # without the day, nothing can be done
        works: Mapping[str, Callable[[], None]] = {
            "retention": self._record_retention,
            "keys": self._write_key_use,
            "close": self._close_days,
            "compact": lambda: self._compact(stopped),
            "delete": lambda: self._delete_expired(stopped),
        }
        for duty, work in works.items():
            if not stopped():
                self._attempt(duty, work, failures)
        if failures:
            raise failures[0]

    def _attempt(self, duty: str, work: Callable[[], None], failures: list[Exception]) -> bool:
        try:
            work()
        except Exception as error:  # noqa: BLE001  the other duties are not to suffer from it
            self.failures[duty] += 1
            failures.append(error)
            told = error if isinstance(error, StoreUnavailableError) else type(error).__name__
            log.error(_FAILURE_MESSAGES[duty], told)
            return False
        return True

    def _read_clock(self) -> None:
        self._today = self._clock.day()

    def _record_retention(self) -> None:
        """Puts into the audit log for how long days are open and kept, if that has changed."""
        if not self._retention_recorded:
            days = {"accept_days": self._accept_days, "retain_days": self._retain_days}
            self._store.audit.record_if_changed(
                AuditRecord(self._today, SERVER, AuditAction.RETENTION_SET, days)
            )
            self._retention_recorded = True

    def _write_key_use(self) -> None:
        if self._verifier is not None:
            self._verifier.write_last_used()

    def _oldest_open(self) -> int:
        return self._today - self._accept_days

    def _close_days(self) -> None:
        if self._oldest_open() > self._closed_before:
            self._store.inbox.close_epochs(self._oldest_open())
            self._closed_before = self._oldest_open()

    def _compact(self, stopped: Callable[[], bool]) -> None:
        oldest_open = self._oldest_open()
        self._compact_days(oldest_open, LAST_EPOCH, OPEN_PARTS, stopped)
        if oldest_open > self._compacted_before:
            self._compact_days(FIRST_EPOCH, oldest_open - 1, 2, stopped)
            if not stopped():
                self._compacted_before = oldest_open

    def _compact_days(
        self, since: int, until: int, parts: int, stopped: Callable[[], bool]
    ) -> None:
        tallies = self._store.tallies
        while not stopped() and tallies.compact(since=since, until=until, parts=parts, most=SLICES):
            pass

    def _delete_expired(self, stopped: Callable[[], bool]) -> None:
        if self._retain_days is None:
            return
        before = min(self._today - self._retain_days, self._oldest_open())
        if before <= self._deleted_before:
            return
        while not stopped():
            if not self._store.tallies.delete_before(before):
                self._deleted_before = before
                return


_FAILURE_MESSAGES: Final = {
    "clock": "looking whether the clock is right will be tried again: %s",
    "retention": "noting for how long days are kept will be tried again: %s",
    "keys": "noting which keys were used will be tried again: %s",
    "close": "closing days will be tried again: %s",
    "compact": "putting tallies together will be tried again: %s",
    "delete": "deleting old tallies will be tried again: %s",
}
