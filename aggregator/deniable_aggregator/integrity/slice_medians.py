"""The median of slices: a second estimate that a minority of forged slices cannot move far.

A slice is what one key uploaded on one day. The plain estimate is the average over all slices, so
one forged slice moves it in proportion to its reports. It moves the median by at most the spread of
the other slices. Where no slice is forged, the median's variance is pi/2 times as large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.answers.estimates import RobustCheck
from deniable_aggregator.dates import epoch_of
from deniable_aggregator.estimation.shares.items import combine_specs
from deniable_aggregator.statistics.intervals import z_for_level
from deniable_aggregator.tallies import share_tally_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.estimates import Share
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.store import Store
    from deniable_shared.spec import Spec

    _Estimates = tuple[NDArray[np.float64], NDArray[np.float64]]
    """Shares, and their standard errors."""

FEWEST_SLICES: Final = 5
ENOUGH_REPORTS: Final = 1_000
"""Slices with fewer reports are left out."""

MOST_UNCHECKED: Final = 0.1
"""At most this part of the reports may be of versions with too few slices for a median."""

MOST_CELLS: Final = 1 << 22
MOST_SHARES: Final = 1 << 20
"""Items times slices; with more there are no medians, which bounds the work."""

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


def robust_checks(
    store: Store, reported: MetricReports, rows: Sequence[Share], level: float
) -> list[RobustCheck | None] | None:
    """The medians of slices beside the shares of an answer.

    Args:
        store: has the tallies.
        reported: which reports the answer is about.
        rows: the shares.
        level: of the intervals, in (0, 1).

    Returns:
        One for each share, None where too few slices know its value; None if there are too few
        slices at all, or the work is too much.
    """
    counted = [
        (entry, reports)
        for entry in reported.entries
        for keys in reported.by_slice.get(entry.spec.digest, {}).values()
        for reports in keys.values()
        if reports >= ENOUGH_REPORTS
    ]
    cells = sum(entry.tally.cells for entry, _ in counted)
    if len(counted) < FEWEST_SLICES or cells > MOST_CELLS or len(rows) * len(counted) > MOST_SHARES:
        return None
    position = {row.value: place for place, row in enumerate(rows)}
    since, until = epoch_of(reported.days.since), epoch_of(reported.days.until)
    versions = []
    for entry in reported.entries:
        spec, total = entry.spec, np.zeros(entry.tally.cells, np.int64)
        found = []
        for each in store.tallies.slices(
            spec.digest, entry.tally.cells, since, until, reported.without
        ):
            total += each.sum.cells
            if each.sum.reports >= ENOUGH_REPORTS:
                found.append(_shares(spec, each.sum.cells, position, reported.specs))
        if total.any():
            whole = _shares(spec, total, position, reported.specs)
            versions.append(_of_version(found, whole, entry.tally.reports(total)))
    middles = _of_all_versions(versions, np.array([row.standard_error for row in rows]))
    half = z_for_level(level) * middles.standard_error
    columns = (*middles, middles.share - half, middles.share + half)
    return [
        RobustCheck(*values) if values[0] >= FEWEST_SLICES else None
        for values in zip(*(column.tolist() for column in columns), strict=True)
    ]


class _OfVersion(NamedTuple):
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


def _of_version(slices: Sequence[_Estimates], whole: _Estimates, reports: int) -> _OfVersion:
    shares, errors = (
        np.array([each[at] for each in slices]).reshape(-1, whole[0].size) for at in (0, 1)
    )
    return _OfVersion(medians_of_slices(shares, errors, 0 * whole[1]), *whole, reports)


def _of_all_versions(versions: Sequence[_OfVersion], plain: NDArray[np.float64]) -> Medians:
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
        here = shares[:, enough]
        share[enough] = np.nanmedian(here, axis=0)
        least = np.nanmedian(errors[:, enough], axis=0) / 2
        precise = 1 / np.maximum(errors[:, enough], least)
        precision = np.where(known[:, enough], precise, 0.0).sum(axis=0)
        apart = _NORMAL * np.nanmedian(np.abs(here - share[enough]), axis=0)
        stated = np.sqrt(MEDIAN_VARIANCE_FACTOR * count) / precision
        spread = np.sqrt(MEDIAN_VARIANCE_FACTOR / count) * apart
        error[enough] = np.maximum.reduce(
            [stated, spread, np.sqrt(MEDIAN_VARIANCE_FACTOR) * plain[enough]]
        )
    return Medians(slices, share, error)


def _shares(
    spec: Spec, cells: NDArray[np.int64], position: Mapping[str, int], versions: Sequence[Spec]
) -> _Estimates:
    """The estimates and errors of some reports; NaN for items that their version does not know."""
    if len(versions) == 1 and (spec.type == "string" or position.keys() <= set(spec.items)):
        # The usual case: there is nothing to combine, which takes most of the time.
        found = share_tally_for(spec).shares(cells, list(position))
        return found.share, np.sqrt(found.variance)
    share, error = np.full(len(position), np.nan), np.full(len(position), np.nan)
    items = list(position) if spec.type == "string" else None
    read = combine_specs([(spec, cells)], items, "noise", versions=versions)
    for place in read.wanted.tolist():
        at = position.get(read.domain[place])
        if at is not None:
            share[at] = read.combined.share[place]
            error[at] = np.sqrt(read.combined.variance[place])
    return share, error
