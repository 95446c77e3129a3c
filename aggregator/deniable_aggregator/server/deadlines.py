"""Deadlines of many waiting requests, for the price of one timer.

A timer of its own for each request was measured to cost a tenth of what a small upload costs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

PRECISION_SECONDS: Final = 0.1
"""A deadline is noticed this late, at most."""


class Deadline:
    """One wait. To be set to `over` when it ends.

    Attributes:
        at: when it ends at the latest, by the loop's clock.
        passed: called once if it is not over by then.
        over: whether nobody waits any longer.
    """

    __slots__ = ("at", "over", "passed")

    def __init__(self, at: float, passed: Callable[[], object]) -> None:
        self.at = at
        self.passed = passed
        self.over = False


class Deadlines:
    """Waits that may all take equally long. Belongs to one event loop.

    Args:
        seconds: how long each may take.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waits: deque[Deadline] = deque()  # in the order of their ends
        self._watched = False

    def begin(self, passed: Callable[[], object]) -> Deadline:
        """Begins a wait.

        Args:
            passed: called in the event loop when the time is up.
        """
        loop = asyncio.get_running_loop()
        deadline = Deadline(loop.time() + self.seconds, passed)
        self._waits.append(deadline)
        if not self._watched:
            self._watched = True
            loop.call_later(min(PRECISION_SECONDS, self.seconds), self._watch, loop)
        return deadline

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        waits = self._waits
        while waits and (waits[0].over or waits[0].at <= now):
            deadline = waits.popleft()
            if not deadline.over:
                deadline.over = True
                deadline.passed()
        self._watched = bool(waits)
        if waits:
            loop.call_later(PRECISION_SECONDS, self._watch, loop)
