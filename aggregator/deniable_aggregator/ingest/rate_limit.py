"""How often a key may send, counted by the library limits in memory or in Redis."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.http.problems import ProblemError
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from limits import RateLimitItem

MEMORY: Final = "memory://"
LOG_INTERVAL_SECONDS: Final = 60.0
"""A counter that cannot be reached is mentioned this often."""

log = logging.getLogger("deniable_aggregator")


class RateLimiter:
    """Counts the uploads of each key over a sliding window.

    Where the counter cannot be reached, every upload passes: a limit is there to protect the
    service, and must not end it.

    Args:
        rate: as ``10000/minute``; empty for no limit.
        store: ``memory://`` or the URL of a Redis.

    Attributes:
        remote: whether a hit asks another machine, and so may take a while.
    """

    def __init__(self, rate: str, store: str = MEMORY) -> None:
        self.is_remote = bool(rate) and store != MEMORY
        self._last_logged = -math.inf
        self._limit: RateLimitItem | None = None
        if not rate:
            return
        # Only here, as most servers limit at their proxy, and this takes a while to import.
        from limits.storage import storage_from_string
        from limits.strategies import SlidingWindowCounterRateLimiter

        self._limit = _parse_rate(rate)
        self._window = SlidingWindowCounterRateLimiter(_open_storage(storage_from_string, store))

    def hit(self, key_id: str) -> None:
        """Counts one upload of a key.

        Raises:
            ProblemError: ``rate_limited``, if it is one too many; then it does not count.
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
            f"This key may send {self._limit}. Send the same bytes again later.",
            headers={"Retry-After": str(seconds)},
        )

    def _log_failure(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._last_logged >= LOG_INTERVAL_SECONDS:
            self._last_logged = now
            log.error("rates are not limited, their counter fails: %s", type(error).__name__)


def check_rate(rate: str) -> None:
    """Checks what `RateLimiter` is to be made with.

    Raises:
        ParameterError: if a rate cannot be read.
    """
    if rate:
        _parse_rate(rate)


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
