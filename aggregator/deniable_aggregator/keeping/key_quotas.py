"""How many bytes each key may bring by now."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.keeping.store import Intake
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.store import Store, StoredKey


HOURS: Final = 24
SECONDS_PER_HOUR: Final = SECONDS_PER_EPOCH // HOURS
DEVICE_RESERVE: Final = 0.5
"""So much of what is released is left to uploads of one report, which is what a device sends."""


class Charge(NamedTuple):
    """What an upload was counted as, so that it can be given back.

    Attributes:
        key_id: of the key that it came with.
        day: in days since 1970-01-01.
        size: what was added, in bytes.
        larger: the same, if it has several reports; else 0.
    """

    key_id: str
    day: int
    size: int
    larger: int


class _Brought:
    """What a key has brought today: all that is known, and what the store does not know yet."""

    __slots__ = ("added", "added_larger", "larger", "size")

    def __init__(self) -> None:
        self.size = self.larger = self.added = self.added_larger = 0

    def add(self, size: int, larger: int) -> None:
        self.size += size
        self.larger += larger
        self.added += size
        self.added_larger += larger


class QuotaUse(NamedTuple):
    """How much of its quota a key has used.

    Attributes:
        key: the key.
        used: what it has brought, as a part of what it may bring by now; refused from 1 on.
        used_by_larger: the same of uploads of several reports.
    """

    key: Key
    used: float
    used_by_larger: float


class KeyQuotas:
    """Bytes that each key has brought today, in all servers of a store. Thread-safe.

    Anybody can read a write key out of an application. So its day is released by the hour: whoever
    floods it takes what is released until then, and the next hour has some for all. Of that,
    uploads of several reports may take only a part, as devices send one report at a time. A batch
    key, which its owner keeps, may bring its day at once.

    An upload is counted when it is let in, so no two of them can be let in for the same bytes.
    Counts are in memory, so that no upload waits for a row that all servers write. `synchronize`
    adds them to the store every few seconds, and reads what other servers have added. So a key may
    bring somewhat more than the limit while servers do not know of each other's uploads, and a
    server that is killed forgets the last few seconds.

    Args:
        most_bytes: what a key may bring a day; 0 for no limit, and then nothing is counted.
        clock: seconds since 1970.

    Raises:
        StoreUnavailableError: if the store cannot be read.
    """

    def __init__(self, store: Store, *, most_bytes: int, clock: Callable[[], float]) -> None:
        self.most_bytes = most_bytes
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._hour = -1
        self._day = -1
        self._released = 0.0
        self._brought: defaultdict[str, _Brought] = defaultdict(_Brought)
        self._keys: dict[str, Key] = {}
        self._refused: set[str] = set()
        self._written_refused: set[str] = set()
        self.synchronize()

    def is_spent(self, key: Key) -> bool:
        """Whether a key has brought all that it may bring by now; that is noted of the day."""
        if not self.most_bytes:
            return False
        with self._lock:
            self._turn()
            return self._is_refused(key, self._brought[key.id], larger=False)

    def take(self, key: Key, *, size: int, reports: int) -> Charge | None:
        """Counts an upload that is about to be stored.

        Args:
            key: that it came with.
            size: what it will take, in bytes.
            reports: how many it has.

        Returns:
            What to give back if it is not stored; None if the key may not bring it now.
        """
        if not self.most_bytes:
            return Charge(key.id, self._day, 0, 0)
        larger = reports > 1 and key.scope == "write"
        with self._lock:
            self._turn()
            brought = self._brought[key.id]
            if self._is_refused(key, brought, larger=larger):
                return None
            charge = Charge(key.id, self._day, size, size if larger else 0)
            brought.add(size, charge.larger)
            return charge

    def give_back(self, charge: Charge) -> None:
        """Takes back what was counted of an upload that was not stored."""
        if not charge.size:
            return
        with self._lock:
            self._turn()
            if charge.day == self._day:
                self._brought[charge.key_id].add(-charge.size, -charge.larger)

    def seconds_to_more(self, key: Key) -> float:
        """How long until a key that is refused may bring more, in seconds."""
        period = SECONDS_PER_HOUR if key.scope == "write" else SECONDS_PER_EPOCH
        return period - self._clock() % period

    def uses(self) -> list[QuotaUse]:
        """How much of its quota each key has used that has asked this server today."""
        if not self.most_bytes:
            return []
        with self._lock:
            self._turn()
            return [self._use(key) for key in self._keys.values()]

    def synchronize(self) -> None:
        """Adds what was counted here to the store, and reads the sum of all servers.

        Raises:
            StoreUnavailableError: if the store cannot be written; the next call tries again.
        """
        if not self.most_bytes:
            return
        with self._lock:
            self._turn()
            day = self._day
            added = {
                key_id: Intake(brought.added, brought.added_larger)
                for key_id, brought in self._brought.items()
                if brought.added or brought.added_larger
            }
            refused = self._refused - self._written_refused
        in_store = self._store.keys.add_intake(day, added, refused)
        with self._lock:
            if day != self._day:
                return
            self._written_refused |= refused
            for key_id, intake in added.items():
                self._brought[key_id].added -= intake.size
                self._brought[key_id].added_larger -= intake.larger
            for key_id, intake in in_store.items():
                brought = self._brought[key_id]
                brought.size = intake.size + brought.added
                brought.larger = intake.larger + brought.added_larger

    def _is_refused(self, key: Key, brought: _Brought, *, larger: bool) -> bool:
        self._keys[key.id] = key
        released = self._released_to(key)
        if brought.size < released and not (
            larger and brought.larger >= released * (1 - DEVICE_RESERVE)
        ):
            return False
        self._refused.add(key.id)
        return True

    def _released_to(self, key: Key) -> float:
        return self._released if key.scope == "write" else self.most_bytes

    def _use(self, key: Key) -> QuotaUse:
        brought, released = self._brought[key.id], self._released_to(key)
        larger = brought.larger / (released * (1 - DEVICE_RESERVE))
        return QuotaUse(key, brought.size / released, larger)

    def _turn(self) -> None:
        """Begins an hour, or a day, if the last one is over."""
        now = self._clock()
        hour = int(now // SECONDS_PER_HOUR)
        if hour == self._hour:
            return
        self._hour = hour
        self._released = released_bytes(self.most_bytes, "write", now)
        if self._day != (day := epoch_at(now)):
            self._day = day
            self._brought.clear()
            self._keys = {}
            self._refused, self._written_refused = set(), set()


def released_bytes(most_bytes: int, scope: str, seconds: float) -> float:
    """What a key may have brought of its day by now.

    Args:
        most_bytes: what it may bring a day.
        scope: of the key.
        seconds: the time, since 1970.
    """
    if scope != "write":
        return float(most_bytes)
    hour = seconds % SECONDS_PER_EPOCH // SECONDS_PER_HOUR
    return most_bytes * (hour + 1) / HOURS


def brought_today(key: StoredKey, today: int) -> int:
    """What a key has brought on a day, in bytes, as far as the store knows.

    Args:
        key: as it is stored.
        today: the day, in days since 1970-01-01.
    """
    return key.intake_bytes if key.intake_day == today else 0
