"""By how much quantiles differ between two periods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answers.measured import Measured

if TYPE_CHECKING:
    from deniable_aggregator.estimation.numbers.distribution_estimate import DistributionEstimate

COMPARED_QUANTILES: Final = (0.25, 0.5, 0.75, 0.95)
"""Those that are compared where no others are asked for."""


def compare_quantiles(before: DistributionEstimate, after: DistributionEstimate) -> list[Measured]:
    """The differences of the quantiles that both have, after minus before.

    The interval of the difference of the bins in which they are comes from the intervals of both
    (Zou and Donner 2008): with d = b - a and intervals [l, u], it goes from
    d - sqrt((b - l_b)^2 + (u_a - a)^2) to d + sqrt((u_b - b)^2 + (a - l_a)^2). A quantile is
    somewhere in its bin, so a whole bin is added to either side: where values are within a bin is
    not random, and nothing of it averages out.

    Args:
        after: of the second; the same quantiles were asked for.
    """
    return [_difference(before, after, quantile) for quantile in before.quantiles]


def _difference(
    before: DistributionEstimate, after: DistributionEstimate, quantile: float
) -> Measured:
    places = [_bin(side, quantile) for side in (before, after)]
    (first, first_low, first_high), (second, second_low, second_high) = places
    apart = second - first
    low = apart - math.hypot(second - second_low, first_high - first) - _bin_width(before)
    high = apart + math.hypot(second_high - second, first - first_low) + _bin_width(after)
    earlier, later = (side.quantiles[quantile].value for side in (before, after))
    change = None if earlier is None or later is None else later - earlier
    moved = (side.width * side.histogram.influence.quantiles[quantile] for side in (before, after))
    return Measured(
        measure="difference in quantile",
        quantile=quantile,
        period=1,
        before=earlier,
        after=later,
        estimate=None if change is None else min(max(change, low), high),
        low=low,
        high=high,
        told=low > 0 or high < 0,
        shift_if_fake=sum(moved),
    )


def _bin(estimate: DistributionEstimate, quantile: float) -> tuple[float, float, float]:
    """The lower end of the bin in which a quantile is, and the lowest and highest it may have."""
    placed, width = estimate.quantiles[quantile], _bin_width(estimate)
    low, high = placed.low, placed.high - width
    value = (low + high) / 2 if placed.value is None else placed.value
    edges = estimate.edges
    at = float(edges[np.searchsorted(edges, value * (1 + 1e-12), side="right") - 1])
    return min(max(at, low), high), low, high


def _bin_width(estimate: DistributionEstimate) -> float:
    return float(estimate.edges[1] - estimate.edges[0])
