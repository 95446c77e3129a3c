"""Which of many strings devices surely hold, and intervals of shares that were selected as high."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.discovery.levels import Level


_HALVINGS: Final = 60
_WORTH: Final = 0.5
"""Below so many standard errors the normal distribution will do: hardly anything there is shown."""


def upper_tails(
    shares: NDArray[np.float64], weights: NDArray[np.float64], levels: Sequence[Level]
) -> NDArray[np.float64]:
    """How likely a string that no device holds has at least such pooled estimates.

    Every level's support is binomial then, with the chance q of its cells. The pooled estimate is a
    weighted sum of them, and its tail is that of the saddlepoint approximation of Lugannani and
    Rice (1980): P = 1 - Phi(w) + phi(w) (1 / u - 1 / w), with t where the derivative of the
    cumulant function k is the observed sum x, w = sqrt(2 (t x - k(t))) and u = t sqrt(k''(t)).
    The normal distribution is wrong by up to a half at five standard errors and 100,000 reports.
    Half a supporter less than was seen is asked about, because supporters are whole. Where cells
    vary more than that (`Level.spread`), an estimate counts for as many standard errors as it has.

    Args:
        shares: float64, (strings,): the pooled estimates.
        weights: float64, (strings, levels): the levels' inverse variances; 0 where not pooled.
        levels: all of the trie.

    Returns:
        float64, (strings,), in [0, 1]; 1 without reports.
    """
    pooled = weights.sum(axis=1)
    tails = np.ones(shares.size)
    chosen = np.flatnonzero(pooled > 0)
    z = shares[chosen] * np.sqrt(pooled[chosen])
    tails[chosen] = special.ndtr(-z)
    chosen = chosen[z > _WORTH]
    if chosen.size:
        own = weights[chosen]
        binomial = (own / np.array([level.spread**2 for level in levels])).sum(axis=1)
        scale = np.sqrt(binomial / own.sum(axis=1))
        tails[chosen] = _saddlepoint(shares[chosen] * scale, own, levels)
    return tails


def least_tails(shares: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """What no tail is below: half of the normal one, as a binomial law is skewed to the right.

    Most strings are far from passing with these, so that few tails have to be worked out.

    Args:
        shares: float64, (strings,): see `upper_tails`.
        weights: float64, (strings, levels).
    """
    return np.asarray(special.ndtr(-shares * np.sqrt(weights.sum(axis=1))) / 2)


def _saddlepoint(
    shares: NDArray[np.float64], weights: NDArray[np.float64], levels: Sequence[Level]
) -> NDArray[np.float64]:
    # What one supporter adds to the pooled sum, in terms of the largest such amount.
    amounts = np.array([1 / (level.variance * (level.p - level.q)) for level in levels])
    unit = amounts.max()
    amounts = amounts / unit
    steepest = 60.0 / amounts.min()
    pooled = (weights > 0).any(axis=0)  # of prefixes that end in one level it is that one alone
    weights, amounts = weights[:, pooled], amounts[pooled]
    q = np.array([level.q for level in levels])[pooled]
    totals = np.array([level.total for level in levels])[pooled]
    reports = np.where(weights > 0, totals, 0.0)
    mean = (reports * q * amounts).sum(axis=1)
    variance = (reports * q * (1 - q) * amounts**2).sum(axis=1)
    most = (reports * amounts).sum(axis=1)
    least = np.where(reports > 0, amounts, np.inf).min(axis=1)
    observed = mean + shares * weights.sum(axis=1) / unit - least / 2
    observed = np.clip(observed, mean + 1e-3 * np.sqrt(variance), mean + (most - mean) * (1 - 1e-9))
    low, high = np.zeros(shares.size), np.full(shares.size, steepest)
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        tilted = _tilted_chances(q, amounts, t)
        above = (reports * tilted * amounts).sum(axis=1) > observed
        low, high = np.where(above, low, t), np.where(above, t, high)
    t = (low + high) / 2
    tilted = _tilted_chances(q, amounts, t)
    cumulant = (reports * np.logaddexp(np.log1p(-q), np.log(q) + amounts * t[:, None])).sum(axis=1)
    spread = (reports * tilted * (1 - tilted) * amounts**2).sum(axis=1)
    w = np.sqrt(np.maximum(2 * (t * observed - cumulant), 1e-12))
    u = np.maximum(t * np.sqrt(spread), 1e-6)
    density = np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.clip(special.ndtr(-w) + density * (1 / u - 1 / w), 0.0, 1.0))


def _tilted_chances(
    q: NDArray[np.float64], amounts: NDArray[np.float64], t: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The chances under which the seen sum would be the mean: float64, (strings, levels)."""
    return np.asarray(special.expit(special.logit(q) + amounts * t[:, None]))


def passing(
    p_values: NDArray[np.float64], log_weights: NDArray[np.float64], alpha: float
) -> NDArray[np.bool_]:
    """Benjamini and Hochberg's test with weights (Genovese, Roeder and Wasserman, 2006).

    String s is shown if p(s) <= alpha R w(s), R being the number that are shown: the largest that
    agrees with itself. The weights of all strings that there could be sum to at most 1, so at most
    the part alpha of what is shown is expected to be false; strings that the search never looked
    at only count as not shown.

    Args:
        p_values: float64, (strings,).
        log_weights: float64, (strings,).
        alpha: the part, in (0, 1).

    Returns:
        bool, (strings,).
    """
    with np.errstate(divide="ignore"):
        needed = np.log(p_values) - log_weights - np.log(alpha)
    order = np.sort(needed)
    agree = np.flatnonzero(order <= np.log(np.arange(1, order.size + 1)))
    if not agree.size:
        return np.zeros(needed.size, np.bool_)
    return np.asarray(needed <= order[agree[-1]])


def thresholds(log_weights: NDArray[np.float64], count: int, alpha: float) -> NDArray[np.float64]:
    """From how many standard errors on strings of these weights are shown: float64, (strings,).

    Args:
        log_weights: float64, (strings,).
        count: how many are shown.
        alpha: see `shown`.
    """
    level = np.minimum(log_weights + np.log(alpha * max(count, 1)), np.log(0.5))
    return np.asarray(-special.ndtri_exp(level))


_BISECTIONS: Final = 30
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
    Var = sum of u^2 s^2 pi (1 - pi) / (n (p - q)^2), pi = q + f (p - q), with the weight u and the
    level's spread s.

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
    spread = np.array([level.spread for level in levels])
    chance = q + share * (p - q)
    pooled = weights.sum(axis=1, keepdims=True)
    parts = weights / np.where(pooled > 0, pooled, 1.0)
    of_report = spread**2 * chance * (1 - chance) / (p - q) ** 2
    variance = (parts**2 * of_report / reports).sum(axis=1)
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
    for _ in range(_BISECTIONS):
        distance = (low + high) / 2
        # The farther the share is below, the less likely is so large an estimate.
        logarithm = log_seen - (distance - points) ** 2 / 2
        density = np.exp(logarithm - logarithm.max(axis=0))
        areas = (density[1:] + density[:-1]) * width
        likely = areas[_POINTS:].sum(axis=0) > tail * areas.sum(axis=0)
        low, high = np.where(likely, distance, low), np.where(likely, high, distance)
    return np.asarray((low + high) / 2)
