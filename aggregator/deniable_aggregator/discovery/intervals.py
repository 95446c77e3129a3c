"""Intervals of shares that are only shown because their estimates are high."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.discovery.levels import Level

_HALVINGS: Final = 30
_FARTHEST: Final = 12.0
"""How many standard errors the ends may be from the estimate."""
_POINTS: Final = 500
"""Of the integrals on either side of the estimate."""


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
    share = np.clip(shares, 0.0, 1.0)[:, None]
    p = np.array([level.p for level in levels])
    q = np.array([level.q for level in levels])
    reports = np.array([max(level.total, 1.0) for level in levels])
    chance = q + share * (p - q)
    pooled = weights.sum(axis=1, keepdims=True)
    parts = weights / np.where(pooled > 0, pooled, 1.0)
    variance = (parts**2 * chance * (1 - chance) / (reports * (p - q) ** 2)).sum(axis=1)
    return np.where(pooled[:, 0] > 0, np.sqrt(variance), np.inf)


class Selection(NamedTuple):
    """What had to be the case for strings to be shown.

    Attributes:
        least: float64, (strings,): the pooled estimate had to be at least this.
        least_of_level: float64, (strings,): and that of the level in which each ends at least this.
        deviations: float64, (strings,): the standard errors of that level's estimates.
    """

    least: NDArray[np.float64]
    least_of_level: NDArray[np.float64]
    deviations: NDArray[np.float64]


def selected_intervals(
    shares: NDArray[np.float64],
    deviations: NDArray[np.float64],
    selection: Selection,
    alpha: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals that hold although only high estimates are shown.

    A pooled estimate X is normal about the share m with the standard error s. It is shown if it is
    above a threshold c, and if the search saw the string: if the estimate of the level in which it
    ends, whose standard error is t, is above c'. The pooled one weights by inverse variances, so
    given X that of the level is normal about X, whatever m is, with the variance t^2 - s^2. Hence
    the density of what is shown, for y > c, is proportional to

        phi((y - m) / s) Phi((y - c') / sqrt(t^2 - s^2)),

    and the ends are the m for which X is above what was seen with probability alpha / 2 and
    1 - alpha / 2. Just above the thresholds the upper end may be below the estimate; it is raised
    to it, which only makes the interval wider.

    Args:
        shares: float64, (strings,): the estimates.
        deviations: float64, (strings,): their standard errors.
        selection: of these strings.
        alpha: the probability that an interval misses.

    Returns:
        float64, (strings,) twice: both ends, within [0, 1].
    """
    # All in standard errors below the estimate.
    start = np.clip((shares - selection.least) / deviations, 1e-6, _FARTHEST)
    below = np.linspace(start, 0, _POINTS)
    above = np.broadcast_to(np.linspace(0, -_FARTHEST, _POINTS)[:, None], below.shape)
    points = np.concatenate([below, above])
    apart = np.sqrt(np.maximum((selection.deviations / deviations) ** 2 - 1, 1e-6))
    observed = (shares - selection.least_of_level) / deviations
    log_seen = special.log_ndtr((observed - points) / apart)
    low = shares - _distances(points, log_seen, alpha / 2) * deviations
    high = shares - _distances(points, log_seen, 1 - alpha / 2) * deviations
    return np.clip(low, 0.0, 1.0), np.clip(np.maximum(high, shares), 0.0, 1.0)


def _distances(
    points: NDArray[np.float64], log_seen: NDArray[np.float64], tail: float
) -> NDArray[np.float64]:
    """How far below the estimate the share is with this tail probability, in standard errors."""
    width = -np.diff(points, axis=0)
    low, high = np.full(points.shape[1], -_FARTHEST), np.full(points.shape[1], _FARTHEST)
    for _ in range(_HALVINGS):
        distance = (low + high) / 2
        # The farther the share is below, the less likely is so large an estimate.
        logarithm = log_seen - (distance - points) ** 2 / 2
        density = np.exp(logarithm - logarithm.max(axis=0))
        areas = (density[1:] + density[:-1]) * width
        likely = areas[_POINTS:].sum(axis=0) > tail * areas.sum(axis=0)
        low, high = np.where(likely, distance, low), np.where(likely, high, distance)
    return np.asarray((low + high) / 2)
