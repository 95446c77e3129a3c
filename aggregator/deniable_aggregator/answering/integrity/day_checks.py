"""Whether the reports of each day, and of each key, look as noise makes them.

The counts of keys and those of all others on the same days, weighted day by day.

Each day counts with the weight n m / (n + m), of n reports of the key and m of the others, so that
both sides are about as many reports of the same days.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from deniable_aggregator.answering.rolled_slices import runs
from deniable_aggregator.counting.kernels import add_rows
from deniable_aggregator.counting.statistics.checks import Check, SliceChecks, join_checks
from deniable_aggregator.counting.yield_points import yield_point
from deniable_shared.periods import period

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.slices import SliceTable
    from deniable_aggregator.counting.tallies import Tally
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
        keys: the checks of each key's reports; None if one key uploaded all, or none is shown.
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

    def without_keys(self, hidden: Collection[str]) -> DayChecks:
        """The same checks without those of some keys by themselves, unless they fail.

        Args:
            hidden: their ids.
        """
        if self.keys is None:
            return self
        failing = smallest_p(self.keys.checks) < ALARM_P
        rows = failing | [key not in hidden for key in self.keys.ids]
        checks = [check.take(rows) for check in self.keys.checks]
        ids = tuple(np.array(self.keys.ids)[rows].tolist())
        least = smallest_p(self.checks)[0]
        made = sum(np.count_nonzero(~np.isnan(check.p)) for check in (*self.checks, *checks))
        keys = None
        if ids:
            keys = KeyChecks(ids, self.keys.reports[rows], checks)
            least = min(least, smallest_p(checks).min())
        return replace(self, keys=keys, checks_made=int(made), smallest_p=float(least))

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
        del chunk  # before the next one is counted
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


class KeySums(NamedTuple):
    """The counts of keys and those of all others, weighted by day; one row per key.

    Attributes:
        own: float64, (keys, cells).
        others: float64, (keys, cells).
        weight: float64, (keys,): of how many reports either may be taken to be.
        noise_of_own: float64, (keys,): which part of the noise of their difference is that of the
            key's own reports, times the weight.
    """

    own: NDArray[np.float64]
    others: NDArray[np.float64]
    weight: NDArray[np.float64]
    noise_of_own: NDArray[np.float64]


class _Weights(NamedTuple):
    """How the slices of some keys are compared with the rest of their day.

    Attributes:
        day: int64, (slices,): the number of each slice's day.
        key: int64, (slices,): the number of its key; -1 if it is not compared.
        of_own: float64, (slices,): how much one of its reports counts for its key.
        of_others: float64, (slices,): how much one report of the others on its day does.
        weight: float64, (slices,): of how many reports either side may be taken to be.
    """

    day: NDArray[np.int64]
    key: NDArray[np.int64]
    of_own: NDArray[np.float64]
    of_others: NDArray[np.float64]
    weight: NDArray[np.float64]

    def of_rows(self, rows: NDArray[np.int64]) -> _Weights:
        """Those of some of the slices."""
        reals = self.of_own[rows], self.of_others[rows], self.weight[rows]
        return _Weights(self.day[rows], self.key[rows], *reals)


def compared_sums(table: SliceTable, keys: Sequence[str]) -> KeySums:
    """The sums of some keys over all days.

    Args:
        keys: their ids.
    """
    cells = table.entry.tally.cells
    own, rest_sums = np.zeros((2, len(keys), cells))
    for part in blocks_of_days(table, cells):
        yield_point()
        weights = _weights(part, keys)
        totals = np.zeros((len(part.days), cells))
        for chunk in part.chunks(cells):
            chunk_weights = weights.of_rows(chunk.rows)
            add_rows(totals, chunk_weights.day, chunk.counters)
            rows = np.flatnonzero(chunk_weights.key >= 0)
            rows = rows[np.argsort(chunk_weights.key[rows], kind="stable")]
            counts, key = chunk.counters[rows], chunk_weights.key[rows]
            add_rows(own, key, counts * chunk_weights.of_own[rows, None])
            add_rows(rest_sums, key, counts * -chunk_weights.of_others[rows, None])
            del chunk, counts  # before the next one is counted
        # What the others counted is what all did, less the key's own.
        compared = np.flatnonzero(weights.key >= 0)
        by_day = np.zeros((len(keys), len(totals)))
        by_day[weights.key[compared], weights.day[compared]] = weights.of_others[compared]
        rest_sums += by_day @ totals
    weights = _weights(table, keys)
    rows = np.flatnonzero(weights.key >= 0)
    key, own_weight = weights.key[rows], weights.weight[rows]
    weight, noise = (
        np.bincount(key, column, len(keys)).astype(np.float64)
        for column in (own_weight, own_weight * weights.of_own[rows])
    )
    if table.entry.spec.mechanism.epsilon_permanent is None or not rows.size:
        return KeySums(own, rest_sums, weight, noise)
    # Reports of a device share their permanent noise: together they tell no more than those of one
    # period, if the same devices reported in all of them.
    periods = [period(table.entry.spec.every, epoch) for epoch in table.days.tolist()]
    period_names, number = np.unique(periods, return_inverse=True)
    place = number[weights.day[rows]] * len(keys) + key
    by_period = np.bincount(place, own_weight, period_names.size * len(keys))
    largest = by_period.reshape(period_names.size, len(keys)).max(axis=0)
    fraction = largest / np.maximum(weight, 1.0)
    return KeySums(
        own * fraction[:, None], rest_sums * fraction[:, None], largest, noise * fraction
    )


def compared_days(table: SliceTable, key: str) -> Iterator[tuple[int, KeySums]]:
    """The sums of one key day by day, of the days on which it can be compared."""
    cells = table.entry.tally.cells
    for part in blocks_of_days(table, cells):
        weights = _weights(part, [key])
        totals, own = np.zeros((2, len(part.days), cells))
        for chunk in part.chunks(cells):
            days, mine = weights.day[chunk.rows], weights.key[chunk.rows] == 0
            add_rows(totals, days, chunk.counters)
            own[days[mine]] = chunk.counters[mine]
            del chunk
        for row in np.flatnonzero(weights.key == 0).tolist():
            day, weight = weights.day[row], weights.weight[row : row + 1]
            of_own, of_others = weights.of_own[row], weights.of_others[row]
            yield (
                int(part.days[day]),
                KeySums(
                    own=own[day, None] * of_own,
                    others=(totals[day] - own[day])[None] * of_others,
                    weight=weight,
                    noise_of_own=weight * of_own,
                ),
            )


def _weights(table: SliceTable, keys: Sequence[str]) -> _Weights:
    number_of = {key: number for number, key in enumerate(keys)}
    numbers = np.array([number_of.get(key, -1) for key in table.key_ids], np.int64)
    lengths = np.diff(table.starts, append=len(table))
    day = np.repeat(np.arange(lengths.size), lengths)
    own = table.reports.astype(np.float64)
    all_ = np.bincount(day, own, lengths.size)[day]
    rest_weight = all_ - own
    compared = (own > 0) & (rest_weight > 0)
    key = np.where(compared, numbers[table.keys], -1)
    # With the weight own * others / all, a report of either side counts this much.
    return _Weights(day, key, rest_weight / all_, own / all_, own * rest_weight / all_)
