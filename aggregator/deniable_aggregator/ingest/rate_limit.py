"""How many uploads a write key may bring, counted in the memory of one server."""

from __future__ import annotations

import math
import re
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.http.problems import ProblemError
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
RATE_PATTERN: Final = rf"[1-9][0-9]*/({'|'.join(UNIT_SECONDS)})"


class _Counts(NamedTuple):
    """The uploads of a key in one window, the number of that window, and in the one before it."""

    window: int
    current: int
    previous: int


class RateLimiter:
    """Limits the uploads of each key over a sliding window.

    The sliding window is approximated by two fixed ones: of the previous one the share counts that
    the sliding window still covers. That takes two integers a key, and allows for a moment at most
    what an even flow of the previous window would have left.

    Args:
        rate: such as ``10000/minute``; empty for no limit.
        monotonic: a clock in seconds.

    Raises:
        ParameterError: if the rate has another form.
    """

    def __init__(self, rate: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        if rate and not re.fullmatch(RATE_PATTERN, rate):
            raise ParameterError("rate_limit", "a rate such as 10000/minute", rate)
        self._rate = rate
        uploads, _, self._unit = rate.partition("/")
        self._max_uploads = int(uploads or 0)
        self._seconds = UNIT_SECONDS.get(self._unit, 1)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        # By key id. Only valid keys are counted, so there are no more of them than keys.
        self._counts: dict[str, _Counts] = {}

    def hit(self, key_id: str) -> None:
        """Counts one upload of a key.

        Raises:
            ProblemError: ``rate_limited``, if the key may not bring it now; it does not count then.
        """
        if not self._rate:
            return
        window, elapsed = divmod(self._monotonic(), self._seconds)
        with self._lock:
            counts = self._counts_in(int(window), key_id)
            covered = 1 - elapsed / self._seconds
            if counts.current + 1 + counts.previous * covered <= self._max_uploads:
                self._counts[key_id] = counts._replace(current=counts.current + 1)
                return
        raise ProblemError(
            "rate_limited",
            f"This key may bring {self._max_uploads} uploads per {self._unit}. Send the same bytes "
            "again later.",
            headers={"Retry-After": str(max(1, math.ceil(self._wait(counts, elapsed))))},
        )

    def _counts_in(self, window: int, key_id: str) -> _Counts:
        counts = self._counts.get(key_id, _Counts(window, 0, 0))
        if counts.window == window:
            return counts
        return _Counts(window, 0, counts.current if counts.window == window - 1 else 0)

    def _wait(self, counts: _Counts, elapsed: float) -> float:
        """Seconds until the key may bring an upload, if it brings none before."""
        room = self._max_uploads - 1
        if counts.current <= room:
            return self._seconds * (1 - (room - counts.current) / counts.previous) - elapsed
        # Not in this window, whose uploads are those of the previous one then.
        return self._seconds * (2 - room / counts.current) - elapsed
