"""Each key beside all others: whose devices answer differently, and since when.

A forger with a key of its own can draw reports exactly as devices do, so that no check of the noise
sees it. What it cannot hide is that its key answers unlike the others. Keys of different platforms
may differ as well: a contrast is a reason to look, and no proof. So a key that has a past is judged
by how far its contrast is from what it was then (difference in differences), and only one without
a past by its contrast alone.

A key is compared with the other keys on the same days and the same version of the metric. Each day
counts with the weight n m / (n + m), of n reports of the key and m of the others, as in the test of
Cochran, Mantel and Haenszel: a change over time, or another mix of weekdays, is no contrast.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.integrity.contrast_measures import (
    LEAST_WEIGHT,
    Apart,
    Contrast,
    judge,
    measure_apart,
)
from deniable_aggregator.answering.integrity.day_checks import KeySums, compared_days, compared_sums
from deniable_aggregator.counting.yield_points import yield_point

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.integrity.kept_verdicts import KeptVerdicts
    from deniable_aggregator.answering.integrity.past_of_keys import PastOfKeys
    from deniable_aggregator.answering.slices import SliceTable
    from deniable_aggregator.counting.tallies import Tally
    from deniable_shared.spec import Spec


LEAST_MOVED: Final = 0.01
"""Keys are even that move no share by more than a percentage point."""

FAMILY_P: Final = 1e-3
"""Keys that are even make any key of an answer uneven with this probability, at most."""

MOST_CELLS: Final = 1 << 24
"""At most so many counters of one version are read; the earlier days are left out then."""

MOST_SUMS: Final = 1 << 21
"""So many counters are added up at once, for some of the keys after the other."""

MOST_UNEVEN: Final = 5
REMEMBERED: Final = 512
PART_REPORTS: Final = 100


class KeyContrast(NamedTuple):
    """One key against all others.

    Attributes:
        spec: the version of the metric.
        key: the id of the key.
        reports: how many of the version's reports it brought.
        share: which part of all of the metric's reports these are.
        contrast: where it differs most.
        uneven: whether that is more than platforms may differ, or drift, and moves the answer.
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
    """Compares keys, and caches the results until the counts change.

    Args:
        part_reports: keys with fewer reports are not compared.
    """

    def __init__(self, part_reports: int = PART_REPORTS) -> None:
        self._part_reports = part_reports
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, tuple[KeyContrast, ...]] = OrderedDict()

    def compare(
        self,
        reported: MetricReports,
        kept: Mapping[bytes, Sequence[KeptVerdicts]] | None = None,
        pasts: Mapping[bytes, Sequence[PastOfKeys]] | None = None,
    ) -> tuple[KeyContrast, ...]:
        """Every key that matters against the others, the most different first.

        Keys are found uneven one after the other, each against those that are left: a large key
        of a forger does not make the honest ones look uneven.

        Args:
            kept: what was found of periods whose slices are no longer stored, by digest.
            pasts: the pasts of keys, by digest.
        """
        before = [
            uneven.of_version(entry.spec)
            for entry in reported.entries
            for verdicts in (kept or {}).get(entry.spec.digest, ())
            for uneven in verdicts.uneven
        ]
        return tuple(
            sorted((*self._compare_keys(reported, pasts or {}), *before), key=_most_different_first)
        )

    def _compare_keys(
        self, reported: MetricReports, pasts: Mapping[bytes, Sequence[PastOfKeys]]
    ) -> tuple[KeyContrast, ...]:
        name = (
            frozenset(table.fingerprint for table in reported.tables.values()),
            frozenset(past.table.fingerprint for some in pasts.values() for past in some),
        )
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
            contrast
            for table in tables
            for contrast in contrasts_of_version(
                table, total, pasts.get(table.entry.spec.digest, ()), self._part_reports
            )
        )
        with self._lock:
            self._known[name] = contrasts
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return contrasts


def _most_different_first(contrast: KeyContrast) -> tuple[bool, float]:
    return not contrast.uneven, -contrast.contrast.least


def contrasts_of_version(
    table: SliceTable,
    total: int,
    pasts: Sequence[PastOfKeys] = (),
    part_reports: int = PART_REPORTS,
) -> Iterator[KeyContrast]:
    """Every key of a version that matters against the others.

    Args:
        total: how many reports of the metric there are.
        pasts: the days before, of keys that have any.
        part_reports: keys with fewer reports are not compared.
    """
    reports, compared = table.reports_by_key, _latest_days(table)
    least_moved = LEAST_MOVED * total
    # What brought less can move nothing by as much as matters.
    keys = [key for key, count in reports.items() if count >= max(least_moved, part_reports)]
    removed: set[str] = set()
    while len(reports) - len(removed) > 1 and len(removed) <= MOST_UNEVEN:
        beside = _Beside(compared.without(removed), [past.without(removed) for past in pasts])
        found = beside.contrasts(keys, FAMILY_P / max(len(keys), 1))
        uneven = {
            key: contrast
            for key, contrast in found.items()
            if contrast.flagged
            # What is new in a key is news, however little of the answer it is yet.
            and (contrast.past is not None or contrast.difference * reports[key] >= least_moved)
        }
        worst = min(
            uneven,
            key=lambda key: (-round(uneven[key].least, 6), reports[key]),
            default=None,
        )
        for key, contrast in found.items():
            if worst is None or key == worst:
                share, is_uneven = reports[key] / total, key == worst
                epochs = beside.uneven_days(key) if is_uneven else ()
                yield KeyContrast(
                    table.entry.spec, key, reports[key], share, contrast, is_uneven, epochs
                )
        if worst is None:
            return
        removed.add(worst)


class _Beside:
    """Keys beside all others that are left.

    Args:
        table: the slices of all of them, of the days that are asked about.
        pasts: the same of days before, for some of the keys each.
    """

    def __init__(self, table: SliceTable, pasts: Sequence[PastOfKeys]) -> None:
        self._table = table
        self._tally = table.entry.tally
        self._now: dict[str, SliceTable] = {}
        self._past: dict[str, Apart] = {}
        self._acknowledged: set[str] = set()
        for past in pasts:
            later = table.between(past.until + 1, max(int(table.days[-1]), past.until + 1))
            if past.acknowledged and not past.keys & later.reports_by_key.keys():
                later = table  # asked about the days on which it was seen
            both = later.reports_by_key.keys() & past.table.reports_by_key.keys()
            keys = sorted(past.keys & both)
            self._now |= dict.fromkeys(keys, later)
            found = _apart(past.table, keys)
            self._past |= found
            if past.acknowledged:
                self._acknowledged |= found.keys()
        # Whoever has no past is not compared with those who are known to differ.
        self._usual = table.without(self._acknowledged)

    def contrasts(self, keys: Sequence[str], alpha: float) -> dict[str, Contrast]:
        """Those keys that have enough reports to be compared."""
        # Only those with a slice, as each takes memory for all counters.
        compared = [key for key in keys if key in self._table.reports_by_key]
        old = [key for key in compared if key in self._past]
        apart: dict[str, Apart] = {}
        tables = {id(self._now[key]): self._now[key] for key in old}
        for name, table in tables.items():
            apart |= _apart(table, [key for key in old if id(self._now[key]) == name])
        new = [key for key in compared if key not in apart]
        judged = {key: self._judge(key, apart[key], alpha) for key in apart}
        judged |= {key: judge(each, alpha) for key, each in _apart(self._usual, new).items()}
        return {key: contrast for key in compared if (contrast := judged.get(key)) is not None}

    def _judge(self, key: str, apart: Apart, alpha: float) -> Contrast | None:
        contrast = judge(apart, alpha, self._past.get(key))
        if contrast is None or key not in self._acknowledged:
            return contrast
        return contrast._replace(acknowledged=True)

    def uneven_days(self, key: str) -> tuple[int, ...]:
        """The days whose own reports show that a key is uneven."""
        table = self._now.get(key, self._usual)
        alpha = FAMILY_P / len(table.days)
        return tuple(
            epoch
            for epoch, sums in compared_days(table, key)
            if (apart := _measure(self._tally, sums, 0)) is not None
            and (contrast := self._judge(key, apart, alpha)) is not None
            and contrast.flagged
        )


def _apart(table: SliceTable, keys: Sequence[str]) -> dict[str, Apart]:
    """How far some keys are from all others of a table, of those that have enough reports."""
    tally = table.entry.tally
    at_once = max(1, MOST_SUMS // tally.cells)
    if len(keys) > at_once:
        table = table.held(tally.cells)  # it is read once for each part of the keys
    found: dict[str, Apart | None] = {}
    for first in range(0, len(keys), at_once):
        some = keys[first : first + at_once]
        sums = compared_sums(table, some)
        found |= {key: _measure(tally, sums, row) for row, key in enumerate(some)}
    return {key: apart for key, apart in found.items() if apart is not None}


def _measure(tally: Tally, sums: KeySums, row: int) -> Apart | None:
    yield_point()
    if sums.weight[row] < LEAST_WEIGHT:
        return None
    noise_of_own = sums.noise_of_own[row] / sums.weight[row]
    return measure_apart(tally, sums.own[row], sums.others[row], noise_of_own)


def _latest_days(table: SliceTable) -> SliceTable:
    """The latest days whose slices together are few enough to be read."""
    slices_since = len(table) - table.starts
    few = np.flatnonzero(slices_since * table.entry.tally.cells <= MOST_CELLS)
    last = int(table.days[-1])
    return table.between(int(table.days[few[0]]) if few.size else last + 1, last)
