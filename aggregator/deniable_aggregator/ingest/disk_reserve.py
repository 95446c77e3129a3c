"""Refuses uploads while the disk of the store is nearly full, so that counting has room to work."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from deniable_aggregator.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 600
"""Nobody frees a disk within a few seconds, and a device keeps its reports for days."""


class DiskReserve:
    """Space that uploads leave free: counting, merging and administration still need some.

    Args:
        free_bytes: the free space; None if the disk is not this machine's.
        least_bytes: uploads are refused below it.
        monotonic: a clock in seconds.
    """

    def __init__(
        self,
        free_bytes: Callable[[], int | None],
        least_bytes: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._free_bytes = free_bytes
        self._least_bytes = least_bytes
        self._monotonic = monotonic
        self._looked_at = -math.inf
        self._is_low = False

    def check(self) -> None:
        """Looks at the disk, at most once a second.

        Raises:
            ProblemError: ``storage_full``, if too little is free.
        """
        now = self._monotonic()
        if now - self._looked_at >= CACHE_SECONDS:
            self._looked_at = now
            self._is_low = self._looks_low()
        if self._is_low:
            raise ProblemError(
                "storage_full",
                "Send the same bytes again later. The operator frees space; /readyz says how much "
                "is wanted.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )

    def _looks_low(self) -> bool:
        try:
            free = self._free_bytes()
        except OSError:
            return False  # the directory is gone: the commit says what is wrong
        return free is not None and free < self._least_bytes
