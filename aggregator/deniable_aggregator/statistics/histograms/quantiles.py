"""Quantiles of histograms, and their intervals."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.statistics.histograms.histogram_limits import MOST_OTHERS
from deniable_aggregator.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.statistics.histograms.histogram_limits import RawHistogram

_HALF = 0.5
_TAIL = 0.075
_FEW_OTHERS = 6


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
    bin; see `histogram_limits`. Outside of the tails the other side is merged to a few bins, too:
    with many bins and much noise, keeping each of them above zero made the other side too large,
    and 80% were covered. In the tails that was not seen, and there much is gained by it.

    Args:
        quantile: in (0, 1).
        level: the probability that the quantile is in one of these bins.

    Returns:
        The first of the bins, and the one after the last.
    """
    bins, z = raw.share.size, z_for_level(level)
    others = _FEW_OTHERS if _TAIL < quantile < 1 - _TAIL else MOST_OTHERS

    def most_below(edge: int) -> float:
        if quantile < _HALF:
            return raw.upper_limit(0, edge, z, others)
        return 1 - raw.lower_limit(edge, bins, z, others)

    def least_below(edge: int) -> float:
        if quantile < _HALF:
            return raw.lower_limit(0, edge, z, others)
        return 1 - raw.upper_limit(edge, bins, z, others)

    inner = range(1, bins)
    first = bisect_left(inner, quantile, key=most_below)
    last = bisect_left(inner, quantile, key=least_below)
    return min(first, last), max(first, last) + 1
