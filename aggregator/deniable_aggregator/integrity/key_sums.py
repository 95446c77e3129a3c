"""The counts of keys and those of all others on the same days, weighted day by day.

Each day counts with the weight n m / (n + m), of n reports of the key and m of the others, so that
both sides are about as many reports of the same days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.integrity.day_checks import blocks_of_days
from deniable_aggregator.kernels.row_sums import add_rows
from deniable_shared.periods import period

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.slices.table import SliceTable


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
