"""How much is taken in: at which pace, how much of a key, and as long as the disk has room.

`UploadLimits` asks all of them: before the body of an upload is read, and again with what is in it.
"""

from __future__ import annotations

import logging
import math
import secrets
import time
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.answering.requests import ProblemError
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from limits import RateLimitItem

    from deniable_aggregator.keeping.key_quotas import Charge, KeyQuotas
    from deniable_aggregator.keeping.keys import Key


MOST_WRITE_REPORTS: Final = 64
"""So many reports a write key may bring in an upload; a device sends one."""

RETRY_SPREAD_SECONDS: Final = 1_800
"""Devices that were refused come back within so long, not all in the first second."""


class UploadLimits:
    """All that bounds uploads beside the memory of this process.

    Args:
        rate_limiter: limits the uploads of each key.
        disk_reserve: refuses uploads while the disk is nearly full.
        quotas: how many bytes each key may bring.
        wrong_pages: what damage keeps the store from keeping uploads; empty for none.
    """

    def __init__(
        self,
        *,
        rate_limiter: RateLimiter,
        disk_reserve: DiskReserve,
        quotas: KeyQuotas,
        wrong_pages: Callable[[], str] = lambda: "",
    ) -> None:
        self._rate_limiter = rate_limiter
        self._disk_reserve = disk_reserve
        self._quotas = quotas
        self._wrong_pages = wrong_pages

    @property
    def waits(self) -> bool:
        """Whether counting the uploads of a key asks another server."""
        return self._rate_limiter.is_remote

    def check_key(self, key: Key) -> None:
        """Checks whether any upload of a key may be taken now.

        Raises:
            ProblemError: if none may.
        """
        self._rate_limiter.hit(key.id)
        self._disk_reserve.check()
        if self._wrong_pages():
            raise ProblemError(
                "store_unavailable",
                "The store is damaged and might lose it. Send the same bytes again later: the "
                "operator mends the store; /readyz says when it is whole.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        if self._quotas.is_spent(key):
            raise self._quota_spent(key)

    def check_reports(self, key: Key, reports: int) -> None:
        """Checks whether a key may bring so many reports in one upload.

        Raises:
            ProblemError: ``batch_key_needed``.
        """
        if key.scope == "write" and reports > MOST_WRITE_REPORTS:
            raise ProblemError(
                "batch_key_needed",
                f"A write key brings at most {MOST_WRITE_REPORTS} reports an upload, as anybody "
                "can read it out of an application. Whoever imports or simulates reports has a key "
                f"of its own: deniable keys create --scope batch --application {key.application}",
            )

    def take(self, key: Key, *, size: int, reports: int) -> Charge:
        """Counts an upload that is about to be stored.

        Args:
            key: that it came with.
            size: what it will take in the store, in bytes.
            reports: how many it has.

        Returns:
            What `give_back` needs if it is not stored.

        Raises:
            ProblemError: ``quota_spent``, if it may not be taken now; it is not counted then.
        """
        charge = self._quotas.take(key, size=size, reports=reports)
        if charge is None:
            raise self._quota_spent(key)
        return charge

    def give_back(self, charge: Charge) -> None:
        """Takes back what was counted of an upload that was not stored."""
        self._quotas.give_back(charge)

    def _quota_spent(self, key: Key) -> ProblemError:
        seconds = math.ceil(self._quotas.seconds_to_more(key))
        when = "in the next hour" if key.scope == "write" else "tomorrow (UTC)"
        return ProblemError(
            "quota_spent",
            f"This key may bring {self._quotas.most_bytes:,} bytes a day, and has brought all that "
            f"it may by now. Send the same bytes again {when}.",
            headers={"Retry-After": str(seconds + secrets.randbelow(RETRY_SPREAD_SECONDS))},
        )


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
UPLOADS: Final = "This key may send {}. Send the same bytes again later."
LOG_INTERVAL_SECONDS: Final = 60.0
"""That the counter cannot be reached is logged this often."""

COUNTER_SECONDS: Final = 1.0
"""A request waits for the counter for at most so long, each time it is asked."""

PAUSE_SECONDS: Final = 15.0
"""A counter that failed is asked again after so long, by one request. If it hangs, each that asks
would keep one of the few threads for a second or more, and others would find none."""

log = logging.getLogger("deniable_aggregator")


class RateLimiter:
    """Limits the requests of each key over a sliding window.

    While the counter cannot be reached, every request passes, and hardly any waits for it: the
    limit protects the service and must not end it.

    Args:
        rate: such as ``10000/minute``; empty for no limit.
        store: ``memory://`` or the URL of a Redis, in which several servers count together.
        sentence: what a key may do and what to do beyond it, with ``{}`` for the rate.
        monotonic: a clock in seconds.

    Attributes:
        is_remote: whether `hit` asks another machine, and so may take a while.

    Raises:
        ParameterError: if the rate or the URL has another form.
    """

    def __init__(
        self,
        rate: str,
        store: str = MEMORY,
        sentence: str = UPLOADS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_remote = bool(rate) and store != MEMORY
        self._sentence = sentence
        self._monotonic = monotonic
        self._last_logged = self._ask_again_at = -math.inf
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
        if self._limit is None or self._is_paused():
            return
        try:
            reset = self._count(self._limit, key_id)
        except Exception as error:  # noqa: BLE001  whatever the counter's driver raises
            self._ask_again_at = self._monotonic() + PAUSE_SECONDS
            self._log_failure(error)
            return
        self._ask_again_at = -math.inf
        if reset is None:
            return
        seconds = max(1, math.ceil(reset - time.time()))
        raise ProblemError(
            "rate_limited",
            self._sentence.format(self._limit),
            headers={"Retry-After": str(seconds)},
        )

    def _count(self, limit: RateLimitItem, key_id: str) -> float | None:
        """Counts a request; if it may not pass, returns when it may, in seconds since 1970."""
        if self._window.hit(limit, key_id):
            return None
        return self._window.get_window_stats(limit, key_id).reset_time

    def _is_paused(self) -> bool:
        """Whether the counter has failed of late; once the pause is over, one caller is told no."""
        if self._ask_again_at == -math.inf:
            return False
        now = self._monotonic()
        if now < self._ask_again_at:
            return True
        self._ask_again_at = now + PAUSE_SECONDS
        return False

    def _log_failure(self, error: Exception) -> None:
        now = self._monotonic()
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
    names = () if store == MEMORY else ("socket_timeout", "socket_connect_timeout")
    options = dict.fromkeys(names, COUNTER_SECONDS)
    try:
        return open_storage(store, **options)
    except Exception as error:  # noqa: BLE001  the URL may hold a password: it is not told
        raise ParameterError(
            "rate_limit_store", "memory:// or redis://HOST:PORT", type(error).__name__
        ) from None
