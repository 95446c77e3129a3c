"""Intervals around raw estimates, also if devices reported repeatedly; which items are present.

How much larger variances are if the same devices may have reported in several periods.

Nobody can tell which reports came from one device, so the largest possible effect is assumed. A
device reports at most once in a period. So among n_1, n_2, ... reports in T periods, at most

    K = sum over all s and t of min(n_s, n_t)

ordered pairs of reports came from one device, a report with itself included: K is n for one period,
and T n for T periods with n reports each. If a part S of a report's variance V is shared by all
reports of its device, the variance of the mean of n reports is at most (V - S) / n + S K / n^2. For
memoised metrics, S is the variance of the permanent answers; about a population, S also has the
variance of what devices hold.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answers.words import FALSE_FINDS, INTERVAL_KINDS, FalseFinds, IntervalKind
from deniable_shared.errors import ParameterError
from deniable_shared.periods import period

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support
    from deniable_shared.spec import Spec


if TYPE_CHECKING:
    Periods = Mapping[int, int]
    """Number of reports by period."""

    PeriodsBySpec = Mapping[bytes, Periods]
    """Number of reports by period, for each spec's digest; a missing spec has one period."""


class RepeatedReports(NamedTuple):
    """The variance that is added because one device may have sent several of the reports.

    Attributes:
        extra: K / n^2 - 1 / n, see the module's docstring; 0 for a single period.
        permanent: the probabilities that a permanent answer supports an item; None without them.
    """

    extra: float = 0.0
    permanent: Support | None = None

    def noise(self, share: Any) -> Any:
        """The variance that is added because a device reuses its permanent answers.

        Args:
            share: the true share, in [0, 1]; a float or float64 array.
        """
        if self.permanent is None:
            return 0.0 * share
        return self.extra * self.permanent.variance(share, 1)

    def variance(self, share: Any, *, population: bool) -> Any:
        """The added variance; about a population also that of sampling fewer different devices."""
        return self.noise(share) + (self.extra * share * (1 - share) if population else 0.0)


def repeats_of(spec: Spec, reports: int, periods: Periods | None) -> RepeatedReports:
    """The effect of repeated reports on the variance of a spec's estimates.

    Args:
        reports: how many there are; at least 1.
        periods: how many of them came in each period; None if all came in one.
    """
    permanent = spec.mechanism.permanent_support()
    if not periods or len(periods) == 1:
        return RepeatedReports(0.0, permanent)
    counted = sum(periods.values())
    return RepeatedReports((shared_pairs(periods, periods) / counted - 1) / reports, permanent)


def reports_by_period(spec: Spec, epochs: Mapping[int, int]) -> dict[int, int]:
    """Number of reports by the metric's own period, from the number of reports by day."""
    counts: Counter[int] = Counter()
    for epoch, reports in epochs.items():
        if reports:
            counts[period(spec.every, epoch)] += reports
    return dict(counts)


def shared_pairs(first_periods: Periods, second_periods: Periods) -> float:
    """How many pairs, one report from each group, may have come from one device, at most.

    Args:
        second_periods: likewise; if it is the same group, every report is paired with itself, too.
    """
    first, second = (np.sort(_counts(periods)) for periods in (first_periods, second_periods))
    before = np.concatenate([[0.0], np.cumsum(second)])
    below = np.searchsorted(second, first)
    return float((before[below] + first * (second.size - below)).sum())


def shared_pairs_across_specs(first_periods: Periods, second_periods: Periods) -> float:
    """As `shared_pairs`, for reports under two specs: in a period a device uses one of them."""
    together = sum(
        min(count, second_periods.get(number, 0)) for number, count in first_periods.items()
    )
    return shared_pairs(first_periods, second_periods) - together


def _counts(periods: Periods) -> NDArray[np.float64]:
    return np.fromiter(periods.values(), np.float64, len(periods))


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
    reports: Any,
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
        reports: how many reports there are; at least 1; an int or int64, (items,).
        support: with which probabilities a report supports an item, likewise.
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


def fieller(
    top: Any, bottom: Any, top_variance: Any, covariance: Any, bottom_variance: Any, z: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fieller's interval of a ratio (1954): all r for which top - r bottom is within z errors of 0.

    A ratio of two unbiased estimates is not unbiased, but this interval covers all the same.

    Args:
        top: float64, any shape: the numerators.
        bottom: float64, likewise, as all others: the denominators.
        top_variance: of the numerators.
        covariance: of both.
        bottom_variance: of the denominators.
        z: half of the interval's width, in standard errors.

    Returns:
        The lower and the upper ends; NaN where the denominator is not positive, or within z
        standard errors of 0, as the interval is unbounded there.
    """
    leading = np.asarray(bottom**2 - z**2 * bottom_variance)
    leading = np.where((bottom > 0) & (leading > 0), leading, np.nan)
    middle = top * bottom - z**2 * covariance
    root = np.sqrt(np.maximum(middle**2 - leading * (top**2 - z**2 * top_variance), 0.0))
    return (middle - root) / leading, (middle + root) / leading
