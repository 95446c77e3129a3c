"""Histograms of durations and sizes, in fixed memory."""

from __future__ import annotations

import threading
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)


class Histogram:
    """Counts values between fixed bounds. Thread-safe.

    Args:
        bounds: the upper bounds of the bins, ascending; a last bin has no bound.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, value: float) -> None:
        """Counts a value."""
        bin_ = bisect_left(self.bounds, value)
        with self._lock:
            self._counts[bin_] += 1
            self._sum += value

    def snapshot(self) -> tuple[list[int], float]:
        """How many values fell into each bin, and the sum of all values."""
        with self._lock:
            return list(self._counts), self._sum
