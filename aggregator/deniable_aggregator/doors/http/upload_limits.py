"""How much is taken in: at which pace, and as long as the disk has room."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.answering.requests import ProblemError
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from limits import RateLimitItem


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


MEMORY: Final = "memory://"
UPLOADS: Final = "send {}. Send the same bytes again later."
LOG_INTERVAL_SECONDS: Final = 60.0
"""That the counter cannot be reached is logged this often."""

log = logging.getLogger("deniable_aggregator")


class RateLimiter:
    """Limits the requests of each key over a sliding window.

    While the counter cannot be reached, every request passes: the limit protects the service and
    must not end it.

    Args:
        rate: such as ``10000/minute``; empty for no limit.
        store: ``memory://`` or the URL of a Redis, in which several servers count together.
        allowed: what a key may do and what to do beyond it, with ``{}`` for the rate.

    Attributes:
        is_remote: whether `hit` asks another machine, and so may take a while.

    Raises:
        ParameterError: if the rate or the URL has another form.
    """

    def __init__(self, rate: str, store: str = MEMORY, allowed: str = UPLOADS) -> None:
        self.is_remote = bool(rate) and store != MEMORY
        self._allowed = allowed
        self._last_logged = -math.inf
        self._limit: RateLimitItem | None = None
        if not rate:
            return
        # Imported only here: it takes a while, and most servers are limited by their proxy.
        from limits.storage import storage_from_string
        from limits.strategies import SlidingWindowCounterRateLimiter

        self._limit = _parse_rate(rate)
        self._window = SlidingWindowCounterRateLimiter(_open_storage(storage_from_string, store))

    def hit(self, key_id: str) -> None:
        """Counts one request of a key.

        Raises:
            ProblemError: ``rate_limited``, if the key may send none now; it is not counted then.
        """
        if self._limit is None:
            return
        try:
            if self._window.hit(self._limit, key_id):
                return
            reset = self._window.get_window_stats(self._limit, key_id).reset_time
        except Exception as error:  # noqa: BLE001  whatever the counter's driver raises
            self._log_failure(error)
            return
        seconds = max(1, math.ceil(reset - time.time()))
        raise ProblemError(
            "rate_limited",
            f"This key may {self._allowed.format(self._limit)}",
            headers={"Retry-After": str(seconds)},
        )

    def _log_failure(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._last_logged >= LOG_INTERVAL_SECONDS:
            self._last_logged = now
            log.error("requests are not limited, as their counter fails: %s", type(error).__name__)


def _parse_rate(rate: str) -> RateLimitItem:
    from limits import parse

    try:
        return parse(rate)
    except ValueError:
        raise ParameterError("rate_limit", "a rate like 10000/minute", rate) from None


def _open_storage(open_storage: Any, store: str) -> Any:
    options = {} if store == MEMORY else {"socket_timeout": 1.0, "socket_connect_timeout": 1.0}
    try:
        return open_storage(store, **options)
    except Exception as error:  # noqa: BLE001  the URL may hold a password: it is not told
        raise ParameterError(
            "rate_limit_store", "memory:// or redis://HOST:PORT", type(error).__name__
        ) from None
