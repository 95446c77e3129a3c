"""The past that a key's contrast is compared with: the first four weeks in which it reported.

The period is fixed: one that slid along would follow a forger who moves a share by a point a week.
It stays when its days become one. Other days take its place if an administrator acknowledges how a
key differed on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.integrity.contrast_measures import compared_values
from deniable_aggregator.answering.integrity.kept_pasts import decode_past, encode_past
from deniable_aggregator.answering.rolled_slices import DaysRolledUpError, read_rolled
from deniable_aggregator.keeping.store import StoredPast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deniable_aggregator.answering.slice_cache import SliceTables
    from deniable_aggregator.answering.slices import SliceTable
    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.store import Store

PAST_DAYS: Final = 28
LEAST_PAST: Final = 14
"""A key with reports of fewer days has no past."""

NEVER: Final = 1 << 30
"""A day after all others."""

MOST_CELLS: Final = 1 << 24
"""Of larger tallies no past is read."""


class KnownPast(NamedTuple):
    """What is stored of keys.

    Attributes:
        past: as it is stored.
        entry: the version that it was seen in.
    """

    past: StoredPast
    entry: CatalogEntry


@dataclass(frozen=True)
class PastOfKeys:
    """Days before others, for the keys that have enough of them.

    Attributes:
        keys: the ids of these keys.
        until: the last day.
        table: the slices of all keys on these days, or sums of some days each.
        acknowledged: whether an administrator has acknowledged how they differ.
    """

    keys: frozenset[str]
    until: int
    table: SliceTable
    acknowledged: bool = False

    def without(self, keys: Collection[str]) -> PastOfKeys:
        """The same without some keys.

        Args:
            keys: their ids.
        """
        return replace(self, keys=self.keys - set(keys), table=self.table.without(keys))


def pasts_of(
    store: Store, tables: SliceTables, asked: SliceTable, stored: Sequence[KnownPast] = ()
) -> list[PastOfKeys]:
    """The pasts of the keys of a version.

    Keys that began with the version share a period, so that few slices are read.

    Args:
        store: knows when each key began.
        tables: reads the slices.
        asked: the slices that are compared, without those of keys that are left out.
        stored: what is known of keys of the metric.
    """
    if len(asked) == 0:
        return []
    entry = asked.entry
    first_days = store.tallies.first_days_by_key(entry.spec.digest)
    # Of a key whose first weeks became one, later days are no past: it may forge on all of them.
    rolled = _rolled_keys(store, entry.spec.digest)
    began = {
        key: first_days[key]
        for key in asked.reports_by_key
        if key in first_days and key not in rolled
    }
    found = _first_weeks(tables, entry, began, asked.left_out, int(asked.days[-1]))
    for past in known_pasts(stored, entry):
        left = past.without(asked.left_out)
        if left.keys and len(left.table):
            found.append(left)
    return found


def known_pasts(stored: Sequence[KnownPast], entry: CatalogEntry) -> Iterator[PastOfKeys]:
    """What is known of the keys of a version: the first weeks of keys, then what was acknowledged.

    What was acknowledged of another version holds as well if that has the same values.

    Args:
        stored: of all versions of the metric, what was acknowledged last at the end.
        entry: the version.
    """
    values = compared_values(entry.tally)
    own = {
        each.past.key
        for each in stored
        if each.past.digest == entry.spec.digest and each.past.acknowledged is not None
    }
    for past, origin in stored:
        acknowledged = past.acknowledged is not None
        if past.digest != entry.spec.digest and (
            not acknowledged or past.key in own or compared_values(origin.tally) != values
        ):
            continue
        keys, table = decode_past(past.body, origin)
        yield PastOfKeys(keys, past.until, table, acknowledged)


def keep_pasts(store: Store, tables: SliceTables, entry: CatalogEntry, since: int) -> None:
    """Keeps what the first weeks of keys say, before their days become one.

    Args:
        store: keeps it, and knows when each key began.
        tables: reads slices.
        entry: the version.
        since: the first of the days that become one.
    """
    digest = entry.spec.digest
    rolled = _rolled_keys(store, digest)
    excluded = frozenset(key.id for key in store.keys.all() if key.excluded is not None)
    began = {
        key: day
        for key, day in store.tallies.first_days_by_key(digest).items()
        if day >= since and key not in rolled and key not in excluded
    }
    found = _first_weeks(tables, entry, began, excluded, NEVER)
    store.key_pasts.keep(
        [
            StoredPast(digest, "", None, int(past.table.days[0]), past.until, "", body)
            for past in found
            if (body := encode_past(past.table, sorted(past.keys))) is not None
        ]
    )


def _rolled_keys(store: Store, digest: bytes) -> set[str]:
    """The keys that have reports of days that became one."""
    return {key for period in read_rolled(store, digest, 0, NEVER) for key in period.summary.keys}


def _first_weeks(
    tables: SliceTables,
    entry: CatalogEntry,
    began: Mapping[str, int],
    left_out: frozenset[str],
    before: int,
) -> list[PastOfKeys]:
    """The first weeks of some keys.

    Args:
        began: the first day of each.
        left_out: keys that are not compared with.
        before: only weeks that ended before this day.
    """
    found = []
    for since, keys in _periods(began).items():
        until = since + PAST_DAYS - 1
        if until >= before:
            continue
        try:
            table = tables.table(entry, since, until)
        except DaysRolledUpError:
            continue
        table = replace(table, rolled=()).without(left_out)
        if len(table) * entry.tally.cells > MOST_CELLS:
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
