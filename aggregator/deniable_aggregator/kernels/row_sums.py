"""Sums of the rows of a matrix by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def add_rows(sums: NDArray[Any], place: NDArray[np.int64], rows: NDArray[Any]) -> None:
    """Adds every row to the sum of its group.

    Args:
        sums: (groups, cells); changed in place.
        place: int64, (rows,): the group of each row, ascending.
        rows: (rows, cells).
    """
    if rows.shape[1] > rows.shape[0]:
        # `reduceat` goes down the columns: of wide rows that is slow.
        for group, row in zip(place.tolist(), rows, strict=True):
            sums[group] += row
    elif place.size:
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        sums[place[starts]] += np.add.reduceat(rows, starts, axis=0)
