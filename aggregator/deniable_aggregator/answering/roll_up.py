"""Rolls days up: the slices of a closed week or month become one sum, once no key can be excluded.

Whatever needs the days apart is worked out before, and kept with the sum: the reports by day and by
key, what the checks of each day found, and medians. Nothing is lost or counted twice: the tallies
that were read are deleted in the transaction that writes their sum, or nothing happens.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from deniable_aggregator.answering.integrity.kept_verdicts import KeptVerdicts
from deniable_aggregator.answering.integrity.past_of_keys import keep_pasts
from deniable_aggregator.answering.rolled_slices import ChangedError, PeriodSummary, RolledSums
from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.answers.dates import calendar_period, day_of, epoch_of
from deniable_aggregator.keeping.store import ALL_KEYS, NewPeriod, RolledPeriod, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from deniable_aggregator.answering.slices import SliceTable
    from deniable_aggregator.answers.words import LongPeriod
    from deniable_aggregator.keeping.catalog import CatalogEntry, MetricCatalog


class Period(NamedTuple):
    """Some days that become one: the first and the last, in days since 1970-01-01."""

    since: int
    until: int


class RollUp:
    """Rolls up the days of a store.

    Any number of servers may do so at once: one of them does it, and the others find it done.

    Args:
        catalogue: the registered metrics.
        by: which days become one.
    """

    def __init__(self, store: Store, catalogue: MetricCatalog, by: LongPeriod) -> None:
        self._store = store
        self._catalogue = catalogue
        self._by = by

    def run(
        self, before: int, unsettled: Collection[int], stopped: Callable[[], bool] = lambda: False
    ) -> bool:
        """Rolls up all periods that ended long enough ago.

        Args:
            before: the first day that stays as it is.
            unsettled: closed days whose tallies do not have their final form; the periods that
                have one stay as they are.
            stopped: tells between two transactions whether to leave the rest to the next call.

        Returns:
            Whether nothing is left but periods with unsettled days.
        """
        finished = True
        for entry in self._catalogue.entries():
            for period in self._due(entry, before):
                if stopped():
                    return False
                if not any(period.since <= day <= period.until for day in unsettled):
                    finished &= roll_up(self._store, entry, period)
        return finished

    def _due(self, entry: CatalogEntry, before: int) -> list[Period]:
        """The periods of a version that can become one, or that have got more reports since."""
        digest = entry.spec.digest
        days = self._store.rolled.days_to_roll_up(digest, before)
        if not days:
            return []
        rolled = self._store.rolled.read(digest, 0, before)
        periods = dict.fromkeys(self._period(day, rolled, before) for day in days)
        return [period for period in periods if period is not None]

    def _period(self, day: int, rolled: Sequence[RolledPeriod], before: int) -> Period | None:
        """The period of a day; None if it has not ended long enough ago."""
        for period in rolled:
            if period.since <= day <= period.until:
                return Period(period.since, period.until)
        calendar = calendar_period(self._by, day_of(day))
        since, until = epoch_of(calendar.since), epoch_of(calendar.until)
        if until >= before:
            return None
        # Days that an earlier setting rolled up stay as they are.
        earlier = (period.until + 1 for period in rolled if period.until < day)
        later = (period.since - 1 for period in rolled if period.since > day)
        return Period(max([since, *earlier]), min([until, *later]))


def roll_up(store: Store, entry: CatalogEntry, period: Period) -> bool:
    """Rolls up one period of one version. Large counters are read one slice at a time.

    The reports of a key that is excluded now get a sum of their own, so that the key can be
    included again.

    Args:
        period: closed days.

    Returns:
        False if something was changing meanwhile; then nothing has happened.
    """
    digest = entry.spec.digest
    parts = store.rolled.parts(digest, *period)
    if not parts:
        return True
    tables = SliceTables(store, most_bytes=0)
    keep_pasts(store, tables, entry, period.since)
    table = tables.table(entry, *period)
    old = {period.key: period for period in table.rolled}
    excluded = {key.id for key in store.keys.all() if key.excluded is not None}
    days = replace(table, rolled=())
    apart = sorted(excluded.intersection(days.key_ids).union(old.keys() - {ALL_KEYS}))
    try:
        new = [_sum(ALL_KEYS, days.without(apart), old.get(ALL_KEYS))]
        for key in apart:
            of_key = days.without(set(days.key_ids) - {key})
            new.append(_sum(key, of_key, old.get(key)))
    except ChangedError:
        return False
    stored = [period.stored for period in table.rolled]
    return store.rolled.replace(
        digest, *period, parts, stored, [period for period in new if period is not None]
    )


def _sum(key: str, table: SliceTable, old: RolledSums | None) -> NewPeriod | None:
    """The sum of slices and of what became one before; None if there is neither.

    Raises:
        ChangedError: if the counters do not belong to the listed reports.
    """
    tally = table.entry.tally
    days, keys = Counter(table.reports_by_day), Counter(table.reports_by_key)
    volumes = table.volumes
    total = table.sum(tally.cells)
    verdicts = [] if old is None else list(old.summary.verdicts)
    if len(table) and key == ALL_KEYS:
        verdicts.append(msgspec.msgpack.encode(KeptVerdicts.from_table(table)))
    if old is not None:
        old.add_to(total)
        days.update(old.summary.days)
        keys.update(old.summary.keys)
        for of_key, some in old.summary.volumes.items():
            for day, (before, largest) in some.items():
                came, most = volumes.setdefault(of_key, {}).get(day, (0, 0))
                volumes[of_key][day] = came + before, max(most, largest)
    reports = days.total()
    if not reports:
        return None
    counted = total.count() if tally.is_sparse else tally.reports(total.array())
    if counted != reports:
        raise ChangedError
    summary = PeriodSummary(dict(sorted(days.items())), dict(keys), verdicts, volumes)
    return NewPeriod(key, min(days), reports, summary.encode(), total.encode(tally.cells))
