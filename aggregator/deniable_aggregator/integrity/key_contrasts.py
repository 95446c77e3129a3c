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
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.integrity.contrast_measures import LEAST_WEIGHT, measure_contrast
from deniable_aggregator.integrity.key_sums import compared_days, compared_sums

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.integrity.contrast_measures import Contrast
    from deniable_aggregator.integrity.kept_verdicts import KeptVerdicts
    from deniable_aggregator.integrity.key_sums import KeySums
    from deniable_aggregator.slices.table import SliceTable
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


class KeyComparison:
    """Compares keys, and caches the results until the counts change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, tuple[KeyContrast, ...]] = OrderedDict()

    def compare(
        self,
        reported: MetricReports,
        kept: Mapping[bytes, Sequence[KeptVerdicts]] | None = None,
    ) -> tuple[KeyContrast, ...]:
        """Every key that matters against the others, the most different first.

        Keys are found uneven one after the other, each against those that are left: a large key
        of a forger does not make the honest ones look uneven.

        Args:
            kept: what was found of periods whose slices are no longer stored, by digest.
        """
        before = [
            uneven.of_version(entry.spec)
            for entry in reported.entries
            for verdicts in (kept or {}).get(entry.spec.digest, ())
            for uneven in verdicts.uneven
        ]
        return tuple(sorted((*self._compare_keys(reported), *before), key=_most_different_first))

    def _compare_keys(self, reported: MetricReports) -> tuple[KeyContrast, ...]:
        name = frozenset(table.fingerprint for table in reported.tables.values())
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
                return self._known[name]
        total = sum(int(table.reports.sum()) for table in reported.tables.values())
        tables = [
            reported.tables[entry.spec.digest]
            for entry in reported.entries
            if entry.spec.digest in reported.tables
        ]
        contrasts = tuple(
            contrast for table in tables for contrast in contrasts_of_version(table, total)
        )
        with self._lock:
            self._known[name] = contrasts
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return contrasts


def _most_different_first(contrast: KeyContrast) -> tuple[bool, float]:
    return not contrast.uneven, -contrast.contrast.least


def contrasts_of_version(table: SliceTable, total: int) -> Iterator[KeyContrast]:
    """Every key of a version that matters against the others."""
    reports, compared = table.reports_by_key, _latest_days(table)
    # What brought less can move nothing by as much as matters.
    keys = [key for key, count in reports.items() if count >= LEAST_MOVED * total]
    removed: set[str] = set()
    while len(reports) - len(removed) > 1 and len(removed) <= MOST_UNEVEN:
        remaining = compared.without(removed)
        # Only those with a slice, as each takes memory for all counters.
        compared_keys = [key for key in keys if key in remaining.reports_by_key]
        contrasts_by_key = (
            _contrasts(remaining, compared_keys, FAMILY_P / len(keys)) if compared_keys else {}
        )
        uneven = {
            key: contrast
            for key, contrast in contrasts_by_key.items()
            if contrast.least >= LEAST_CONTRAST
            and contrast.difference * reports[key] >= LEAST_MOVED * total
        }
        worst = min(
            uneven,
            key=lambda key: (-round(uneven[key].least, 6), reports[key]),
            default=None,
        )
        for key, contrast in contrasts_by_key.items():
            if worst is None or key == worst:
                share, is_uneven = reports[key] / total, key == worst
                epochs = _uneven_days(remaining, key) if is_uneven else ()
                yield KeyContrast(
                    table.entry.spec, key, reports[key], share, contrast, is_uneven, epochs
                )
        if worst is None:
            return
        removed.add(worst)


def _contrasts(table: SliceTable, keys: Sequence[str], alpha: float) -> dict[str, Contrast]:
    """Those keys that have enough reports to be compared."""
    tally, sums = table.entry.tally, compared_sums(table, keys)
    contrasts = {key: _measure(tally, sums, row, alpha) for row, key in enumerate(keys)}
    return {key: contrast for key, contrast in contrasts.items() if contrast is not None}


def _uneven_days(table: SliceTable, key: str) -> tuple[int, ...]:
    """The days whose own reports show that a key is uneven."""
    tally, alpha = table.entry.tally, FAMILY_P / len(table.days)
    return tuple(
        epoch
        for epoch, sums in compared_days(table, key)
        if (contrast := _measure(tally, sums, 0, alpha)) is not None
        and contrast.least >= LEAST_CONTRAST
    )


def _measure(tally: Tally, sums: KeySums, row: int, alpha: float) -> Contrast | None:
    if sums.weight[row] < LEAST_WEIGHT:
        return None
    noise_of_own = sums.noise_of_own[row] / sums.weight[row]
    return measure_contrast(tally, sums.own[row], sums.others[row], noise_of_own, alpha)


def _latest_days(table: SliceTable) -> SliceTable:
    """The latest days whose slices together are few enough to be read."""
    slices_since = len(table) - table.starts
    few = np.flatnonzero(slices_since * table.entry.tally.cells <= MOST_CELLS)
    last = int(table.days[-1])
    return table.between(int(table.days[few[0]]) if few.size else last + 1, last)
