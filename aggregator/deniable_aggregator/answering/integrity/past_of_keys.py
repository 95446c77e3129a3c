"""The past that a key's contrast is compared with: the first four weeks in which it reported.

The period is fixed: one that slid along would follow a forger who moves a share by a point a week.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answering.rolled_slices import DaysRolledUpError, read_rolled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from deniable_aggregator.answering.slice_cache import SliceTables
    from deniable_aggregator.answering.slices import SliceTable
    from deniable_aggregator.keeping.store import Store

PAST_DAYS: Final = 28
LEAST_PAST: Final = 14
"""A key with reports of fewer days has no past."""

MOST_CELLS: Final = 1 << 24
"""Of larger tallies no past is read."""


@dataclass(frozen=True)
class PastOfKeys:
    """Days before others, for the keys that have enough of them.

    Attributes:
        keys: the ids of these keys.
        until: the last day.
        table: the slices of all keys on these days.
    """

    keys: frozenset[str]
    until: int
    table: SliceTable

    def without(self, keys: Collection[str]) -> PastOfKeys:
        """The same without some keys.

        Args:
            keys: their ids.
        """
        return replace(self, keys=self.keys - set(keys), table=self.table.without(keys))


def pasts_of(store: Store, tables: SliceTables, asked: SliceTable) -> list[PastOfKeys]:
    """The pasts of the keys of a version.

    Keys that began with the version share a period, so that few slices are read.

    Args:
        store: knows when each key began.
        tables: reads the slices.
        asked: the slices that are compared, without those of keys that are left out.
    """
    if len(asked) == 0:
        return []
    digest = asked.entry.spec.digest
    first_days = store.tallies.first_days_by_key(digest)
    # Of a key whose first weeks became one, later days are no past: it may forge on all of them.
    rolled = {
        key
        for period in read_rolled(store, digest, 0, int(asked.days[-1]))
        for key in period.summary.keys
    }
    began = {
        key: first_days[key]
        for key in asked.reports_by_key
        if key in first_days and key not in rolled
    }
    last, found = int(asked.days[-1]), []
    for since, keys in _periods(began).items():
        until = since + PAST_DAYS - 1
        if until >= last:
            continue
        try:
            table = tables.table(asked.entry, since, until)
        except DaysRolledUpError:
            continue
        table = replace(table, rolled=()).without(asked.left_out)
        if len(table) * asked.entry.tally.cells > MOST_CELLS:
            continue
        enough = frozenset(key for key, days in _days(table) if key in keys and days >= LEAST_PAST)
        if enough:
            found.append(PastOfKeys(enough, until, table))
    return found


def _periods(began: Mapping[str, int]) -> dict[int, set[str]]:
    """The keys by the first day of their past."""
    first = min(began.values(), default=0)
    found: dict[int, set[str]] = {}
    for key, day in began.items():
        since = first if day <= first + PAST_DAYS - LEAST_PAST else day
        found.setdefault(since, set()).add(key)
    return found


def _days(table: SliceTable) -> Iterator[tuple[str, int]]:
    """How many days each key has."""
    for code, days in enumerate(np.bincount(table.keys, minlength=len(table.key_ids)).tolist()):
        yield table.key_ids[code], days
