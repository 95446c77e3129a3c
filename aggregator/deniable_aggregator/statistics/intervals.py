"""Intervals around raw estimates, and tests of which items are present at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import special

from deniable_aggregator.answers.words import FALSE_FINDS, INTERVAL_KINDS
from deniable_aggregator.statistics.repeated_reports import RepeatedReports
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import FalseFinds, IntervalKind
    from deniable_shared.mechanisms import Support

DEFAULT_LEVEL: Final = 0.95
NO_REPEATS: Final = RepeatedReports()


def alpha_per_interval(interval: IntervalKind, *, level: float, asked: int, shown: int) -> float:
    """How often a single interval may miss its item, so that the kind of interval has its level.

    Args:
        interval: "one" covers each item by itself with the level. "all" covers all items
            asked for at once with it (Bonferroni): alpha / asked. "picked" covers, of the items
            shown because of their estimates, the stated share on average: the false coverage rate
            of Benjamini and Yekutieli (2005), alpha shown / asked.
        level: strictly between 0 and 1; alpha is 1 - level.
        asked: number of items asked for.
        shown: how many of them were chosen to be shown.

    Raises:
        ParameterError: if the level or the kind is out of range.
    """
    _require_level(level)
    if interval not in INTERVAL_KINDS:
        raise ParameterError("interval", f"one of {', '.join(INTERVAL_KINDS)}", interval)
    alpha = 1 - level
    if interval == "all":
        return alpha / max(asked, 1)
    if interval == "picked":
        return alpha * max(shown, 1) / max(asked, 1)
    return alpha


def z_for_level(level: float) -> float:
    """Half the width of a two-sided normal interval, in standard errors: 1.96 for 0.95.

    Raises:
        ParameterError: if the level is not strictly between 0 and 1.
    """
    _require_level(level)
    return z_for_alpha(1 - level)


def z_for_alpha(alpha: float) -> float:
    """Half the width for the probability that the interval misses: 1.96 for 0.05."""
    return float(-special.ndtri(alpha / 2))


def score_limits(
    share: NDArray[np.float64],
    reports: int,
    support: Support,
    *,
    z: float,
    family: float = 0.0,
    population: bool = False,
    repeats: RepeatedReports = NO_REPEATS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of score intervals for estimates of the support lemma (Wilson 1927).

    They contain every share f whose distance from the estimate is at most z standard errors, where
    the standard error is that at f, not at the estimate: the variance grows with the share, so a
    high estimate would seem too imprecise. It is a + b f - c f^2, so the ends solve a quadratic.

    Args:
        share: float64, (items,): the estimates.
        reports: how many reports there are; at least 1.
        support: with which probabilities a report supports an item.
        z: the width, in standard errors.
        family: the variance that a hash family adds, whatever the share.
        population: whether the devices are a sample, which adds f (1 - f) / n.
        repeats: what reports of the same devices add.

    Returns:
        Two float64, (items,): the lower and the upper ends.
    """
    constant = support.variance(0.0, reports) + family + repeats.noise(0.0)
    slope = support.variance(1.0, reports) + family + repeats.noise(1.0) - constant
    curvature = 1 / reports + repeats.extra if population else 0.0
    slope += curvature
    low, high = (wilson_end(share, constant, slope, curvature, side * z) for side in (-1, 1))
    return low, high


def wilson_end(
    share: NDArray[np.float64], constant: Any, slope: Any, curvature: Any, z: float
) -> NDArray[np.float64]:
    """One end of score intervals, if the variance at a share f is a + b f - c f^2.

    Args:
        share: float64, (items,): the estimates.
        constant: a; a float or float64, (items,).
        slope: b, likewise.
        curvature: c, likewise, at least 0.
        z: how many standard errors above the estimate the end lies; below it, if negative.

    Returns:
        float64, (items,).
    """
    leading = 1 + z**2 * curvature
    middle = share + z**2 * slope / 2
    root = np.sqrt(np.maximum(middle**2 - leading * (share**2 - z**2 * constant), 0.0))
    return np.asarray((middle + np.sign(z) * root) / leading)


def detect(
    z_scores: NDArray[np.float64], *, false_finds: FalseFinds = "few", alpha: float = 0.05
) -> NDArray[np.bool_]:
    """Which items are present at all, by one-sided tests corrected for their number.

    Args:
        z_scores: float64, (items,): estimate over its standard error if nobody held the item, or
            the normal quantile of an exact test.
        false_finds: "few" bounds the expected share of false discoveries (Benjamini and Hochberg
            1995), "none" the probability of any.
        alpha: that bound, strictly between 0 and 1.

    Returns:
        bool, (items,).

    Raises:
        ParameterError: if alpha or false_finds is out of range.
    """
    if not 0 < alpha < 1:
        raise ParameterError("alpha", "between 0 and 1", alpha)
    if false_finds not in FALSE_FINDS:
        raise ParameterError("false_finds", f"one of {', '.join(FALSE_FINDS)}", false_finds)
    p_values = special.ndtr(-z_scores)
    count = p_values.size
    if false_finds == "none" or not count:
        return np.asarray(p_values <= alpha / max(count, 1))
    ordered = np.sort(p_values)
    passing = np.flatnonzero(ordered <= alpha * np.arange(1, count + 1) / count)
    threshold = ordered[passing[-1]] if passing.size else -1.0
    return np.asarray(p_values <= threshold)


def adjust_p_values(p_values: NDArray[np.float64], false_finds: FalseFinds) -> NDArray[np.float64]:
    """Corrects p-values for their number.

    Args:
        p_values: float64, (items,).
        false_finds: "few" (Benjamini and Hochberg 1995) or "none" (Bonferroni).
    """
    count = p_values.size
    if false_finds == "none":
        return np.minimum(p_values * count, 1.0)
    order = np.argsort(p_values)
    scaled = p_values[order] * count / np.arange(1, count + 1)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def _require_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError("level", "between 0 and 1", level)
