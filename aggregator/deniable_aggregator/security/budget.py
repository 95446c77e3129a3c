"""A number of acts that may be done now, which grows with time up to a burst."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Budget:
    """How often something may still be done.

    Args:
        burst: how often at once.
        per_second: how often in the long run.
        monotonic: a clock in seconds.
    """

    def __init__(self, burst: int, per_second: float, monotonic: Callable[[], float]) -> None:
        self._burst = float(burst)
        self._per_second = per_second
        self._monotonic = monotonic
        self._left = float(burst)
        self._last = -math.inf

    def allows(self) -> bool:
        """Whether it may be done now."""
        return self._now(self._monotonic()) >= 1

    def spend(self) -> bool:
        """Whether one more action is allowed now; if so, it is counted."""
        now = self._monotonic()
        allowance = self._now(now)
        if allowance < 1:
            return False
        self._left, self._last = allowance - 1, now
        return True

    def _now(self, now: float) -> float:
        return min(self._burst, self._left + (now - self._last) * self._per_second)
