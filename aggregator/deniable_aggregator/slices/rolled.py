"""Days that became one: a week or month of a version whose sums were added up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from deniable_aggregator.dates import day_of
from deniable_aggregator.store import ALL_KEYS
from deniable_aggregator.store.encoding.compression import compress, decompress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from deniable_aggregator.store import RolledPeriod, Store
    from deniable_aggregator.store.encoding import CounterSum


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
        verdicts: what was found while the days were apart, as bytes; see `integrity.kept_verdicts`.
            The second and later ones are about reports that came later.
    """

    days: dict[int, int]
    keys: dict[str, int]
    verdicts: list[bytes]

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
