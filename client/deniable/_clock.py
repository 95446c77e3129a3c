"""The device's clock, which may be wrong: when it is not believed.

A clock is certainly wrong before `EARLIEST_DAY` or from `LATEST_DAY` on. It is in doubt for a
minute after it jumped while this process ran: the time that passed is measured by the clock of the
system that counts sleep as well, where there is one. If a second look, a minute later, still finds
the clock where it jumped to, it is believed. Nobody else is asked for the time.

A clock that the host passes, as tests do, is always believed.
"""

from __future__ import annotations

import time

from deniable._platform.clocks import clock_counting_sleep
from deniable_shared.periods import epoch_at

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

EARLIEST_DAY: Final = 20_758
"""2026-11-01, in days since 1970-01-01; raised by hand at each release, to a day before it."""

LATEST_DAY: Final = EARLIEST_DAY + 7_305
"""20 years later: no release is used for so long, and clocks that count milliseconds are beyond."""

JUMP_SECONDS: Final = 3_600.0
"""A smaller difference between the two clocks is no jump: it moves hardly a report to another day.
"""

DOUBT_SECONDS: Final = 60.0
"""How long after a jump the second look is."""

WRONG: Final = (
    "this device's clock is certainly wrong, so nothing is recorded or sent. Set its date right"
)
JUMPED: Final = (
    "this device's clock has jumped, so nothing is recorded or sent for a minute, until a second "
    "look finds it where it is"
)


class DeviceClock:
    """The clock of one engine. Safe for threads and forks: it holds no lock.

    Args:
        clock: seconds since 1970-01-01.
        elapsed: see `clock_counting_sleep`; None to notice no jump.
        believed: whether the clock is believed whatever it says.

    Attributes:
        went_back: whether the latest jump that a second look confirmed was to an earlier time.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        elapsed: Callable[[], float] | None,
        *,
        believed: bool,
    ) -> None:
        self._clock = clock
        self._elapsed = None if believed else elapsed
        self._believed = believed
        self.went_back = False
        self._offset: float | None = None  # between the two clocks, when last believed
        self._jump: tuple[float, float] | None = None  # the new offset, and when it was seen

    def __call__(self) -> float:
        """Seconds since 1970-01-01, as the clock says, right or wrong."""
        return self._clock()

    def doubt(self) -> str | None:
        """Why the clock is not believed now; None if it is."""
        if self._believed:
            return None
        now = self._clock()
        if not EARLIEST_DAY <= epoch_at(now) < LATEST_DAY:
            return WRONG
        return None if self._elapsed is None else self._doubt_of_jump(now, self._elapsed())

    def _doubt_of_jump(self, now: float, elapsed: float) -> str | None:
        offset, jump = now - elapsed, self._jump
        if self._offset is None or abs(offset - self._offset) < JUMP_SECONDS:
            self._offset, self._jump = offset, None  # slow corrections add up, and are no jump
            return None
        if jump is None or abs(offset - jump[0]) >= JUMP_SECONDS:
            self._jump = offset, elapsed
            return JUMPED
        if elapsed - jump[1] < DOUBT_SECONDS:
            return JUMPED
        self.went_back = offset < self._offset
        self._offset, self._jump = offset, None
        return None


def device_clock(clock: Callable[[], float]) -> DeviceClock:
    """The clock that a client was given; that of the system is not always believed."""
    return DeviceClock(clock, clock_counting_sleep(), believed=clock is not time.time)
