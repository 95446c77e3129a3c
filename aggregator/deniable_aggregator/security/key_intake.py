"""How many bytes each write key has brought today: what a key that anybody can read may store."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.store import Store


class KeyIntake:
    """Bytes that each key has brought today, in all servers of a store. Thread-safe.

    They are counted in memory, so that no upload waits for a row that all servers write.
    `synchronize` adds them to the store every few seconds, and reads what other servers have added.
    So a key may bring somewhat more than the limit while servers do not know of each other's
    uploads, and a server that is killed forgets the last few seconds.

    Args:
        most_bytes: what a key may bring a day; 0 for no limit, and then nothing is counted.
        clock: seconds since 1970; only its day is used.

    Raises:
        StoreUnavailableError: if the store cannot be read.
    """

    def __init__(self, store: Store, *, most_bytes: int, clock: Callable[[], float]) -> None:
        self.most_bytes = most_bytes
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._day = epoch_at(clock())
        self._in_store: Mapping[str, int] = {}
        self._added_here: Counter[str] = Counter()
        self.synchronize()

    def is_spent(self, key_id: str) -> bool:
        """Whether a key has brought all that it may bring today."""
        if not self.most_bytes:
            return False
        with self._lock:
            self._begin_day()
            brought = self._in_store.get(key_id, 0) + self._added_here[key_id]
        return brought >= self.most_bytes

    def add(self, key_id: str, size: int) -> None:
        """Counts an upload that was stored.

        Args:
            key_id: of the key that it came with.
            size: what it takes, in bytes.
        """
        if self.most_bytes:
            with self._lock:
                self._begin_day()
                self._added_here[key_id] += size

    def synchronize(self) -> None:
        """Adds what was counted here to the store, and reads the sum of all servers.

        Raises:
            StoreUnavailableError: if the store cannot be written; the next call tries again.
        """
        if not self.most_bytes:
            return
        with self._lock:
            self._begin_day()
            day, added = self._day, +self._added_here
        in_store = self._store.keys.add_intake(day, added)
        with self._lock:
            if day == self._day:
                self._in_store = in_store
                self._added_here -= added

    def _begin_day(self) -> None:
        today = epoch_at(self._clock())
        if today != self._day:
            self._day, self._in_store, self._added_here = today, {}, Counter()
