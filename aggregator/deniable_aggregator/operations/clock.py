"""The current day, ignoring implausible clock jumps: closing or deleting a day is final."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.store import Store

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
