"""Which key a token is."""

from __future__ import annotations

import hmac
import threading
import time
from typing import TYPE_CHECKING, Final

from deniable_aggregator.keeping.keys import (
    TOKEN_PATTERN,
    ExpiredKeyError,
    Key,
    KnownNames,
    hash_token,
)
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.keeping.store import Store, StoredKey


CACHE_SECONDS: Final = 2.0
"""A verified key is cached for this long, so a revocation takes effect within two seconds."""

CACHED_KEYS: Final = 1_000


class KeyVerifier:
    """Verifies tokens, with a cache of keys.

    Args:
        store: holds the hashes of tokens.
        monotonic: a clock in seconds.
        clock: seconds since 1970; only its day is used.
    """

    def __init__(
        self,
        store: Store,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._monotonic = monotonic
        self._clock = clock
        # Verified keys by hash, so that no token stays in memory. Looking one up compares hashes of
        # presented tokens, so its timing reveals nothing about a valid one.
        self._valid: dict[bytes, tuple[Key, float]] = {}
        self._stored: dict[str, tuple[StoredKey, float]] = {}
        self._ids = KnownNames(lambda: store.keys.ids(), monotonic)
        self._lock = threading.Lock()
        self._used: dict[str, int] = {}

    def cached(self, token: str) -> Key | None:
        """The key of a token that was verified within two seconds; never asks the store."""
        entry = self._valid.get(hash_token(token))
        return entry[0] if entry is not None and self._monotonic() < entry[1] else None

    def is_surely_unknown(self, token: str) -> bool:
        """Whether no key has this token, as far as that is known; never asks the store."""
        form = TOKEN_PATTERN.fullmatch(token)
        if form is None:
            return True
        return self._ids.surely_lacks(form[2])

    def verify(self, token: str) -> Key | None:
        """The key of a token, or None if there is no such key or it was revoked.

        Raises:
            ExpiredKeyError: if the key has expired.
            StoreUnavailableError: if the key is not cached and the store cannot be read.
        """
        presented = hash_token(token)
        now = self._monotonic()
        cached = self._valid.get(presented)
        if cached is not None and now < cached[1]:
            return cached[0]
        form = TOKEN_PATTERN.fullmatch(token)
        candidate = None if form is None else self._find_stored(form[2], now)
        if candidate is None or not hmac.compare_digest(candidate[0].hash, presented):
            return None
        stored, until = candidate
        self._valid.pop(presented, None)
        key = self._use(stored)
        if key is None:
            return None
        if len(self._valid) >= CACHED_KEYS:
            self._valid.clear()
        self._valid[presented] = (key, until)
        return key

    def find(self, key_id: str) -> Key | None:
        """The key with an id, as it was at most two seconds ago; None if it is not valid any more.

        Raises:
            StoreUnavailableError: if the key is not cached and the store cannot be read.
        """
        cached = self._find_stored(key_id, self._monotonic())
        try:
            return None if cached is None else self._use(cached[0])
        except ExpiredKeyError:
            return None

    def _use(self, stored: StoredKey) -> Key | None:
        """What a key allows, None if it was revoked; its use is remembered.

        Raises:
            ExpiredKeyError: if it has expired.
        """
        if stored.revoked is not None:
            return None
        today = epoch_at(self._clock())
        if stored.expires is not None and stored.expires < today:
            raise ExpiredKeyError(stored.expires)
        if stored.last_used is None or stored.last_used < today:
            with self._lock:
                self._used[stored.id] = today
        return Key(stored.id, stored.scope, stored.application)

    def _find_stored(self, key_id: str, now: float) -> tuple[StoredKey, float] | None:
        """A key as it was at most two seconds ago, and when it must be read again."""
        cached = self._stored.get(key_id)
        if cached is not None and now < cached[1]:
            return cached
        stored = self._store.keys.find(key_id) if self._ids.has(key_id) else None
        if stored is None:
            return None
        if len(self._stored) >= CACHED_KEYS:
            self._stored.clear()
        self._stored[key_id] = stored, now + CACHE_SECONDS
        return stored, now + CACHE_SECONDS

    def write_last_used(self) -> None:
        """Writes the day of last use of each key to the store, once a day for each key.

        `verify` only remembers it, so that no request waits for a write.

        Raises:
            StoreUnavailableError: if the store cannot be written; the next call tries again.
        """
        with self._lock:
            used = dict(self._used)
        for today in set(used.values()):
            ids = [key_id for key_id, when in used.items() if when == today]
            self._store.keys.mark_used(ids, today)
        with self._lock:
            for key_id, when in used.items():
                if self._used.get(key_id) == when:
                    del self._used[key_id]
