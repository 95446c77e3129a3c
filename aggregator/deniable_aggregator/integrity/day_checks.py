"""The checks of whole days and of what each key brought on them, made of many days at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from deniable_aggregator.kernels.row_sums import add_rows
from deniable_aggregator.slices.reading import runs
from deniable_aggregator.statistics.checks import join_checks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.slices.table import SliceTable
    from deniable_aggregator.statistics.checks import Check, SliceChecks
    from deniable_aggregator.tallies import Tally
    from deniable_shared.spec import Spec


ALARM_P: Final = 1.3346e-5
"""A check fails below this: the one-sided tail beyond 4.2 standard deviations."""


MOST_SUMS: Final = 1 << 20
"""So many counters are held for sums by day; a single day may have more."""


class KeyChecks(NamedTuple):
    """The checks of what keys uploaded on one day, each by itself.

    Attributes:
        reports: int64, (keys,): how many reports each uploaded.
        checks: of these reports: one entry per check, each of all keys.
    """

    ids: tuple[str, ...]
    reports: NDArray[np.int64]
    checks: Sequence[SliceChecks]


@dataclass(frozen=True, eq=False)
class DayChecks:
    """The checks of one spec's reports of one day.

    Attributes:
        spec: the version of the metric.
        epoch: the day, in days since 1970-01-01.
        reports: how many reports there are, without those of excluded keys.
        checks: the checks of all these reports together: each of one slice.
        keys: the checks of each key's reports; None if one key uploaded all.
        smallest_p: the smallest p-value of any of them; 1 if none could be made.
    """

    spec: Spec
    epoch: int
    reports: int
    checks: Sequence[SliceChecks]
    keys: KeyChecks | None
    checks_made: int
    smallest_p: float

    @property
    def slices(self) -> int:
        """Of how many sets of reports these are the checks."""
        return 1 + (0 if self.keys is None else len(self.keys.ids))

    def joint_checks(self) -> list[Check]:
        """The checks of all reports together."""
        return [check for column in self.checks for check in column.as_checks()]

    def suspicious_keys(self, limit: float) -> list[str]:
        """The keys whose reports fail a check.

        If the day fails and no single key does, the key with the smallest p-value.

        Args:
            limit: a check fails if its p-value is below this.
        """
        if self.keys is None:
            return []
        least = smallest_p(self.keys.checks)
        failing = np.flatnonzero(least < limit)
        if not failing.size and smallest_p(self.checks)[0] < limit:
            failing = np.array([least.argmin()])
        return [self.keys.ids[place] for place in failing.tolist()]


def check_days(table: SliceTable, epochs: Sequence[int]) -> Iterator[DayChecks]:
    """Checks the reports of some days.

    Args:
        epochs: which of them, ascending.
    """
    for first, last in runs(epochs):
        for block in blocks_of_days(table.between(first, last), table.entry.tally.stored_cells):
            yield from _check(block)


def blocks_of_days(table: SliceTable, cells: int) -> Iterator[SliceTable]:
    """The table in blocks of whole days, so few that sums by day take little memory.

    Args:
        cells: how many counters are added up.
    """
    block: list[int] = []
    size = 0
    for day in table.days.tolist():
        # Sums of a sparse tally take no more than there are reports.
        counts = min(cells, table.reports_by_day[day]) if table.entry.tally.is_sparse else cells
        if block and size + counts > MOST_SUMS:
            yield table.between(block[0], block[-1])
            block, size = [], 0
        block.append(day)
        size += counts
    if block:
        yield table.between(block[0], block[-1])


def _check(table: SliceTable) -> Iterator[DayChecks]:
    """Checks all days of a table."""
    tally, spec = table.entry.tally, table.entry.spec
    lengths = np.diff(table.starts, append=len(table))
    day_of_row = np.repeat(np.arange(lengths.size), lengths)
    totals = _SumsByDay(tally, lengths.size)
    checked, rows, counted = [], [], []
    for chunk in table.chunks(tally.stored_cells):
        checked.append(tally.checks(chunk.counters, chunk.reports))
        totals.add(day_of_row[chunk.rows], chunk.counters)
        rows.append(chunk.rows)
        counted.append(chunk.reports)
    if not rows:  # all were deleted a moment ago
        return
    row, reports = np.concatenate(rows), np.concatenate(counted)
    days = day_of_row[row]
    starts = np.flatnonzero(np.diff(days, prepend=-1))
    lengths = np.diff(starts, append=row.size)
    of_day = np.add.reduceat(reports, starts)
    several = np.flatnonzero(lengths > 1)
    places = starts.copy()  # of one key, its checks are those of the day
    places[several] = row.size + np.arange(several.size)
    if several.size:
        checked.append(tally.checks(totals.of_days(days[starts[several]]), of_day[several]))
    joined = join_checks(checked)
    least, made_checks = (
        smallest_p(joined),
        np.sum([~np.isnan(check.p) for check in joined], axis=0),
    )
    ids = [table.key_ids[code] for code in table.keys[row].tolist()]
    columns = starts, lengths, places, of_day, table.epochs[row[starts]]
    for start, length, place, count, epoch in zip(*(c.tolist() for c in columns), strict=True):
        of_keys = slice(start, start + length)
        keys, all_least, all_made = None, least[place], made_checks[place]
        if length > 1:
            checks = [check.take(of_keys) for check in joined]
            keys = KeyChecks(tuple(ids[of_keys]), reports[of_keys], checks)
            all_least = min(all_least, least[of_keys].min())
            all_made += made_checks[of_keys].sum()
        own = [check.take(slice(place, place + 1)) for check in joined]
        yield DayChecks(spec, epoch, count, own, keys, int(all_made), float(all_least))


class _SumsByDay:
    """The counters of all slices of each day."""

    def __init__(self, tally: Tally, days: int) -> None:
        self._shape = days, tally.stored_cells
        self._array = None if tally.is_sparse else np.zeros(self._shape, np.int64)
        self._found: list[tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]] = []

    def add(self, day: NDArray[np.int64], counters: Any) -> None:
        """Adds the counters of some slices.

        Args:
            day: int64, (slices,): the day of each, ascending.
            counters: int64, (slices, cells): an array, and of a sparse tally a sparse one.
        """
        if self._array is None:
            day_of_count = np.repeat(day, np.diff(counters.indptr))
            self._found.append((day_of_count, counters.indices, counters.data))
        else:
            add_rows(self._array, day, counters)

    def of_days(self, days: NDArray[np.int64]) -> Any:
        """The counters of some days: int64, (days, cells), sparse if the tally is."""
        if self._array is not None:
            return self._array[days]
        day, places, counts = (np.concatenate(column) for column in zip(*self._found, strict=True))
        return csr_array((counts, (day, places)), self._shape)[days]


def smallest_p(checks: Sequence[SliceChecks]) -> NDArray[np.float64]:
    """The smallest p-value of each slice; 1 if no check was made of it.

    Args:
        checks: of the same slices.

    Returns:
        float64, (slices,).
    """
    p = np.array([check.p for check in checks])
    return np.asarray(np.fmin.reduce(p, axis=0, initial=1.0))
