"""Differences between two periods, and those of means with their errors and tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.estimation.numbers.means import estimate_mean, mean_covariance, mean_parts
from deniable_aggregator.statistics.intervals import z_for_alpha
from deniable_aggregator.tallies import nonempty

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.words import KnownIn, Margin
    from deniable_aggregator.estimation.changes.shapes import ShapeDistance, ShapeTest
    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.estimation.numbers.distribution_estimate import DistributionEstimate

ALPHA: Final = 0.05
"""The level of the tests."""


class Differences(NamedTuple):
    """By how much items, or a mean, differ between two periods; after minus before.

    Attributes:
        before: float64, (items,): the estimate of the first period; unbiased, not clipped.
        after: float64, (items,): of the second.
        standard_error: float64, (items,): of the difference, if the devices are all different.
        same_devices: float64, (items,): the same if they are the same as far as possible; NaN where
            it is not known.
        low: float64, (items,): lower end of the interval of the difference.
        high: float64, (items,): upper end.
        p_value: float64, (items,): of the two-sided test that nothing has changed.
        influence: float64, (items,): how far 1% of fake reports in either period could move the
            difference; of RAPPOR, recursive Hadamard response, pairs and means an upper bound.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    same_devices: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]
    influence: NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """What was compared, and how.

    Attributes:
        items: what is compared; of a mean, the name of the metric.
        margin: what errors allow for.
        not_compared: items that are not known of all reports, and in which period they are. In
            the other they are unknown, which is not 0.
        combined: the change of the share of some items together, or None.
        notices: what a reader must know before these numbers.
        segment: how large the segment is that the shares are within, before and after; or None.
        quantiles: by how much quantiles differ; None but for a distribution.
        distance: how far the distribution has moved; None where that is not known.
        shape: the test that it has not changed; None where there is none.
    """

    items: tuple[str, ...]
    differences: Differences
    kind: Literal["shares", "mean"]
    margin: Margin
    not_compared: Mapping[str, KnownIn] = field(default_factory=dict)
    combined: Measured | None = None
    notices: tuple[Notice, ...] = ()
    segment: tuple[Measured, Measured] | None = None
    quantiles: list[Measured] | None = None
    distance: ShapeDistance | None = None
    shape: ShapeTest | None = None


def compare_means(before: CollectedTallies, after: CollectedTallies, alpha: float) -> Differences:
    """The difference of the means of a ``number``; its errors allow for noise and sampling.

    Args:
        alpha: the probability that the interval may miss, in (0, 1).
    """
    earlier, later = (estimate_mean(side.tallies, periods=side.periods) for side in (before, after))
    parts = [mean_parts(nonempty(side.tallies)) for side in (before, after)]
    common = mean_covariance(parts[0], parts[1], (before.periods, after.periods))
    return _mean_difference(
        (earlier.mean, later.mean),
        earlier.standard_error**2 + later.standard_error**2,
        common,
        earlier.influence + later.influence,
        alpha,
    )


def compare_histogram_means(
    before: DistributionEstimate, after: DistributionEstimate, alpha: float
) -> Differences:
    """The same for a ``distribution``; what the same devices have in common is not known.

    Args:
        alpha: the probability that the interval may miss, in (0, 1).
    """
    sides = before, after
    return _mean_difference(
        (before.mean.value, after.mean.value),
        sum(side.width**2 * side.histogram.mean_variance for side in sides),
        math.nan,
        sum(side.width * side.histogram.influence.mean for side in sides),
        alpha,
    )


def _mean_difference(
    means: tuple[float, float], variance: float, common: float, influence: float, alpha: float
) -> Differences:
    error, difference = math.sqrt(variance), means[1] - means[0]
    same = math.nan if math.isnan(common) else math.sqrt(max(variance - 2 * common, 0.0))
    numbers = (
        means[0],
        means[1],
        error,
        same,
        difference - z_for_alpha(alpha) * error,
        difference + z_for_alpha(alpha) * error,
        float(2 * special.ndtr(-abs(difference) / error)),
        influence,
    )
    return Differences(*(np.array([number]) for number in numbers))
