"""How many reports a flush has under way at a time.

Every report has a connection of its own, and a flush may have half a second. So if the aggregator
takes long to answer, reports wait for it together. But one that cannot be reached, or takes
nothing, is asked by a single report.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._transport.http import Transport

FEW: Final = 4
"""So many reports are under way once one was taken, however quickly."""

QUICK_SECONDS: Final = 0.02
"""With answers that come sooner, more reports at a time would only wait for this processor."""

HASTE: Final = 4.0
"""A flush is to end in this part of its time, because many reports together may take longer."""


class FlushPace:
    """Decides how many reports of one flush are sent at a time.

    Args:
        count: how many reports are to be sent.
        transport: carries them. If it has an attribute ``connected_at``, which is the time of the
            latest connection by the monotonic clock, more reports follow before the first answer.
        seconds_left: returns in how many seconds the flush has to end.
        known_seconds: how long a report took that was taken a moment ago; 0 if none was.
    """

    def __init__(
        self,
        count: int,
        transport: Transport,
        seconds_left: Callable[[], float],
        known_seconds: float = 0.0,
    ) -> None:
        self._count = count
        self._transport = transport
        self._seconds_left = seconds_left
        self._began = time.monotonic()
        self._connected_at = math.inf
        self._shortest = math.inf
        self._known_seconds = known_seconds

    def allowed(self) -> int:
        """How many reports may be under way now; 1 or more."""
        seconds, least = self._shortest, FEW
        if seconds == math.inf:
            seconds, least = max(self._known_seconds, self._seconds_since_connection()), 1
        if seconds < QUICK_SECONDS:
            return least
        left = max(self._seconds_left(), QUICK_SECONDS)
        return max(least, math.ceil(HASTE * self._count * seconds / left))

    def note_answer(self, seconds: float) -> None:
        """The aggregator has answered a report, so that the next may follow.

        Args:
            seconds: how long sending it has taken.
        """
        self._count -= 1
        self._shortest = min(self._shortest, seconds)

    def _seconds_since_connection(self) -> float:
        """How long the first report has been waiting for its answer; 0 if it is not known to."""
        latest = getattr(self._transport, "connected_at", 0.0)
        if self._connected_at == math.inf and latest > self._began:
            self._connected_at = latest
        return max(0.0, time.monotonic() - self._connected_at)
