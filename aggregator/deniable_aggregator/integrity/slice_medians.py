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

from deniable_aggregator.answers.estimates import RobustCheck
from deniable_aggregator.estimation.shares.slice_shares import SliceEstimator
from deniable_aggregator.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.estimates import Share
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.slices.table import SliceTable

FEWEST_SLICES: Final = 5
ENOUGH_REPORTS: Final = 1_000
"""Slices with fewer reports are left out."""

MOST_UNCHECKED: Final = 0.1
"""At most this part of the reports may be of versions with too few slices for a median."""

MOST_CELLS: Final = 1 << 22
MOST_SHARES: Final = 1 << 20
"""Items times slices; with more there are no medians, which bounds the work."""

MOST_SINGLY: Final = 4_096
"""Slices whose estimates have to be worked out one by one, as those of strings; with more there are
no medians."""

REMEMBERED: Final = 64
MOST_REMEMBERED_ITEMS: Final = 4_096

MEDIAN_VARIANCE_FACTOR: Final = np.pi / 2
_NORMAL: Final = 1.4826
"""Median absolute deviation to standard deviation, for a normal variable."""

MEANING: Final = (
    "the median over slices, each what one key brought on one day, of their own estimates; fewer "
    "than half of the slices, if poisoned, cannot pull it far, while its variance is about pi/2 "
    "times that of the plain estimate; where slices differ because their devices do, it is the "
    "share in the middle one. Several versions have a median each, weighted by their reports"
)


class Medians(NamedTuple):
    """Medians of slices for the items of an answer.

    Attributes:
        slices: int64, (items,): how many slices have an estimate of each item.
        share: float64, (items,): the median of these; NaN for fewer than five slices.
        standard_error: float64, (items,): of the median.
    """

    slices: NDArray[np.int64]
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]


class VersionMedians(NamedTuple):
    """What one version says of the items of an answer; NaN where it says nothing.

    Attributes:
        medians: of its slices, where there are enough.
        share: float64, (items,): the plain estimates from all its reports.
        standard_error: float64, (items,): of these.
        reports: how many it has.
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
        self, reported: MetricReports, rows: Sequence[Share], level: float
    ) -> list[RobustCheck | None] | None:
        """The medians of slices beside the shares of an answer.

        Args:
            reported: which reports the answer is about.
            rows: the shares.
            level: of the intervals, in (0, 1).

        Returns:
            One for each share, None where too few slices know its value; None if there are too few
            slices at all, or the work is too much.
        """
        items = tuple(row.value for row in rows)
        tables = [
            (table, SliceEstimator(entry.spec, items, reported.specs))
            for entry in reported.entries
            if (table := reported.tables.get(entry.spec.digest)) is not None
        ]
        enough = [int((table.reports >= ENOUGH_REPORTS).sum()) for table, _ in tables]
        sizes = list(zip(tables, enough, strict=True))
        cells = sum(slices * table.entry.tally.cells for (table, _), slices in sizes)
        singly = sum(slices for (_, estimator), slices in sizes if estimator.one_by_one)
        if (
            sum(enough) < FEWEST_SLICES
            or cells > MOST_CELLS
            or len(items) * sum(enough) > MOST_SHARES
            or singly > MOST_SINGLY
        ):
            return None
        versions = [self._of_version(table, estimator, items) for table, estimator in tables]
        middles = _of_all_versions(versions, np.array([row.standard_error for row in rows]))
        half = z_for_level(level) * middles.standard_error
        columns = (*middles, middles.share - half, middles.share + half)
        return [
            RobustCheck(*values) if values[0] >= FEWEST_SLICES else None
            for values in zip(*(column.tolist() for column in columns), strict=True)
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
        found = version_medians(table, estimator)
        if len(items) <= MOST_REMEMBERED_ITEMS:
            with self._lock:
                self._known[name] = found
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
        return found


def version_medians(table: SliceTable, estimator: SliceEstimator) -> VersionMedians:
    """The medians of a version's slices.

    Args:
        table: the slices; at least one.
        estimator: estimates the items of an answer from them.
    """
    tally = table.entry.tally
    total, found = np.zeros(tally.cells, np.int64), []
    for chunk in table.chunks(tally.cells):
        total += chunk.counters.sum(axis=0)
        large = chunk.counters[chunk.reports >= ENOUGH_REPORTS]
        if len(large):
            found.append(estimator.estimate(large))
    whole = estimator.estimate(total[None])
    nothing = whole.share[:0]
    shares = np.concatenate([nothing, *(each.share for each in found)])
    errors = np.concatenate([nothing, *(each.standard_error for each in found)])
    medians = medians_of_slices(shares, errors, 0 * whole.standard_error[0])
    return VersionMedians(medians, whole.share[0], whole.standard_error[0], tally.reports(total))


def _of_all_versions(versions: Sequence[VersionMedians], plain: NDArray[np.float64]) -> Medians:
    """Medians version by version, weighted by reports as shares are.

    Versions with too few slices count with their plain estimate, if they have at most a tenth of
    the reports; else there is no check.
    """
    slices = np.zeros(plain.size, np.int64)
    share, variance, reports, unchecked = np.zeros((4, plain.size))
    for version in versions:
        known, checked = ~np.isnan(version.share), ~np.isnan(version.medians.share)
        slices += np.where(checked, version.medians.slices, 0)
        middle = np.where(checked, version.medians.share, version.share)
        error = np.where(checked, version.medians.standard_error, version.standard_error)
        share += np.where(known, version.reports * middle, 0.0)
        variance += np.where(known, version.reports * error, 0.0) ** 2
        reports += known * version.reports
        unchecked += (known & ~checked) * version.reports
    enough = (slices >= FEWEST_SLICES) & (unchecked <= MOST_UNCHECKED * reports)
    least = np.maximum(reports, 1)
    error = np.maximum(np.sqrt(variance) / least, np.sqrt(MEDIAN_VARIANCE_FACTOR) * plain)
    return Medians(
        np.where(enough, slices, 0),
        np.where(enough, share / least, np.nan),
        np.where(enough, error, np.nan),
    )


def medians_of_slices(
    shares: NDArray[np.float64], errors: NDArray[np.float64], plain: NDArray[np.float64]
) -> Medians:
    """Medians of the slices' estimates, and their standard errors.

    The standard error is the largest of three: (1) that of a median of S normal estimates with
    standard errors s_i, sqrt(pi/2 S) over the sum of 1 / s_i, where no s_i counts as less than half
    of the median one, so that no single slice dominates; (2) what follows from the spread of the
    slices; (3) sqrt(pi/2) times that of the plain estimate, which includes errors that all slices
    share.

    Args:
        shares: float64, (slices, items); NaN where a slice has no estimate of an item.
        errors: float64, (slices, items): standard errors of the shares.
        plain: float64, (items,): standard errors of the estimates over all slices.
    """
    known = ~np.isnan(shares)
    slices = known.sum(axis=0)
    share, error = np.full(slices.size, np.nan), np.full(slices.size, np.nan)
    enough = np.flatnonzero(slices >= FEWEST_SLICES)
    if enough.size:
        count = slices[enough]
        # One item after the other: the slices of each then follow each other in memory.
        here, of_here, known_here = (
            np.ascontiguousarray(each[:, enough].T) for each in (shares, errors, known)
        )
        middle = _medians(here)
        share[enough] = middle
        precise = 1 / np.maximum(of_here, _medians(of_here)[:, None] / 2)
        precision = np.where(known_here, precise, 0.0).sum(axis=1)
        apart = _NORMAL * _medians(np.abs(here - middle[:, None]))
        stated = np.sqrt(MEDIAN_VARIANCE_FACTOR * count) / precision
        spread = np.sqrt(MEDIAN_VARIANCE_FACTOR / count) * apart
        error[enough] = np.maximum.reduce(
            [stated, spread, np.sqrt(MEDIAN_VARIANCE_FACTOR) * plain[enough]]
        )
    return Medians(slices, share, error)


def _medians(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of each row, without its NaNs."""
    # `nanmedian` takes several times as long where there is no NaN.
    median = np.nanmedian if np.isnan(rows).any() else np.median
    return np.asarray(median(rows, axis=1))
