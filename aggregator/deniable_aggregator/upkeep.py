"""What a store needs now and then: days are closed, tallies put together, old ones forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.audit import SERVER, Act, Record
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.keys import Keyring
    from deniable_aggregator.store import Store

OPEN_PARTS: Final = 16
"""Tallies of open days are put together when they are in so many parts; those of closed days when
they are in two."""

SLICES: Final = 100
FIRST_EPOCH: Final = 0
LAST_EPOCH: Final = 2**31 - 1


class Upkeep:
    """Looks after one store, in small transactions.

    Any number of servers may do so at once: each step is done by one of them, and finds nothing to
    do in the others.

    Args:
        store: the store.
        accept_days: a day is closed so many days after itself.
        retain_days: tallies are kept for so many days after theirs; None keeps them for ever.
        clock: seconds since 1970.
        keyring: knows which keys were used, which is written down by the day; None if nobody's.
    """

    def __init__(
        self,
        store: Store,
        *,
        accept_days: int,
        retain_days: int | None = None,
        clock: Callable[[], float],
        keyring: Keyring | None = None,
    ) -> None:
        self._store = store
        self._accept_days = accept_days
        self._retain_days = retain_days
        self._clock = clock
        self._keyring = keyring
        self._retention_noted = False
        self._closed_before = -1
        self._tidied_before = -1
        self._forgotten_before = -1

    def tend(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Does what is to be done.

        Args:
            stopped: whether the rest is to be left to the next call.

        Raises:
            StoreUnavailableError: if the store failed; to be called again.
        """
        today = epoch_at(self._clock())
        self._note_retention(today)
        if self._keyring is not None:
            self._keyring.note_used()
        oldest_open = today - self._accept_days
        if oldest_open > self._closed_before:
            self._store.inbox.close_epochs(oldest_open)
            self._closed_before = oldest_open
        self._compact(oldest_open, LAST_EPOCH, OPEN_PARTS, stopped)
        if oldest_open > self._tidied_before:
            self._compact(FIRST_EPOCH, oldest_open - 1, 2, stopped)
            if not stopped():
                self._tidied_before = oldest_open
        if self._retain_days is not None:
            self._forget(min(today - self._retain_days, oldest_open), stopped)

    def _note_retention(self, today: int) -> None:
        """Puts into the audit log for how long days are open and kept, if that has changed."""
        if not self._retention_noted:
            days = {"accept_days": self._accept_days, "retain_days": self._retain_days}
            self._store.audit.note(Record(today, SERVER, Act.RETENTION_SET, days))
            self._retention_noted = True

    def _compact(self, since: int, until: int, parts: int, stopped: Callable[[], bool]) -> None:
        tallies = self._store.tallies
        while not stopped() and tallies.compact(since=since, until=until, parts=parts, most=SLICES):
            pass

    def _forget(self, before: int, stopped: Callable[[], bool]) -> None:
        if before <= self._forgotten_before:
            return
        while not stopped():
            if not self._store.tallies.forget(before):
                self._forgotten_before = before
                return
