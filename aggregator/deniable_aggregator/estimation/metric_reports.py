"""How many reports of a metric there are, by version, day and key: read once for each question."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from deniable_aggregator.dates import epoch_of
from deniable_aggregator.estimation.inputs import CollectedTallies
from deniable_aggregator.statistics.repeated_reports import reports_by_period

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.store import ReportsBySlice, Store, StoredKey
    from deniable_shared.spec import Spec


class LeftOut(NamedTuple):
    """Reports that are not counted.

    Attributes:
        epoch: their day.
        key: the id of their key.
        reports: how many there are.
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
        by_slice: what is counted, by digest, day and key; only days and keys with reports.
        left_out: what is not counted, because the key is excluded or was asked to be left out.
        keys: all keys of the store, by id.
        without: the ids of the keys that the question leaves out.
    """

    entries: Sequence[CatalogEntry]
    days: DayRange
    by_slice: ReportsBySlice
    left_out: Sequence[LeftOut]
    keys: Mapping[str, StoredKey]
    without: frozenset[str]

    @cached_property
    def by_day(self) -> Mapping[bytes, Mapping[int, int]]:
        """How many reports each version has of each day."""
        return {
            digest: {epoch: sum(keys.values()) for epoch, keys in days.items()}
            for digest, days in self.by_slice.items()
        }

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
        return sum(each.reports for each in self.left_out if self.is_excluded(each.key))

    def only(self, digests: Collection[bytes]) -> MetricReports:
        """The reports of some versions.

        Args:
            digests: those of the versions.
        """
        return replace(
            self,
            entries=[entry for entry in self.entries if entry.spec.digest in digests],
            by_slice={
                digest: self.by_slice[digest] for digest in self.by_slice if digest in digests
            },
        )

    def is_excluded(self, key: str) -> bool:
        """Whether an administrator has excluded a key from all answers."""
        stored = self.keys.get(key)
        return stored is not None and stored.excluded is not None


def read_reports(
    store: Store,
    entries: Sequence[CatalogEntry],
    days: DayRange,
    without: frozenset[str] = frozenset(),
) -> MetricReports:
    """Reads how many reports of a metric there are: one query, whatever the number of days.

    Args:
        store: the store.
        entries: the versions of the metric.
        days: which days.
        without: ids of keys to leave out.
    """
    keys = {key.id: key for key in store.keys.all()}
    found = store.tallies.reports_by_slice(
        [entry.spec.digest for entry in entries], epoch_of(days.since), epoch_of(days.until)
    )
    left_out_keys = without | {key.id for key in keys.values() if key.excluded is not None}
    left_out = []
    for digest, of_days in found.items():
        for epoch, of_keys in of_days.items():
            for key in left_out_keys & of_keys.keys():
                left_out.append(LeftOut(epoch, key, of_keys.pop(key)))
        found[digest] = {
            epoch: kept
            for epoch, of_keys in of_days.items()
            if (kept := {key: reports for key, reports in of_keys.items() if reports})
        }
    return MetricReports(entries, days, found, left_out, keys, without)


def collect_tallies(store: Store, reported: MetricReports, days: DayRange) -> CollectedTallies:
    """Reads the tallies of a metric; versions without reports in these days are left out.

    Args:
        store: the store.
        reported: which reports there are.
        days: some of the days of these.
    """
    since, until = epoch_of(days.since), epoch_of(days.until)
    tallies, periods = [], {}
    for entry in reported.entries:
        spec = entry.spec
        counted = reported.by_day.get(spec.digest, {})
        epochs = {epoch: reports for epoch, reports in counted.items() if since <= epoch <= until}
        if epochs:
            sum_ = store.tallies.total(
                spec.digest, entry.tally.cells, min(epochs), max(epochs), reported.without
            )
            tallies.append((spec, sum_.cells))
            periods[spec.digest] = reports_by_period(spec, epochs)
    excluded = sum(
        each.reports
        for each in reported.left_out
        if since <= each.epoch <= until and reported.is_excluded(each.key)
    )
    return CollectedTallies(tallies, periods, excluded)
