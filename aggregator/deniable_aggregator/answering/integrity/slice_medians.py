"""The median of slices: a second estimate that a minority of forged slices cannot move far.

A slice is what one key uploaded on one day. The plain estimate is the average over all slices, so
one forged slice moves it in proportion to its reports. It moves the median by at most the spread of
the other slices. Where no slice is forged, the median's variance is pi/2 times as large.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answering.estimation.items import SliceEstimator
from deniable_aggregator.counting.statistics.influence import (
    FEWEST_SLICES,
    MEDIAN_VARIANCE_FACTOR,
    Medians,
    medians_of_slices,
)
from deniable_aggregator.counting.statistics.intervals import z_for_level
from deniable_aggregator.counting.tallies import ShareTally

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.inputs import MetricReports
    from deniable_aggregator.answering.integrity.kept_verdicts import KeptVerdicts
    from deniable_aggregator.answering.slices import SliceTable
    from deniable_aggregator.answers.measured import Measured

ENOUGH_REPORTS: Final = 1_000
"""Slices with fewer reports are left out."""

MOST_UNCHECKED: Final = 0.1
"""At most this part of the reports may be of versions with too few slices for a median."""

MOST_CELLS: Final = 1 << 22
MOST_SHARES: Final = 1 << 20
"""Items times slices; with more there are no medians, which bounds the work."""

MOST_SINGLY: Final = 4_096
"""The most slices that are estimated one by one, as strings are; with more there are no medians."""

REMEMBERED: Final = 64
MOST_REMEMBERED_ITEMS: Final = 4_096

MEANING: Final = (
    "the median over slices, each what one key brought on one day, of their own estimates; fewer "
    "than half of the slices, if forged, cannot pull it far, while its variance is about pi/2 "
    "times that of the plain estimate; where slices differ because their devices do, it is the "
    "share in the middle one. Several versions have a median each, weighted by their reports"
)


class VersionMedians(NamedTuple):
    """What one version says of the items of an answer; NaN where it says nothing.

    Attributes:
        medians: of its slices, where there are enough.
        share: float64, (items,): the plain estimates from all its reports.
        standard_error: float64, (items,): of these.
    """

    medians: Medians
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    reports: int


class SliceMedians:
    """Works out medians of slices, and caches them until the counts change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, VersionMedians] = OrderedDict()

    def robust_checks(
        self,
        reported: MetricReports,
        rows: Sequence[Measured],
        level: float,
        kept: Mapping[bytes, Sequence[KeptVerdicts]] | None = None,
    ) -> list[Measured] | None:
        """The shares of an answer with the medians of slices beside them.

        Args:
            level: of the intervals, in (0, 1).
            kept: what was found of periods whose slices are no longer stored, by digest.

        Returns:
            The shares, with a robust check where enough slices know their values; None if there
            are too few slices at all, or the work is too much.
        """
        items = tuple(row.value or "" for row in rows)
        now, before, kept = [], [], kept or {}
        specs = [
            entry.spec
            for entry in reported.entries
            if entry.spec.digest in reported.tables or kept.get(entry.spec.digest)
        ]
        for spec in specs:
            estimator = SliceEstimator(spec, items, specs)
            if spec.digest in reported.tables:
                now.append((reported.tables[spec.digest], estimator))
            for verdicts in kept.get(spec.digest, ()):
                if verdicts.medians is None:
                    return None
                before.append(verdicts.medians.seen_by(estimator))
        slices = sum(_large_slices(table) for table, _ in now)
        slices += sum(int(verdicts.medians.slices.max(initial=0)) for verdicts in before)
        if slices < FEWEST_SLICES or not _is_bounded(now):
            return None
        versions = [self._of_version(table, estimator, items) for table, estimator in now]
        errors = np.array([row.standard_error for row in rows])
        middles = _of_all_versions([*versions, *before], errors)
        half = z_for_level(level) * middles.standard_error
        columns = (*middles, middles.share - half, middles.share + half)
        checks = zip(*(column.tolist() for column in columns), strict=True)
        return [
            replace(
                row,
                robust_slices=slices,
                robust=share,
                robust_error=error,
                robust_low=low,
                robust_high=high,
            )
            if slices >= FEWEST_SLICES
            else row
            for row, (slices, share, error, low, high) in zip(rows, checks, strict=True)
        ]

    def _of_version(
        self, table: SliceTable, estimator: SliceEstimator, items: tuple[str, ...]
    ) -> VersionMedians:
        digests = tuple(version.digest for version in estimator.versions)
        name = table.fingerprint, digests, items
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
                return self._known[name]
        medians = version_medians(table, estimator)
        if len(items) <= MOST_REMEMBERED_ITEMS:
            with self._lock:
                self._known[name] = medians
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
        return medians


def own_estimator(table: SliceTable) -> SliceEstimator | None:
    """What estimates a version's own values from its slices, where medians of them can be kept.

    Returns:
        None for strings, which are not known, for what has no shares, and if the work is too much.
    """
    spec = table.entry.spec
    if spec.is_open or not isinstance(table.entry.tally, ShareTally):
        return None
    estimator = SliceEstimator(spec, spec.items, [spec])
    return estimator if _is_bounded([(table, estimator)]) else None


def version_medians(table: SliceTable, estimator: SliceEstimator) -> VersionMedians:
    """The medians of a version's slices.

    Args:
        table: the slices; at least one.
    """
    tally = table.entry.tally
    total, estimates = np.zeros(tally.cells, np.int64), []
    for chunk in table.chunks(tally.cells):
        total += chunk.counters.sum(axis=0)
        large = chunk.counters[chunk.reports >= ENOUGH_REPORTS]
        if len(large):
            estimates.append(estimator.estimate(large))
    whole = estimator.estimate(total[None])
    nothing = whole.share[:0]
    shares = np.concatenate([nothing, *(estimate.share for estimate in estimates)])
    errors = np.concatenate([nothing, *(estimate.standard_error for estimate in estimates)])
    medians = medians_of_slices(shares, errors, 0 * whole.standard_error[0])
    return VersionMedians(medians, whole.share[0], whole.standard_error[0], tally.reports(total))


def _large_slices(table: SliceTable) -> int:
    return int(np.count_nonzero(table.reports >= ENOUGH_REPORTS))


def _is_bounded(tables: Sequence[tuple[SliceTable, SliceEstimator]]) -> bool:
    """Whether medians of these slices are worked out in a moment."""
    sizes = [(_large_slices(table), table, estimator) for table, estimator in tables]
    return (
        sum(slices * table.entry.tally.cells for slices, table, _ in sizes) <= MOST_CELLS
        and sum(slices * len(estimator.items) for slices, _, estimator in sizes) <= MOST_SHARES
        and sum(slices for slices, _, estimator in sizes if estimator.one_by_one) <= MOST_SINGLY
    )


def _of_all_versions(versions: Sequence[VersionMedians], plain: NDArray[np.float64]) -> Medians:
    """Medians version by version, and period by period where only those are kept.

    They are weighted by reports, as shares are.

    Versions with too few slices count with their plain estimate, if they have at most a tenth of
    the reports; else there is no check.
    """
    slices = np.zeros(plain.size, np.int64)
    share, variance, reports, unchecked = np.zeros((4, plain.size))
    for version in versions:
        is_known, checked = ~np.isnan(version.share), ~np.isnan(version.medians.share)
        slices += np.where(checked, version.medians.slices, 0)
        middle = np.where(checked, version.medians.share, version.share)
        error = np.where(checked, version.medians.standard_error, version.standard_error)
        share += np.where(is_known, version.reports * middle, 0.0)
        variance += np.where(is_known, version.reports * error, 0.0) ** 2
        reports += is_known * version.reports
        unchecked += (is_known & ~checked) * version.reports
    enough = (slices >= FEWEST_SLICES) & (unchecked <= MOST_UNCHECKED * reports)
    least = np.maximum(reports, 1)
    error = np.maximum(np.sqrt(variance) / least, np.sqrt(MEDIAN_VARIANCE_FACTOR) * plain)
    return Medians(
        np.where(enough, slices, 0),
        np.where(enough, share / least, np.nan),
        np.where(enough, error, np.nan),
    )
