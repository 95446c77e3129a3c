"""Checks a metric's reports by day and by key, and caches the results until the counts change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.integrity.day_checks import ALARM_P, DayChecks, check_days
from deniable_aggregator.answering.integrity.kept_verdicts import KeptDay, KeptVerdicts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.slices import SliceTable

FAMILY_P: Final = 1e-3
"""Honest reports make any check of a whole answer fail with this probability, at most."""

REMEMBERED_SLICES: Final = 400_000
"""The checks of this many days and keys are cached, at about 150 bytes each: those of ten metrics
with a year of 100 keys."""

_Name = tuple[bytes, int, frozenset[str]]
"""The digest of a version, a day, and the keys that are left out."""


@dataclass(frozen=True)
class Examination:
    """The checks of several days.

    Attributes:
        days: one entry for each day and version of the metric with reports, the latest first.
        days_left_out: how many of those there are that were not looked at, to bound the work.
    """

    days: tuple[DayChecks | KeptDay, ...]
    days_left_out: int

    @cached_property
    def checks_made(self) -> int:
        """How many checks were made."""
        return sum(day.checks_made for day in self.days)

    @cached_property
    def limit(self) -> float:
        """The p-value below which a check fails, corrected for the number of checks."""
        return min(ALARM_P, FAMILY_P / max(self.checks_made, 1))

    @cached_property
    def failing_days(self) -> list[DayChecks | KeptDay]:
        """The days on which a check fails."""
        return [day for day in self.days if day.smallest_p < self.limit]


class Examiner:
    """Makes checks, and caches those of each day until something of the day changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[_Name, tuple[Hashable, DayChecks]] = OrderedDict()
        self._remembered_slices = 0

    def examine(
        self,
        reported: MetricReports,
        *,
        most_cells: int,
        kept: Mapping[bytes, Sequence[KeptVerdicts]] | None = None,
    ) -> Examination:
        """Checks the reports of a metric.

        Args:
            most_cells: how many counters are read at most; older days are left out then, but at
                least one day is checked.
            kept: what was found of days whose slices are no longer stored, by digest.
        """
        candidates = [
            (epoch, digest, len_of_day)
            for digest, table in reported.tables.items()
            for epoch, len_of_day in zip(*_lengths(table), strict=True)
        ]
        candidates.sort(key=lambda candidate: (-candidate[0], candidate[1]))
        checks_of_day: dict[tuple[bytes, int], DayChecks] = {}
        missing: dict[bytes, list[int]] = {}
        checked, cells_left = 0, most_cells
        for epoch, digest, slices in candidates:
            table = reported.tables[digest]
            day = self._recall(table, epoch)
            if day is not None:
                checks_of_day[digest, epoch] = day
            else:
                cells_left -= _counters_read(table, epoch, slices)
                if cells_left < 0 and checked:
                    break
                missing.setdefault(digest, []).append(epoch)
            checked += 1
        for digest, epochs in missing.items():
            table = reported.tables[digest]
            for day in check_days(table, sorted(epochs)):
                checks_of_day[digest, day.epoch] = day
                self._remember(table, day)
        for (digest, epoch), day in checks_of_day.items():
            hidden = reported.tables[digest].hidden_keys(epoch)
            if hidden:
                checks_of_day[digest, epoch] = day.without_keys(hidden)
        names = ((digest, epoch) for epoch, digest, _ in candidates[:checked])
        # A day whose reports were deleted since they were listed has no checks.
        days = [checks_of_day[name] for name in names if name in checks_of_day]
        return Examination((*days, *_kept_days(reported, kept or {})), len(candidates) - checked)

    def _recall(self, table: SliceTable, epoch: int) -> DayChecks | None:
        name = _name(table, epoch)
        with self._lock:
            stamp, day = self._known.get(name, (None, None))
            if stamp != table.stamps[epoch]:
                return None
            self._known.move_to_end(name)
            return day

    def _remember(self, table: SliceTable, day: DayChecks) -> None:
        name = _name(table, day.epoch)
        with self._lock:
            self._forget(name)
            self._known[name] = table.stamps[day.epoch], day
            self._remembered_slices += day.slices
            while self._remembered_slices > REMEMBERED_SLICES:
                self._forget(next(iter(self._known)))

    def _forget(self, name: _Name) -> None:
        if name in self._known:
            self._remembered_slices -= self._known.pop(name)[1].slices


def _name(table: SliceTable, epoch: int) -> _Name:
    return table.entry.spec.digest, epoch, table.left_out_on(epoch)


def _kept_days(
    reported: MetricReports, kept: Mapping[bytes, Sequence[KeptVerdicts]]
) -> list[KeptDay]:
    days = [
        KeptDay(entry.spec, verdict)
        for entry in reported.entries
        for verdicts in kept.get(entry.spec.digest, ())
        for verdict in verdicts.days
    ]
    return sorted(days, key=lambda day: (-day.epoch, day.spec.digest))


def _counters_read(table: SliceTable, epoch: int, slices: int) -> int:
    """How many counters are read for the checks of a day; of a sparse tally, those that count."""
    cells = slices * table.entry.tally.stored_cells
    return min(cells, table.reports_by_day[epoch]) if table.entry.tally.is_sparse else cells


def _lengths(table: SliceTable) -> Iterator[Sequence[int]]:
    """The days of a table, and how many slices each has."""
    yield table.days.tolist()
    ends = [*table.starts.tolist()[1:], len(table)]
    yield [end - start for start, end in zip(table.starts.tolist(), ends, strict=True)]
