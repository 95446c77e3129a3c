"""The reports of a metric that a question is about, by version, day and key."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.dates import epoch_of
from deniable_aggregator.estimation.inputs import CollectedTallies
from deniable_aggregator.slices.rolled import DaysRolledUpError, without_keys
from deniable_aggregator.statistics.repeated_reports import reports_by_period

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.slices.cache import SliceTables
    from deniable_aggregator.slices.table import SliceTable
    from deniable_aggregator.store import Store, StoredKey
    from deniable_shared.spec import Spec


class LeftOut(NamedTuple):
    """Reports that are not counted.

    Attributes:
        epoch: their day.
        key: the id of their key.
    """

    epoch: int
    key: str
    reports: int


@dataclass(frozen=True)
class MetricReports:
    """The reports of one metric over some days.

    Attributes:
        entries: the versions of the metric.
        days: the days that were read.
        tables: what is counted, by digest; only versions with reports.
        left_out: what is not counted, because the key is excluded or was asked to be left out.
        keys: all keys of the store, by id.
        without: the ids of the keys that the question leaves out.
        mixed: how many reports of excluded keys are counted all the same, by key: they were added
            up with those of other keys before the key was excluded.
    """

    entries: Sequence[CatalogEntry]
    days: DayRange
    tables: Mapping[bytes, SliceTable]
    left_out: Sequence[LeftOut]
    keys: Mapping[str, StoredKey]
    without: frozenset[str]
    mixed: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def by_day(self) -> Mapping[bytes, Mapping[int, int]]:
        """How many reports each version has of each day."""
        return {digest: table.reports_by_day for digest, table in self.tables.items()}

    @cached_property
    def reported_days(self) -> Sequence[int]:
        """The days with reports of any version, in their order."""
        return sorted(set().union(*self.by_day.values()))

    @property
    def specs(self) -> list[Spec]:
        """The versions with reports."""
        return [entry.spec for entry in self.entries if self.by_day.get(entry.spec.digest)]

    @property
    def excluded(self) -> int:
        """How many reports are left out because an administrator has excluded their keys."""
        return sum(slice_.reports for slice_ in self.left_out if self.is_excluded(slice_.key))

    @cached_property
    def of_days(self) -> MetricReports:
        """The same reports without those of days that became one."""
        tables = {
            digest: replace(table, rolled=()) for digest, table in self.tables.items() if len(table)
        }
        return replace(self, tables=tables)

    def only(self, digests: Collection[bytes]) -> MetricReports:
        """The reports of some versions."""
        return replace(
            self,
            entries=[entry for entry in self.entries if entry.spec.digest in digests],
            tables={digest: table for digest, table in self.tables.items() if digest in digests},
        )

    def is_excluded(self, key: str) -> bool:
        """Whether an administrator has excluded a key from all answers."""
        stored = self.keys.get(key)
        return stored is not None and stored.excluded is not None


def read_reports(
    store: Store,
    tables: SliceTables,
    entries: Sequence[CatalogEntry],
    days: DayRange,
    without: frozenset[str] = frozenset(),
) -> MetricReports:
    """Reads what was counted of a metric.

    Args:
        without: ids of keys to leave out.

    Raises:
        DaysRolledUpError: if days that became one are asked about in part, or without a key whose
            reports are in them.
    """
    # Asked for anew by each question: a key may have been excluded a moment ago.
    keys = {key.id: key for key in store.keys.all()}
    left_out_keys = without | {key.id for key in keys.values() if key.excluded is not None}
    counted: dict[bytes, SliceTable] = {}
    mixed: Counter[str] = Counter()
    left_out: list[LeftOut] = []
    for entry in entries:
        table = tables.table(entry, epoch_of(days.since), epoch_of(days.until))
        left_out.extend(_left_out(table, left_out_keys))
        mixed.update(_require_apart(table, without, left_out_keys))
        table = table.without(left_out_keys)
        if not table.is_empty:
            counted[entry.spec.digest] = table
    return MetricReports(entries, days, counted, left_out, keys, without, mixed)


def _left_out(table: SliceTable, keys: frozenset[str]) -> Iterator[LeftOut]:
    codes = [code for code, key in enumerate(table.key_ids) if key in keys]
    is_left_out = np.isin(table.keys, codes)
    columns = (column[is_left_out].tolist() for column in (table.epochs, table.keys, table.reports))
    for epoch, code, reports in zip(*columns, strict=True):
        yield LeftOut(epoch, table.key_ids[code], reports)
    for period in without_keys(table.rolled, keys).gone:
        for epoch, reports in period.summary.days.items():
            yield LeftOut(epoch, period.key, reports)


def _require_apart(
    table: SliceTable, asked_out: frozenset[str], left_out: frozenset[str]
) -> Mapping[str, int]:
    """How many reports of excluded keys cannot be told apart from those of others.

    Raises:
        DaysRolledUpError: if reports of keys that the question leaves out were added to those of
            others.
    """
    if without_keys(table.rolled, asked_out).mixed:
        raise DaysRolledUpError(
            [period.days for period in table.rolled if asked_out & period.summary.keys.keys()],
            "keys",
        )
    return without_keys(table.rolled, left_out).mixed


def collect_tallies(reported: MetricReports, days: DayRange) -> CollectedTallies:
    """The tallies of a metric; versions without reports in these days are left out."""
    since, until = epoch_of(days.since), epoch_of(days.until)
    tallies, periods = [], {}
    for entry in reported.entries:
        spec = entry.spec
        if spec.digest not in reported.tables:
            continue
        table = reported.tables[spec.digest].between(since, until)
        if not table.is_empty:
            tallies.append((spec, table.total(entry.tally.cells)))
            periods[spec.digest] = reports_by_period(spec, table.reports_by_day)
    excluded = sum(
        slice_.reports
        for slice_ in reported.left_out
        if since <= slice_.epoch <= until and reported.is_excluded(slice_.key)
    )
    return CollectedTallies(tallies, periods, excluded)
