"""How common a string is that nobody listed, from the cells of a sketch that no candidate explains.

A string of share f adds f to one cell of every row. Which cells these are nobody knows without the
string itself, but that every row has such a cell can be seen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.statistics.hashed.sketch_rows import SketchRows

_DEVIATIONS: Final = 5.0
"""A cell that is more standard deviations above its expectation than this is more than noise."""

_LEAST_ROWS: Final = 0.75
"""At least this part of the rows must have such a cell."""

_MOST_COLLISIONS: Final = 0.5
"""How many pairs of strings of half the share may meet in a row, on average, for a share to be told
from several smaller ones."""

_MOST_EXPLAINED: Final = 0.1
"""The candidates explain at most this part of the cells."""


def explaining(
    rows: SketchRows, share: NDArray[np.float64], detected: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The candidates whose cells are explained by them: those that are found and can be seen.

    Args:
        share: float64, (items,): estimates.
        detected: bool, (items,): which are more than chance.

    Returns:
        int64, (chosen,): their places, the most common first.
    """
    chosen = np.flatnonzero(detected & (share > rows.cell_deviation))
    most = math.floor(_MOST_EXPLAINED * rows.buckets)
    return chosen[np.argsort(-share[chosen], kind="stable")[:most]]


def unlisted_share(rows: SketchRows, explained: NDArray[np.bool_]) -> float | None:
    """The share of the most common string that is no candidate, if it is clear that there is one.

    Args:
        explained: bool, (rows, buckets): the cells of candidates that were found.

    Returns:
        The median over the rows of the largest cell that is not explained. None where too few rows
        have one that is more than noise, or where several strings of half of it may share cells.
    """
    counts = np.where(explained, 0, rows.supporting)
    largest = counts.max(axis=1)
    is_high = largest > rows.caps(np.zeros(1), _DEVIATIONS)[0]
    if is_high.mean() < _LEAST_ROWS:
        return None
    shares = rows.share(largest, rows.reports) - rows.usual
    halves = math.floor(2 / max(float(np.quantile(shares, 1 - _LEAST_ROWS)), 1e-9))
    if halves * (halves - 1) / 2 > _MOST_COLLISIONS * rows.buckets:
        return None
    return min(float(np.median(shares)), 1.0)
