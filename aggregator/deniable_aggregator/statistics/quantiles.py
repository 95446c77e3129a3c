"""Quantiles of histograms, and their intervals."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.statistics.histogram_limits import RawHistogram

_HALF = 0.5


class BoundedValue(NamedTuple):
    """An estimate with the ends of its interval."""

    value: float
    low: float
    high: float


def normal_interval(value: float, variance: float, level: float) -> BoundedValue:
    """The normal interval of an estimate with this variance."""
    half_width = z_for_level(level) * variance**0.5
    return BoundedValue(value, value - half_width, value + half_width)


def interval_containing(value: float, low: float, high: float) -> BoundedValue:
    """An interval, widened if its estimate lies outside."""
    return BoundedValue(value, min(value, low), max(value, high))


def histogram_quantiles(histograms: NDArray[np.float64], quantile: float) -> NDArray[np.float64]:
    """The position below which a given share of each histogram lies, in widths of the range.

    Within a bin, values are taken to be spread evenly.

    Args:
        histograms: float64, (histograms, bins), each of sum 1.
        quantile: in (0, 1).
    """
    below = np.cumsum(histograms, axis=1)
    bins = histograms.shape[1]
    index = np.minimum((below < quantile).sum(axis=1), bins - 1)[:, None]
    inside = np.take_along_axis(histograms, index, axis=1)
    before = np.take_along_axis(below, index, axis=1) - inside
    part = np.clip((quantile - before) / np.where(inside > 0, inside, 1.0), 0.0, 1.0)
    return np.asarray((index + part)[:, 0] / bins)


def quantile_bins(raw: RawHistogram, quantile: float, level: float) -> tuple[int, int]:
    """The bins in which a quantile may be.

    They reach from the first bin whose share and all below it may add up to the quantile, to the
    last one for which those below it may add up to less (Woodruff 1952). Whole bins are kept, since
    nothing is known about where within a bin values are.

    The share below an edge is that of the smaller side, if the quantile lies there, merged to one
    bin; see `histogram_limits`.

    Args:
        raw: the raw shares of the bins.
        quantile: in (0, 1).
        level: the probability that the quantile is in one of these bins.

    Returns:
        The first of the bins, and the one after the last.
    """
    bins, z = raw.share.size, z_for_level(level)

    def most_below(edge: int) -> float:
        if quantile < _HALF:
            return raw.upper_limit(0, edge, z)
        return 1 - raw.lower_limit(edge, bins, z)

    def least_below(edge: int) -> float:
        if quantile < _HALF:
            return raw.lower_limit(0, edge, z)
        return 1 - raw.upper_limit(edge, bins, z)

    inner = range(1, bins)
    first = bisect_left(inner, quantile, key=most_below)
    last = bisect_left(inner, quantile, key=least_below)
    return min(first, last), max(first, last) + 1
