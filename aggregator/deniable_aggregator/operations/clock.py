"""The day by a clock that is not believed when it jumps: what it ends cannot be brought back."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.store import Store

JUMP_DAYS: Final = 2
"""A clock that is ahead of everything else by more than this is in doubt."""

CONFIRM_SECONDS: Final = 3 * SECONDS_PER_EPOCH
"""What nobody objects to over a weekend is believed."""

log = logging.getLogger("deniable_aggregator")


class GuardedClock:
    """Says on which day closing and deleting may act.

    Two things tell whether the system's clock is right: that time passes at the same pace for a
    clock that nobody can set, and that devices, which have clocks of their own, send reports of
    the same days. A clock that is ahead of both is in doubt. It is believed once a report of one
    of these days is accepted, or when it has been in doubt for `CONFIRM_SECONDS` in which no
    report of a newer day came that speaks against it. A clock that is set back is believed: it
    ends nothing.

    Args:
        store: knows of which days there are reports.
        clock: seconds since 1970, of a clock that people and programs can set.
        monotonic: seconds of one that they cannot.

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
        # Without reports there is nothing that a wrong clock could end.
        believed = clock() if newest is None else float(newest * SECONDS_PER_EPOCH)
        self._newest = newest
        self._believed = (believed, monotonic())
        self._doubted_since: float | None = None

    def days_ahead(self) -> int:
        """By how many days the clock is ahead of what is believed; 0 if it is not in doubt."""
        return self._ahead(self._clock(), self._monotonic())

    def day(self) -> int:
        """The day, or while the clock is in doubt the one that it would be by everything else.

        Raises:
            StoreUnavailableError: if the clock is in doubt, and the store cannot be asked.
        """
        # Each read once: a clock that jumps while it is looked at must not be believed.
        now, at = self._clock(), self._monotonic()
        ahead = self._ahead(now, at)
        if ahead and not self._confirmed(epoch_at(now), at, ahead):
            return epoch_at(self._expected(at))
        self._believed = (now, at)
        self._doubted_since = None
        return epoch_at(now)

    def _expected(self, at: float) -> float:
        believed, since = self._believed
        return believed + (at - since)

    def _ahead(self, now: float, at: float) -> int:
        ahead = epoch_at(now) - epoch_at(self._expected(at))
        return ahead if ahead > JUMP_DAYS else 0

    def _confirmed(self, today: int, at: float, ahead: int) -> bool:
        newest = self._store.inbox.newest_day()
        if newest is not None and today - newest <= JUMP_DAYS:
            return True
        if self._doubted_since is None:
            log.warning(
                "the clock is %d days ahead of the newest report: days are neither closed nor "
                "deleted by it until a report of one of these days comes, or %d days pass",
                ahead,
                CONFIRM_SECONDS // SECONDS_PER_EPOCH,
            )
        if self._doubted_since is None or newest != self._newest:
            self._doubted_since, self._newest = at, newest
        return at - self._doubted_since >= CONFIRM_SECONDS
