"""Whether one key's devices answer differently from those of all other keys.

A forger with a key of its own can draw reports exactly as devices do, so that no check of the noise
sees it. What it cannot hide is that its key answers unlike the others. Keys of different platforms
may differ as well: a contrast is a reason to look, and no proof.

A key is compared with the other keys on the same days and the same version of the metric. Each day
counts with the weight n m / (n + m), of n reports of the key and m of the others, as in the test of
Cochran, Mantel and Haenszel: a change over time, or another mix of weekdays, is no contrast.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.dates import epoch_of
from deniable_aggregator.integrity.contrast_measures import LEAST_WEIGHT, measure_contrast
from deniable_shared.periods import period

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.catalog import CatalogEntry
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.integrity.contrast_measures import Contrast
    from deniable_aggregator.store import Store
    from deniable_aggregator.tallies import Tally
    from deniable_shared.spec import Spec

LEAST_CONTRAST: Final = 0.2
"""Keys that differ by less than 20 percentage points, or a fifth of a number's range, are even:
platforms differ."""

LEAST_MOVED: Final = 0.01
"""So are keys that move no share by more than a percentage point."""

FAMILY_P: Final = 1e-3
"""Keys that are even make any key of an answer uneven with this probability, at most."""

MOST_CELLS: Final = 1 << 24
"""At most so many counters of one version are read; the earlier days are left out then."""

MOST_UNEVEN: Final = 5
REMEMBERED: Final = 512


class KeyContrast(NamedTuple):
    """One key against all others.

    Attributes:
        spec: the version of the metric.
        key: the id of the key.
        reports: how many of the version's reports it brought.
        share: which part of all of the metric's reports these are.
        contrast: where it differs most.
        uneven: whether that is more than platforms may differ.
        epochs: of an uneven key, the days on which this is seen on the day alone.
    """

    spec: Spec
    key: str
    reports: int
    share: float
    contrast: Contrast
    uneven: bool
    epochs: tuple[int, ...] = ()


@dataclass
class _Sums:
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


class KeyComparison:
    """Compares keys, and caches the results until the counts change.

    Args:
        store: has the tallies.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[int, tuple[KeyContrast, ...]] = OrderedDict()

    def compare(self, reported: MetricReports) -> tuple[KeyContrast, ...]:
        """Every key that matters against the others, the most different first.

        Keys are found uneven one after the other, each against those that are left: a large key
        of a forger does not make the honest ones look uneven.

        Args:
            reported: the reports of a metric.
        """
        name = _fingerprint(reported)
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
                return self._known[name]
        total = sum(sum(days.values()) for days in reported.by_day.values())
        found = [
            each for entry in reported.entries for each in self._of_version(reported, entry, total)
        ]
        found.sort(key=lambda each: (not each.uneven, -each.contrast.least))
        with self._lock:
            self._known[name] = tuple(found)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return tuple(found)

    def _of_version(
        self, reported: MetricReports, entry: CatalogEntry, total: int
    ) -> Iterator[KeyContrast]:
        reports: dict[str, int] = {}
        for of_keys in reported.by_slice.get(entry.spec.digest, {}).values():
            for key, count in of_keys.items():
                reports[key] = reports.get(key, 0) + count
        # What brought less can move nothing by as much as matters.
        keys = [key for key, count in reports.items() if count >= LEAST_MOVED * total]
        removed: set[str] = set()
        while len(reports) - len(removed) > 1 and len(removed) <= MOST_UNEVEN:
            left = [key for key in keys if key not in removed]
            found = self._contrasts(reported, entry, left, removed, len(keys))
            uneven = {
                key: contrast
                for key, contrast in found.items()
                if contrast.least >= LEAST_CONTRAST
                and contrast.difference * reports[key] >= LEAST_MOVED * total
            }
            worst = min(
                uneven,
                key=lambda key: (-round(uneven[key].least, 6), reports[key]),
                default=None,
            )
            for key, contrast in found.items():
                if worst is None or key == worst:
                    share, found_uneven = reports[key] / total, key == worst
                    epochs = (
                        self._uneven_days(reported, entry, key, removed) if found_uneven else ()
                    )
                    yield KeyContrast(
                        entry.spec, key, reports[key], share, contrast, found_uneven, epochs
                    )
            if worst is None:
                return
            removed.add(worst)

    def _contrasts(
        self,
        reported: MetricReports,
        entry: CatalogEntry,
        keys: Sequence[str],
        removed: set[str],
        family: int,
    ) -> dict[str, Contrast]:
        sums = self._sums(reported, entry, keys, removed)
        found = {}
        for row, key in enumerate(keys):
            contrast = _measure(entry.tally, sums, row, FAMILY_P / family)
            if contrast is not None:
                found[key] = contrast
        return found

    def _sums(
        self,
        reported: MetricReports,
        entry: CatalogEntry,
        keys: Sequence[str],
        removed: set[str],
    ) -> _Sums:
        shape = len(keys), entry.tally.cells
        sums = _Sums(np.zeros(shape), np.zeros(shape), *np.zeros((2, len(keys))))
        by_period: dict[int, NDArray[np.float64]] = {}
        for epoch, rows, day in self._days(reported, entry, keys, removed):
            sums.own[rows] += day.own
            sums.others[rows] += day.others
            sums.weight[rows] += day.weight
            sums.noise_of_own[rows] += day.noise_of_own
            of_period = by_period.setdefault(period(entry.spec.every, epoch), np.zeros(len(keys)))
            of_period[rows] += day.weight
        if entry.spec.mechanism.epsilon_permanent is not None and by_period:
            # Reports of a device share their permanent noise: together they tell no more than
            # those of one period, if the same devices reported in all of them.
            largest = np.max(list(by_period.values()), axis=0)
            kept = largest / np.maximum(sums.weight, 1.0)
            return _Sums(
                sums.own * kept[:, None],
                sums.others * kept[:, None],
                largest,
                sums.noise_of_own * kept,
            )
        return sums

    def _uneven_days(
        self, reported: MetricReports, entry: CatalogEntry, key: str, removed: set[str]
    ) -> tuple[int, ...]:
        """The days whose own reports show that a key is uneven."""
        days = list(self._days(reported, entry, [key], removed))
        return tuple(
            epoch
            for epoch, rows, day in days
            if rows.size
            and (contrast := _measure(entry.tally, day, 0, FAMILY_P / len(days))) is not None
            and contrast.least >= LEAST_CONTRAST
        )

    def _days(
        self,
        reported: MetricReports,
        entry: CatalogEntry,
        keys: Sequence[str],
        removed: set[str],
    ) -> Iterator[tuple[int, NDArray[np.int64], _Sums]]:
        """Each day, the positions of those keys that can be compared on it, and their sums."""
        place = {key: row for row, key in enumerate(keys)}
        slices = self._store.tallies.slices(
            entry.spec.digest,
            entry.tally.cells,
            _first_day(reported, entry),
            epoch_of(reported.days.until),
            reported.without | removed,
        )
        for epoch, of_day in groupby(slices, lambda each: each.epoch):
            day = list(of_day)
            counts = np.array([each.sum.cells for each in day], np.float64)
            own = np.array([each.sum.reports for each in day], np.float64)
            all_, others = own.sum(), own.sum() - own
            rows = np.array([place.get(each.key, -1) for each in day])
            compared = (rows >= 0) & (own > 0) & (others > 0)
            rows, counted = rows[compared], counts[compared]
            own, others = own[compared], others[compared]
            # With the weight own * others / all, a report of either side counts this much.
            yield (
                epoch,
                rows,
                _Sums(
                    counted * (others / all_)[:, None],
                    (counts.sum(axis=0) - counted) * (own / all_)[:, None],
                    own * others / all_,
                    own * (others / all_) ** 2,
                ),
            )


def _measure(tally: Tally, sums: _Sums, row: int, alpha: float) -> Contrast | None:
    if sums.weight[row] < LEAST_WEIGHT:
        return None
    noise_of_own = sums.noise_of_own[row] / sums.weight[row]
    return measure_contrast(tally, sums.own[row], sums.others[row], noise_of_own, alpha)


def _first_day(reported: MetricReports, entry: CatalogEntry) -> int:
    """From which day on the slices are few enough to be read."""
    left, first = MOST_CELLS, epoch_of(reported.days.until)
    of_days = reported.by_slice.get(entry.spec.digest, {})
    for epoch in sorted(of_days, reverse=True):
        left -= len(of_days[epoch]) * entry.tally.cells
        if left < 0:
            break
        first = epoch
    return first


def _fingerprint(reported: MetricReports) -> int:
    """The same for the same reports, days and keys left out."""
    slices = (
        (digest, epoch, key, reports)
        for digest, of_days in reported.by_slice.items()
        for epoch, of_keys in of_days.items()
        for key, reports in of_keys.items()
    )
    return hash((reported.days, reported.without, frozenset(slices)))
