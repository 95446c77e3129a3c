"""Which ranks numbers can have, as far as their intervals tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rank_ranges(
    low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which ranks each number lies, if all intervals cover at once.

    So many numbers are surely larger as have an interval above that of the number, and so many are
    surely smaller as have one below it. All ranges hold at once with at least the probability with
    which all intervals do (Klein, Wright and Wieczorek 2020).

    Args:
        low: float64, (items,): lower ends of simultaneous intervals.
        high: float64, (items,): upper ends.

    Returns:
        int64, (items,), twice: the first rank, 1 for the largest number, and the last.
    """
    above = low.size - np.searchsorted(np.sort(low), high, side="right")
    below = np.searchsorted(np.sort(high), low, side="left")
    return above + 1, low.size - below
