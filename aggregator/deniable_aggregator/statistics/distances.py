"""How far two distributions over the same values are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def earth_mover(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The earth mover's distance of values in an order, as a part of the range, in [0, 1].

    The sum of |F - G| over the inner edges, over the number of values less one (Li, Li and
    Venkatasubramanian 2007, section 5.1).

    Args:
        first: float64, (rows, values), at least 2 values; each row adds up to 1.
        second: float64, likewise.

    Returns:
        float64, (rows,).
    """
    apart = np.cumsum(first - second, axis=1)[:, :-1]
    return np.asarray(np.abs(apart).sum(axis=1) / apart.shape[1])


def total_variation(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The total variation: which part of the one would have to hold another value, in [0, 1].

    It is the earth mover's distance where all values are equally far apart, and never less than
    that of values in an order.

    Args:
        first: float64, (rows, values); each row adds up to 1.
        second: float64, likewise.

    Returns:
        float64, (rows,).
    """
    return np.asarray(np.abs(first - second).sum(axis=1) / 2)
