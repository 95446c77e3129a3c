"""Deadlines of many waiting requests, with one timer of the event loop for all of them.

A timer for each request was measured to cost a tenth of what a small upload costs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

PRECISION_SECONDS: Final = 0.1
"""A deadline takes effect this late, at most."""


class Deadline:
    """The end of one wait.

    Args:
        at: by the event loop's clock, in seconds.
        on_expiry: called once if the deadline was not cancelled by then.
    """

    __slots__ = ("_on_expiry", "at", "cancelled")

    def __init__(self, at: float, on_expiry: Callable[[], object]) -> None:
        self.at = at
        self.cancelled = False
        self._on_expiry = on_expiry

    def cancel(self) -> None:
        """Ends the wait; the deadline has no effect any more."""
        self.cancelled = True

    def expire(self) -> None:
        """Takes effect, unless it was cancelled."""
        if not self.cancelled:
            self.cancelled = True
            self._on_expiry()


class Deadlines:
    """Deadlines that are all equally far away when they begin. Belongs to one event loop.

    Args:
        seconds: how long each wait may take.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waiting: deque[Deadline] = deque()  # by time, as all are equally long
        self._timer_is_set = False

    def begin(self, on_expiry: Callable[[], object]) -> Deadline:
        """Begins a wait.

        Args:
            on_expiry: called in the event loop when the time is up.
        """
        loop = asyncio.get_running_loop()
        deadline = Deadline(loop.time() + self.seconds, on_expiry)
        self._waiting.append(deadline)
        if not self._timer_is_set:
            self._timer_is_set = True
            loop.call_later(min(PRECISION_SECONDS, self.seconds), self._check, loop)
        return deadline

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        waiting = self._waiting
        while waiting and (waiting[0].cancelled or waiting[0].at <= now):
            waiting.popleft().expire()
        self._timer_is_set = bool(waiting)
        if waiting:
            loop.call_later(PRECISION_SECONDS, self._check, loop)
