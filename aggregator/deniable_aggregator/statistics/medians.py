"""Medians of many estimates of the same shares, and their standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
