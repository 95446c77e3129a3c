"""Exact intervals and tests for counts that are too small for a normal approximation.

Intervals for the mean of a number, at any number of reports.

A normal interval from a few reports is too short: they may all agree, though some devices hold a
value at an end of the range. Such devices, not seen so far, who hold the value that is r away from
the mean, move it by d if they are a share d / r, and then the variance of a report is d r larger.
So an interval holds every mean at which the estimate is at most z standard errors away, where the
variance grows with the distance; nor can it be larger than that of values at both ends.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.counting.statistics.intervals import score_limits, z_for_alpha
from deniable_shared.mechanisms import Support

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


class SupportCounts(NamedTuple):
    """The counts behind estimates of the support lemma, for exact intervals and tests.

    Attributes:
        supporting: int64, (items,): how many reports support each item.
        support: with which probabilities a report supports an item.
        family_variance: what the choice of a hash family adds to the variance of the noise.
        sampled: whether the reports are those of some of the devices, drawn at random.
    """

    supporting: NDArray[np.int64]
    reports: int
    support: Support
    family_variance: float = 0.0
    sampled: bool = False


def supports_at(supports: Sequence[Support], places: NDArray[np.int64]) -> Any:
    """A `Support` whose probabilities are arrays, for which all of its formulas hold, too.

    Args:
        places: int64: which of the supports.
    """
    columns: Any = [
        np.array([getattr(support, name) for support in supports])[places] for name in ("p", "q")
    ]
    return Support(*columns)


MIN_EXPECTED_SUPPORTERS: Final = 20.0
"""With fewer expected supporters of an absent item, 95% intervals have to be exact."""

_FORGOTTEN: Final = 1e-14

_FEW_SUPPORTERS: Final = 200
_MOST_PROBABLE: Final = 0.95
_SMALLEST: Final = 600.0
"""Terms are worked out from that of no supporter. Of holders it may be too small for a number: then
that of so few supporters is nothing, too, unless nearly every holder supports. Of all others it is
at least e to the power of minus this."""

_HALVED: Final = 4
"""Of so many attempts of a search one halves what is left, as guesses may be wrong."""

_HIGHEST_SCORE: Final = 37.0
_LOWEST_SCORE: Final = -5.0


def is_small_count(counted: SupportCounts, alpha: float) -> bool:
    """Whether an absent item has too few supporters for a normal approximation.

    That is n q < 20 for alpha = 0.05. The error of the approximation grows with the square of the
    quantile, so intervals for many items at once need more.

    Args:
        alpha: the probability that one interval may miss, in (0, 1).
    """
    return bool(counted.reports * counted.support.q < least_expected(alpha))


def least_expected(alpha: float) -> float:
    """How many supporters of an absent item a normal approximation needs; see `is_small_count`."""
    return MIN_EXPECTED_SUPPORTERS * max(1.0, z_for_alpha(alpha) / z_for_alpha(0.05)) ** 2


def log_probabilities(
    counts: NDArray[np.int64], trials: int, probability: float
) -> NDArray[np.float64]:
    """Logarithms of the probabilities of so many successes: float64, like the counts.

    ``scipy.stats`` has it too, and takes longer to import than all of the server.
    """
    failures = trials - counts
    ways = special.gammaln(trials + 1) - special.gammaln(counts + 1) - special.gammaln(failures + 1)
    return np.asarray(
        ways + special.xlogy(counts, probability) + special.xlog1py(failures, -probability)
    )


def clopper_pearson_limits(
    counted: SupportCounts, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clopper and Pearson (1934), mapped through the debiasing: for the population.

    The supporters of an item are binomial, with probability q + f (p - q), if devices are drawn
    from a population in which the share f holds it.

    Returns:
        float64, (items,) twice: both ends; they may lie outside [0, 1].
    """
    low, high = proportion_limits(counted.supporting, counted.reports, alpha)
    p, q = counted.support.p, counted.support.q
    return (low - q) / (p - q), (high - q) / (p - q)


def proportion_limits(
    count: Any, trials: Any, alpha: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clopper and Pearson's interval for a probability.

    Args:
        count: how often it happened; integers, or float64 for an effective number (Korn and
            Graubard 1998).
        trials: of how many, at least 1; of a shape that fits, as alpha.
        alpha: the probability that one interval may miss, in (0, 1).
    """
    count = np.asarray(count, np.float64)
    inside = (count > 0) & (count < trials)
    safe = np.where(inside, count, trials / 2)
    low = special.betaincinv(safe, trials - safe + 1, alpha / 2)
    high = special.betaincinv(safe + 1, trials - safe, 1 - alpha / 2)
    edge = (alpha / 2) ** (1 / trials)
    low = np.where(inside, low, np.where(count > 0, edge, 0.0))
    high = np.where(inside, high, np.where(count > 0, 1.0, 1 - edge))
    return low, high


def finite_population_limits(
    counted: SupportCounts, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same construction for these devices alone: the numbers of holders that are not rejected.

    With h holders among n devices, Bin(h, p) + Bin(n - h, q) reports support the item. The interval
    contains every h for which neither tail beyond the count is below alpha / 2. It is shorter than
    Clopper and Pearson's, which also covers the drawing of the devices. Where even h = 0 or h = n
    is not rejected, their limit is used, which lies outside [0, 1]: an end at 0 or 1 would say that
    the estimate cannot be off in that direction, which is wrong once it is combined with others.

    Returns:
        float64, (items,) twice: both ends.
    """
    return finite_population_limits_of([counted], alpha)[0]


def finite_population_limits_of(
    counted: Sequence[SupportCounts], alpha: float
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """As `finite_population_limits` for each of several counts; all are searched for at once."""
    if not counted:
        return []
    sizes = [each.supporting.size for each in counted]
    supporting = np.concatenate([each.supporting for each in counted])
    # Of each of them every different count once.
    base = int(supporting.max(initial=0)) + 1
    codes = np.repeat(np.arange(len(counted)), sizes) * base + supporting
    unique, where = np.unique(codes, return_inverse=True)
    of, different = np.divmod(unique, base)
    supports = [each.support for each in counted]
    reports = np.array([each.reports for each in counted])[of]
    support = supports_at(supports, of)
    width = int(special.bdtrik(1 - _FORGOTTEN, reports, support.q).max(initial=0)) + 2
    background = np.arange(min(width, int(reports.max(initial=0))) + 1)

    # Counts of a few are added up term by term, which costs a tenth of their distributions.
    small = reports * -np.log1p(-support.q) <= _SMALLEST
    few = (different <= _FEW_SUPPORTERS) & (support.p <= _MOST_PROBABLE) & small

    def at_most(
        count: NDArray[np.int64], holders: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """P(supporters <= count), summed over the number of supporters that are not holders."""
        found, is_few, others = np.empty(count.size), few[at], reports[at] - holders
        p, q = support.p[at], support.q[at]
        if is_few.any():
            own, beside = (holders[is_few], p[is_few]), (others[is_few], q[is_few])
            found[is_few] = _few_at_most(count[is_few], own, beside, background.size)
        if is_few.all():
            return found
        count, holders, others, p, q = (
            column[~is_few, None] for column in (count, holders, others, p, q)
        )
        weights = np.diff(_cdf(background, others, q), axis=1, prepend=0.0)
        found[~is_few] = (weights * _cdf(count - background, holders, p)).sum(axis=1)
        return found

    # Of each interval the most holders that fit, and the most that are too few to fit.
    ends, both = np.concatenate([different, different - 1]), np.tile(np.arange(different.size), 2)
    is_high = np.arange(ends.size) < different.size
    goal = special.ndtri(np.where(is_high, alpha / 2, 1 - alpha / 2))

    def judge(
        chosen: NDArray[np.int64], holders: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        at = both[chosen]
        tail = at_most(ends[chosen], holders, at)
        fits = np.where(is_high[chosen], tail > alpha / 2, 1 - tail <= alpha / 2)
        own = supports_at(supports, of[at])
        deviation = np.sqrt(reports[at] * own.variance(holders / reports[at], 1))
        return fits, (special.ndtri(tail) - goal[chosen]) * deviation

    share = support.share(different, reports)
    normal = score_limits(share, reports, support, z=z_for_alpha(alpha))
    guess = reports[both] * np.concatenate(normal[::-1])
    found = _last_fitting(guess, reports[both], judge)
    high, low = found[: different.size], found[different.size :] + 1
    beyond = [
        (end - support.q) / (support.p - support.q)
        for end in proportion_limits(different, reports, alpha)
    ]
    low_end = np.where((low > 0) & (low <= reports), low / reports, beyond[0])
    high_end = np.where((high >= 0) & (high < reports), high / reports, beyond[1])
    cuts = np.cumsum(sizes)[:-1]
    return list(zip(*(np.split(end[where], cuts) for end in (low_end, high_end)), strict=True))


def _last_fitting(
    guess: NDArray[np.float64],
    most: NDArray[np.int64],
    judge: Callable[
        [NDArray[np.int64], NDArray[np.int64]], tuple[NDArray[np.bool_], NDArray[np.float64]]
    ],
) -> NDArray[np.int64]:
    """The last integer of each of several searches that fits, as all before it do; -1 for none.

    Args:
        guess: float64, (searches,): about where it is.
        most: int64, (searches,): the last integer that there is.
        judge: called with the places of some searches and an integer for each, int64, (some,);
            returns whether it fits, and about how far after it the last one is; infinite where
            that cannot be told.
    """
    fitting, failing = np.full(guess.size, -1), most + 1
    for attempt in itertools.count(1):
        left = np.flatnonzero(failing - fitting > 1)
        if not left.size:
            return fitting
        near = guess[left]
        lost = ~np.isfinite(near) | (attempt % _HALVED == 0)
        near = np.floor(np.where(lost, (fitting[left] + failing[left]) / 2, near))
        tried = np.clip(near, fitting[left] + 1, failing[left] - 1).astype(np.int64)
        fits, beyond = judge(left, tried)
        fitting[left] = np.where(fits, tried, fitting[left])
        failing[left] = np.where(fits, failing[left], tried)
        guess[left] = tried + beyond
    raise AssertionError("unreachable")


def null_scores(counted: SupportCounts, repeated: float = 0.0) -> NDArray[np.float64]:
    """How surprising each count would be if nobody held the item, as a z-score.

    The exact binomial tail P(Bin(n, q) >= count), turned into the normal quantile with the same
    tail and shrunk by the error of a hash family, if there is one.

    Args:
        repeated: the variance that reports of the same devices add; they shrink it, too.

    Returns:
        float64, (items,), in [-5, 37].
    """
    different, where = np.unique(counted.supporting, return_inverse=True)
    reports, support = counted.reports, counted.support
    tail = 1 - _cdf(different - 1, np.int64(reports), support.q)
    small = (different > 0) & (tail < 0.5)
    tail[small] = special.betainc(
        different[small], reports - different[small] + 1.0, support.q
    )  # 1 - cdf would cancel
    scores = np.clip(-special.ndtri(tail), _LOWEST_SCORE, _HIGHEST_SCORE)
    noise = support.variance(0.0, reports)
    return np.asarray(
        (scores * np.sqrt(noise / (noise + counted.family_variance + repeated)))[where]
    )


def _few_at_most(
    count: NDArray[np.int64],
    holders: tuple[NDArray[np.int64], NDArray[np.float64]],
    others: tuple[NDArray[np.int64], NDArray[np.float64]],
    width: int,
) -> NDArray[np.float64]:
    """P(Bin(holders) + Bin(others) <= count), for small counts.

    Args:
        count: int64, (counts,), from -1 on.
        holders: int64 and float64, (counts,), each: how many there are, and how probably each
            supports the item.
        others: likewise, of those that do not hold it.
        width: of how many supporters that are not holders the probability is more than nothing.
    """
    most = int(count.max(initial=0))
    own = np.cumsum(_probabilities(*holders, most + 1), axis=1)
    beside = _probabilities(*others, min(width, most + 1))
    remaining = count[:, None] - np.arange(beside.shape[1])
    own = np.take_along_axis(own, np.maximum(remaining, 0), axis=1)
    return np.asarray(np.where(remaining >= 0, beside * own, 0.0).sum(axis=1))


def _probabilities(
    trials: NDArray[np.int64], probability: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """P(Bin(trials, probability) = 0, 1, ...), each from the one before: (trials, size)."""
    factors = np.empty((trials.size, size))
    factors[:, 0] = np.exp(trials * np.log1p(-probability))
    number = np.arange(1, size)
    odds = (probability / (1 - probability))[:, None]
    factors[:, 1:] = np.maximum(trials[:, None] + 1 - number, 0) / number * odds
    return np.asarray(np.cumprod(factors, axis=1), np.float64)


def _cdf(count: Any, trials: Any, probability: Any) -> NDArray[np.float64]:
    """P(Bin(trials, probability) <= count) for any integers."""
    inside = (count >= 0) & (count < trials)
    k, n = np.where(inside, count, 0), np.where(inside, trials, 1)
    beta = special.betainc(n - k, k + 1.0, 1 - probability)
    return np.asarray(np.where(inside, beta, count >= 0))


def mean_limits(
    mean: float, variance: float, ends: tuple[float, float], reports: int, alpha: float
) -> tuple[float, float]:
    """The ends of an interval, in widths of the range above its lower end.

    Args:
        mean: the estimate; may lie outside [0, 1].
        variance: of a report, as far as the reports show it.
        ends: the variance of a report about the lower end of the range, and about the upper.
        reports: how many there are; at least 1.
        alpha: the probability that the interval may miss, in (0, 1).
    """
    # One report or two are skewed, which no variance says: measured, as the tests do.
    z = z_for_alpha(alpha) * (1 + 1 / reports**2)
    near, place = z**2 / (2 * reports), min(max(mean, 0.0), 1.0)

    def distance(reach: float) -> float:
        return near * reach + math.sqrt((near * reach) ** 2 + z**2 * variance / reports)

    # Values at both ends with mean m: ends[0] + m (1 + ends[1] - ends[0]) - m^2 is the variance.
    slope = 1 + ends[1] - ends[0]
    leading = 1 + z**2 / reports
    middle = mean + near * slope
    root = math.sqrt(max(middle**2 - leading * (mean**2 - z**2 * ends[0] / reports), 0.0))
    return (
        min(max(mean - distance(place), (middle - root) / leading), mean),
        max(min(mean + distance(1 - place), (middle + root) / leading), mean),
    )


def bit_limits(ones: int, reports: int, lie: float, alpha: float) -> tuple[float, float]:
    """The same for reports of a bit: exact, or by the score where there are enough of them.

    Args:
        ones: how many bits are 1.
        reports: how many there are; at least 1.
        lie: the probability of a 1 at the lower end, and of a 0 at the upper; below 1/2.
        alpha: the probability that the interval may miss, in (0, 1).
    """
    counted = SupportCounts(np.array([ones]), reports, Support(1 - lie, lie))
    if is_small_count(counted, alpha):
        low, high = clopper_pearson_limits(counted, alpha)
    else:
        share = np.asarray(counted.support.share(counted.supporting, reports))
        z = z_for_alpha(alpha)
        low, high = score_limits(share, reports, counted.support, z=z, population=True)
    return float(low[0]), float(high[0])
