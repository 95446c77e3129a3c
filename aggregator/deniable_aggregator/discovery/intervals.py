"""Intervals of shares that are only shown because their estimates are high."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.discovery.levels import Level

_HALVINGS: Final = 60
_FARTHEST: Final = 60.0
"""How many standard errors the ends may be from the estimate."""


def pooled_deviations(
    shares: NDArray[np.float64], weights: NDArray[np.float64], levels: Sequence[Level]
) -> NDArray[np.float64]:
    """The standard errors of pooled estimates, at the shares that were estimated.

    A report supports the string with probability q + f (p - q); levels are weighted by the inverse
    variance that they have at f = 0, sum to 1, and are independent:
    Var = sum of u^2 pi (1 - pi) / (n (p - q)^2), pi = q + f (p - q), u the weight.

    Args:
        shares: float64, (strings,): clipped to [0, 1] for this purpose.
        weights: float64, (strings, levels): see `Strings.weights`.
        levels: all of the trie.

    Returns:
        float64, (strings,); infinite without reports.
    """
    held = np.clip(shares, 0.0, 1.0)[:, None]
    p = np.array([level.p for level in levels])
    q = np.array([level.q for level in levels])
    reports = np.array([max(level.total, 1.0) for level in levels])
    chance = q + held * (p - q)
    pooled = weights.sum(axis=1, keepdims=True)
    parts = weights / np.where(pooled > 0, pooled, 1.0)
    variance = (parts**2 * chance * (1 - chance) / (reports * (p - q) ** 2)).sum(axis=1)
    return np.where(pooled[:, 0] > 0, np.sqrt(variance), np.inf)


def selected_intervals(
    shares: NDArray[np.float64],
    deviations: NDArray[np.float64],
    least: NDArray[np.float64],
    alpha: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals that hold although only estimates above a threshold are shown.

    The estimate is normal about the share, truncated at the threshold c: the ends are the shares m
    with P_m(Z > z | Z > c) = alpha / 2 and 1 - alpha / 2. Just above the threshold the upper end
    may then be below the estimate; it is raised to it, which only makes the interval wider.

    Args:
        shares: float64, (strings,): the estimates.
        deviations: float64, (strings,): their standard errors.
        least: float64, (strings,): the smallest estimate with which each would be shown.
        alpha: the probability that an interval misses.

    Returns:
        float64, (strings,) twice: both ends, within [0, 1].
    """
    z = np.maximum((shares - least) / deviations, 0.0)
    low = shares - _distances(z, alpha / 2) * deviations
    high = shares - _distances(z, 1 - alpha / 2) * deviations
    return np.clip(low, 0.0, 1.0), np.clip(np.maximum(high, shares), 0.0, 1.0)


def _distances(above: NDArray[np.float64], tail: float) -> NDArray[np.float64]:
    """How far below the estimate, in standard errors, the share with this tail probability is."""
    low, high = np.full(above.size, -_FARTHEST), np.full(above.size, _FARTHEST)
    for _ in range(_HALVINGS):
        distance = (low + high) / 2
        # The farther the share is below, the less likely is so large an estimate.
        logarithm = special.log_ndtr(-distance) - special.log_ndtr(above - distance)
        likely = logarithm > np.log(tail)
        low, high = np.where(likely, distance, low), np.where(likely, high, distance)
    return np.asarray((low + high) / 2)
