"""Slices read from a store into columns, and days that became one."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.counting.yield_points import yield_point
from deniable_aggregator.keeping.store import (
    ALL_KEYS,
    RolledPeriod,
    Store,
    StoredSlice,
    count_slice,
)
from deniable_aggregator.keeping.store.counters import compress, decompress
from deniable_aggregator.keeping.store.encoding import CounterSum, decode_many

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.counting.tallies import Tally
    from deniable_aggregator.keeping.catalog import CatalogEntry


MOST_TABLE_BYTES: Final = 64 << 20
"""The counters of a version stay in memory up to this size; larger ones are read slice by slice."""

DECODED_BYTES: Final = 8 << 20
"""Slices are decoded so many bytes of counters at a time."""

_NARROW: Final = np.iinfo(np.int32).max


class Columns(NamedTuple):
    """Slices, in no order.

    Attributes:
        epochs: the day of each slice.
        keys: the id of its key.
        largest: the most reports of each that one upload brought; 0 if that is not known.
        counters: int32 or int64, (slices, stored cells); None if they are not in memory.
    """

    epochs: list[int]
    keys: list[str]
    reports: list[int]
    largest: list[int]
    counters: NDArray[np.int32] | NDArray[np.int64] | None


def read_columns(
    store: Store, entry: CatalogEntry, days: Iterable[int], *, with_counters: bool
) -> Columns:
    """Reads the slices of some days, those of excluded keys, too."""
    tally = entry.tally
    if not with_counters:
        return _without_counters(store, entry, days)
    columns = Columns([], [], [], [], None)
    counters: list[NDArray[Any]] = [np.zeros((0, tally.stored_cells), np.int32)]
    at_a_time = max(1, DECODED_BYTES // (8 * tally.stored_cells))
    for since, until in runs(sorted(days)):
        slices = store.tallies.read(tally, since, until)
        while chunk := list(itertools.islice(slices, at_a_time)):
            yield_point()
            epochs, keys, reports, _, _, largest = zip(*chunk, strict=True)
            columns.epochs.extend(epochs)
            columns.keys.extend(keys)
            columns.reports.extend(reports)
            columns.largest.extend(largest)
            counters.append(_narrow(_count(tally, chunk)))
    return columns._replace(counters=np.concatenate(counters))


def _without_counters(store: Store, entry: CatalogEntry, days: Iterable[int]) -> Columns:
    columns = Columns([], [], [], [], None)
    for since, until in runs(sorted(days)):
        volumes = store.tallies.volumes([entry.tally], since, until)
        for epoch, keys in volumes.get(entry.spec.digest, {}).items():
            for key, volume in keys.items():
                columns.epochs.append(epoch)
                columns.keys.append(key)
                columns.reports.append(volume.reports)
                columns.largest.append(volume.largest)
    return columns


def _count(tally: Tally, slices: Sequence[StoredSlice]) -> NDArray[np.int64]:
    """The counters of slices: int64, (slices, stored cells)."""
    # Nearly all slices are one part, and all of these are decoded at once.
    one_part = [len(counters) == 1 and not packed for _, _, _, packed, counters, _ in slices]
    whole = np.flatnonzero(one_part)
    bodies = [slices[place].counters[0] for place in whole.tolist()]
    counters = np.zeros((len(slices), tally.stored_cells), np.int64)
    counters[whole] = decode_many(bodies, tally.stored_cells)
    for place in np.flatnonzero(~np.array(one_part)).tolist():
        counters[place] = count_slice(tally, slices[place])
    return counters


def _narrow(counters: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Counters in 4 bytes each, where they fit."""
    fits = counters.min(initial=0) >= -_NARROW and counters.max(initial=0) <= _NARROW
    return counters.astype(np.int32) if fits else counters


if TYPE_CHECKING:
    ReadSlices = Callable[[int, int], Iterator[StoredSlice]]
    """Reads the slices from one day to another, those of all keys, by day."""


class ReadAhead:
    """Reads the slices of some days, and holds those of the days after them.

    Args:
        read: reads them.
        runs: the first and last day of each run of days that fits into memory, ascending.
    """

    def __init__(self, read: ReadSlices, runs: Sequence[tuple[int, int]]) -> None:
        self._read, self._runs = read, runs
        self._held: tuple[int, int] | None = None
        self._by_day: dict[int, list[StoredSlice]] = {}

    def __call__(self, since: int, until: int) -> Iterator[StoredSlice]:
        """Reads the slices from one day to another, by day."""
        within = (run for run in self._runs if run[0] <= since and until <= run[1])
        run = next(within, None)
        if run is None:
            yield from self._read(since, until)
            return
        if run != self._held:
            self._held, self._by_day = run, {}
            for part in self._read(*run):
                self._by_day.setdefault(part.epoch, []).append(part)
        for day in range(since, until + 1):
            yield from self._by_day.get(day, ())


def runs(days: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last day of each run of days in a row.

    Args:
        days: ascending.
    """
    start = 0
    for place in range(1, len(days) + 1):
        if place == len(days) or days[place] != days[place - 1] + 1:
            yield days[start], days[place - 1]
            start = place


class DaysRolledUpError(Exception):
    """A question is about a part of what is kept as one only.

    Args:
        periods: the first and last day of each period that it is about in part.
        why: what it asks apart: days or keys.
    """

    def __init__(self, periods: Collection[tuple[int, int]], why: str = "days") -> None:
        super().__init__(periods)
        self.periods = [(day_of(first), day_of(last)) for first, last in sorted(set(periods))]
        self.why = why


class ChangedError(Exception):
    """Days became one while they were read: what was read must be read again."""


class PeriodSummary(msgspec.Struct, array_like=True):
    """What is known by day and key of days that became one.

    Attributes:
        days: how many reports there are by day.
        keys: how many each key brought.
        verdicts: what was found while the days were apart, as bytes of `KeptVerdicts`.
            The second and later ones are about reports that came later.
        volumes: by key and day, how many reports there are, and the most of them that one upload
            brought; 0 if that is not known.
    """

    days: dict[int, int]
    keys: dict[str, int]
    verdicts: list[bytes]
    volumes: dict[str, dict[int, tuple[int, int]]] = {}

    def encode(self) -> bytes:
        """The same as bytes."""
        return compress(msgspec.msgpack.encode(self))

    @classmethod
    def decode(cls, encoded: bytes) -> PeriodSummary:
        """What is known, from bytes.

        Raises:
            ValueError: if they are damaged.
        """
        return msgspec.msgpack.decode(decompress(encoded), type=cls)


@dataclass(frozen=True)
class RolledSums:
    """The reports of some days that became one: of all keys together, or of an excluded one.

    Attributes:
        summary: what is known by day and key.
        read_counters: reads its counters; None if they have changed.
    """

    stored: RolledPeriod
    summary: PeriodSummary
    read_counters: Callable[[int], bytes | None]

    @property
    def days(self) -> tuple[int, int]:
        """The first and the last day of the period."""
        return self.stored.since, self.stored.until

    @property
    def key(self) -> str:
        """The id of the key that was excluded when the days became one, or `ALL_KEYS`."""
        return self.stored.key

    def is_within(self, since: int, until: int) -> bool:
        """Whether all of its reports are of some days; False if none is.

        Raises:
            DaysRolledUpError: if some are.
        """
        inside = [since <= day <= until for day in self.summary.days]
        if all(inside):
            return True
        if any(inside):
            raise DaysRolledUpError([self.days])
        return False

    def add_to(self, total: CounterSum) -> None:
        """Adds the counters of its reports to a sum.

        Raises:
            ChangedError: if they have changed since they were listed.
        """
        body = self.read_counters(self.stored.id)
        if body is None:
            raise ChangedError
        total.add_part(body)


def read_rolled(store: Store, digest: bytes, since: int, until: int) -> tuple[RolledSums, ...]:
    """What is kept as one of a version, of periods that have any of some days.

    Args:
        until: the last, inclusive.
    """
    return tuple(
        RolledSums(period, PeriodSummary.decode(period.summary), store.rolled.counters)
        for period in store.rolled.read(digest, since, until)
    )


def add_days(reports: Mapping[int, int], rolled: Sequence[RolledSums]) -> dict[int, int]:
    """Numbers of reports by day, with those of days that became one, ascending."""
    sums = Counter(reports)
    for period in rolled:
        sums.update(period.summary.days)
    return dict(sorted(sums.items()))


class Kept(NamedTuple):
    """What is left of periods without some keys.

    Attributes:
        periods: those that are left.
        gone: those of the keys.
        mixed: how many reports of each of the keys are in those that are left.
    """

    periods: tuple[RolledSums, ...]
    gone: tuple[RolledSums, ...]
    mixed: Mapping[str, int]


def without_keys(rolled: Sequence[RolledSums], keys: Collection[str]) -> Kept:
    """Leaves out the periods of some keys; what was added up stays together.

    Args:
        keys: ids.
    """
    mixed: Counter[str] = Counter()
    for period in rolled:
        if period.key == ALL_KEYS:
            mixed.update(
                {key: period.summary.keys[key] for key in period.summary.keys if key in keys}
            )
    remaining = tuple(period for period in rolled if period.key not in keys)
    return Kept(remaining, tuple(period for period in rolled if period.key in keys), mixed)
