"""How far forged reports could move an estimate, and medians, which few of them move.

How far forged reports could move an estimate if they were 1% of all reports.

An estimate is the average of what each report contributes, and no report can contribute less than
`low` or more than `high`, which follow from the mechanism. If forged reports are added to n counted
ones until they are a share b of all, and each contributes c, the average f moves by b (c - f)
(Cao, Jia and Gong, USENIX Security 2021). The larger epsilon is, the closer low and high are, and
the less a forged report can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


FORGED_SHARE: Final = 0.01
"""The share of all reports that is assumed to be forged."""

FORGED_PER_REPORT: Final = FORGED_SHARE / (1 - FORGED_SHARE)
"""How many forged reports are assumed for each counted one."""

_HALVINGS: Final = 100


def influence(share: Any, low: Any, high: Any, *, reports: int, about: Any = None) -> Any:
    """How far forged reports could move an average, up or down.

    Args:
        share: the average; a float or float64 array.
        low: the least that one report can contribute.
        high: the most.
        reports: how many reports were counted; decides how many are forged.
        about: how many of the reports the average is over, if not all; all forged reports are
            assumed to be among these.
    """
    fakes = reports * FORGED_PER_REPORT
    part = fakes / (fakes + (reports if about is None else about))
    return part * np.maximum(high - share, share - low)


def support_influence(share: Any, support: Support, *, reports: int, about: Any = None) -> Any:
    """How far forged reports could move shares that are estimated by the support lemma.

    A report contributes one of two numbers: one if it supports the item, another if it does not.

    Args:
        share: the estimates; a float or float64 array.
        support: the probabilities of supporting an item.
        reports: see `influence`.
        about: see `influence`.
    """
    gap = support.p - support.q
    low, high = -support.q / gap, (1 - support.q) / gap
    return influence(share, low, high, reports=reports, about=about)


def concentrate(moved: Any, about: Any, reports: int) -> Any:
    """The influence on an estimate over some of the reports, if all forged ones are among these.

    Args:
        moved: the influence if 1% of these reports are forged.
        about: how many reports the estimate is over; an int or int64 array.
        reports: how many reports were counted in all.
    """
    fakes = reports * FORGED_PER_REPORT
    return moved * (fakes / (fakes + about)) / FORGED_SHARE


def subset_influence(
    share: Any, support: Support, size: int, least: int, most: int, reports: int
) -> Any:
    """How far forged reports could move the summed share of some items.

    Args:
        share: the sum of the estimates.
        support: the probabilities of supporting one item.
        size: how many items are summed.
        least: how many of them one report supports at least.
        most: how many at most.
        reports: how many there are.
    """
    gap = support.p - support.q
    low, high = ((count - size * support.q) / gap for count in (least, most))
    return influence(share, low, high, reports=reports)


def allocated_influence(
    gains: NDArray[np.float64], about: NDArray[np.float64], reports: int
) -> NDArray[np.float64]:
    """The influence on a sum of averages, if the forgers spread their reports over them at best.

    x forged reports among the n_a that average a is over move it by g_a x / (n_a + x). The sum of
    these is largest where one more report would do the same in every average (a Lagrange multiplier
    l): x_a = sqrt(g_a n_a / l) - n_a, or 0 where that is negative.

    Args:
        gains: float64, (items, averages): g; 0 where the sum has no such average.
        about: float64, (items, averages): n, how many reports each average is over.
        reports: how many were counted in all.

    Returns:
        float64, (items,).
    """
    fakes = reports * FORGED_PER_REPORT
    n = np.maximum(about, 1e-9)
    steepest = (gains / n).max(axis=1)
    low, high = np.zeros(len(gains)), np.where(steepest > 0, steepest, 1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chosen = np.maximum(np.sqrt(gains * n / middle[:, None]) - n, 0.0)
        enough = chosen.sum(axis=1) >= fakes
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    chosen = np.maximum(np.sqrt(gains * n / high[:, None]) - n, 0.0)
    return np.asarray((gains * chosen / (n + chosen)).sum(axis=1))


FEWEST_SLICES: Final = 5
MEDIAN_VARIANCE_FACTOR: Final = np.pi / 2
_NORMAL: Final = 1.4826
"""Median absolute deviation to standard deviation, for a normal variable."""


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
    is_known = ~np.isnan(shares)
    slices = is_known.sum(axis=0)
    share, error = np.full(slices.size, np.nan), np.full(slices.size, np.nan)
    enough = np.flatnonzero(slices >= FEWEST_SLICES)
    if enough.size:
        count = slices[enough]
        # One item after the other: the slices of each then follow each other in memory.
        here, of_here, known_here = (
            np.ascontiguousarray(array[:, enough].T) for array in (shares, errors, is_known)
        )
        middle = _medians(here)
        share[enough] = middle
        with np.errstate(divide="ignore"):  # versions without a value have none, without an error
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
