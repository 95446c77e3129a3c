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
from deniable_aggregator.estimation.items import combine_specs
from deniable_aggregator.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.estimates import Share
    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.store import Store
    from deniable_shared.spec import Spec

FEWEST_SLICES: Final = 5
ENOUGH_REPORTS: Final = 1_000
"""Slices with fewer reports are left out."""

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
    "share in the middle one"
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
    found, errors = [], []
    position = {row.value: place for place, row in enumerate(rows)}
    since, until = epoch_of(reported.days.since), epoch_of(reported.days.until)
    for entry in reported.entries:
        spec = entry.spec
        for each in store.tallies.slices(
            spec.digest, entry.tally.cells, since, until, reported.without
        ):
            if each.sum.reports >= ENOUGH_REPORTS:
                share, error = _slice(spec, each.sum.cells, position)
                found.append(share)
                errors.append(error)
    plain = np.array([row.standard_error for row in rows])
    middles = medians_of_slices(np.array(found), np.array(errors), plain)
    half = z_for_level(level) * middles.standard_error
    columns = (*middles, middles.share - half, middles.share + half)
    return [
        RobustCheck(*values) if values[0] >= FEWEST_SLICES else None
        for values in zip(*(column.tolist() for column in columns), strict=True)
    ]


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


def _slice(
    spec: Spec, cells: NDArray[np.int64], position: Mapping[str, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One slice's estimates and errors; NaN for items that its version of the metric lacks."""
    share, error = np.full(len(position), np.nan), np.full(len(position), np.nan)
    read = combine_specs(
        [(spec, cells)], list(position) if spec.type == "string" else None, "noise"
    )
    for place in read.wanted.tolist():
        at = position.get(read.domain[place])
        if at is not None:
            share[at] = read.combined.share[place]
            error[at] = np.sqrt(read.combined.variance[place])
    return share, error
