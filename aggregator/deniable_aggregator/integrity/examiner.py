"""Checks a metric's reports by day and by key, and caches the results until the counts change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.statistics.checks import Check
    from deniable_aggregator.store import Store
    from deniable_aggregator.tallies import Tally
    from deniable_shared.spec import Spec

ALARM_P: Final = 1.3346e-5
"""A check fails below this: the one-sided tail beyond 4.2 standard deviations."""

FAMILY_P: Final = 1e-3
"""Honest reports make any check of a whole answer fail with this probability, at most."""

REMEMBERED_SLICES: Final = 40_000
"""The checks of this many days and keys are cached, at about 2 KiB each: a year of 100 keys."""


_Name = tuple[bytes, int, frozenset[str]]
"""The digest of a version, a day, and the keys that are left out."""


class KeyChecks(NamedTuple):
    """The checks of the reports that one key uploaded.

    Attributes:
        key: its id.
        reports: how many reports it uploaded.
        checks: the checks of these reports.
    """

    key: str
    reports: int
    checks: tuple[Check, ...]


class DayChecks(NamedTuple):
    """The checks of one spec's reports of one day.

    Attributes:
        spec: the version of the metric.
        epoch: the day, in days since 1970-01-01.
        reports: how many reports there are, without those of excluded keys.
        checks: the checks of all these reports together.
        keys: the checks of each key's reports; empty if one key uploaded all.
    """

    spec: Spec
    epoch: int
    reports: int
    checks: tuple[Check, ...]
    keys: tuple[KeyChecks, ...]

    def all_checks(self) -> Iterable[Check]:
        """Every check of the day."""
        yield from self.checks
        for each in self.keys:
            yield from each.checks

    def suspicious_keys(self, limit: float) -> list[str]:
        """The keys whose reports fail a check.

        If the day fails and no single key does, the key with the smallest p-value.

        Args:
            limit: a check fails if its p-value is below this.
        """
        least = {each.key: smallest_p(each.checks) for each in self.keys}
        failing = [key for key, p in least.items() if p < limit]
        if failing or not least or smallest_p(self.checks) >= limit:
            return failing
        return [min(least, key=least.__getitem__)]


@dataclass(frozen=True)
class Examination:
    """The checks of several days.

    Attributes:
        days: one entry for each day and version of the metric with reports, the latest first.
        days_left_out: how many of those there are that were not looked at, to bound the work.
    """

    days: tuple[DayChecks, ...]
    days_left_out: int

    @cached_property
    def checks_made(self) -> int:
        """How many checks were made."""
        return sum(check.p is not None for day in self.days for check in day.all_checks())

    @cached_property
    def limit(self) -> float:
        """The p-value below which a check fails, corrected for the number of checks."""
        return min(ALARM_P, FAMILY_P / max(self.checks_made, 1))

    @cached_property
    def failing_days(self) -> list[DayChecks]:
        """The days on which a check fails."""
        return [day for day in self.days if smallest_p(day.all_checks()) < self.limit]


class Examiner:
    """Makes checks, and caches them as long as the number of reports of each key is the same.

    Args:
        store: has the tallies.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[_Name, tuple[Mapping[str, int], DayChecks]] = OrderedDict()
        self._remembered_slices = 0

    def examine(self, reported: MetricReports, *, most_cells: int) -> Examination:
        """Checks the reports of a metric.

        Args:
            reported: which there are.
            most_cells: how many counters are read at most; older days are left out then, but at
                least one day is checked.
        """
        wanted = [
            (epoch, entry, keys)
            for entry in reported.entries
            for epoch, keys in reported.by_slice.get(entry.spec.digest, {}).items()
        ]
        wanted.sort(key=lambda each: (-each[0], each[1].spec.digest))
        days: list[DayChecks] = []
        left = most_cells
        for epoch, entry, keys in wanted:
            name = entry.spec.digest, epoch, reported.without
            day = self._remembered(name, keys)
            if day is None:
                left -= len(keys) * entry.tally.stored_cells
                if left < 0 and days:
                    break
                day = self._day(entry, epoch, reported.without)
                self._remember(name, keys, day)
            days.append(day)
        return Examination(tuple(days), len(wanted) - len(days))

    def _day(self, entry: CatalogEntry, epoch: int, without: frozenset[str]) -> DayChecks:
        tally, spec = entry.tally, entry.spec
        total, reports = np.zeros(tally.stored_cells, np.int64), 0
        keys = []
        for each in self._store.tallies.slices(
            spec.digest, tally.stored_cells, epoch, epoch, without
        ):
            if each.sum.reports > 0:
                total += each.sum.cells
                reports += each.sum.reports
                checks = _checks(tally, each.sum.cells, each.sum.reports)
                keys.append(KeyChecks(each.key, each.sum.reports, checks))
        if len(keys) == 1:  # the checks of the key are those of the day
            return DayChecks(spec, epoch, reports, keys[0].checks, ())
        checks = _checks(tally, total, reports) if reports else ()
        return DayChecks(spec, epoch, reports, checks, tuple(keys))

    def _remembered(self, name: _Name, keys: Mapping[str, int]) -> DayChecks | None:
        with self._lock:
            counted, day = self._known.get(name, ({}, None))
            if counted != keys:
                return None
            self._known.move_to_end(name)
            return day

    def _remember(self, name: _Name, keys: Mapping[str, int], day: DayChecks) -> None:
        with self._lock:
            self._forget(name)
            self._known[name] = keys, day
            self._remembered_slices += 1 + len(keys)
            while self._remembered_slices > REMEMBERED_SLICES:
                self._forget(next(iter(self._known)))

    def _forget(self, name: _Name) -> None:
        if name in self._known:
            keys, _ = self._known.pop(name)
            self._remembered_slices -= 1 + len(keys)


def _checks(tally: Tally, stored: NDArray[np.int64], reports: int) -> tuple[Check, ...]:
    """The checks of one slice."""
    checks = tally.checks(stored[None], np.array([reports]))
    return tuple(check for each in checks for check in each.each())


def smallest_p(checks: Iterable[Check]) -> float:
    """The smallest p-value; 1 if no check was made."""
    return min((check.p for check in checks if check.p is not None), default=1.0)
