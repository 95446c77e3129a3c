"""Intervals for the mean of a number, at any number of reports.

A normal interval from a few reports is too short: they may all agree, though some devices hold a
value at an end of the range. Such devices, not seen so far, who hold the value that is r away from
the mean, move it by d if they are a share d / r, and then the variance of a report is d r larger.
So an interval holds every mean at which the estimate is at most z standard errors away, where the
variance grows with the distance; nor can it be larger than that of values at both ends.
"""

from __future__ import annotations

import math

import numpy as np

from deniable_aggregator.statistics import binomial
from deniable_aggregator.statistics.intervals import score_limits, z_for_alpha
from deniable_aggregator.statistics.support_counts import SupportCounts
from deniable_shared.mechanisms import Support


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
    if binomial.is_small_count(counted, alpha):
        low, high = binomial.clopper_pearson_limits(counted, alpha)
    else:
        share = np.asarray(counted.support.share(counted.supporting, reports))
        z = z_for_alpha(alpha)
        low, high = score_limits(share, reports, counted.support, z=z, population=True)
    return float(low[0]), float(high[0])
