"""Quantiles of histograms, and their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.consistency import norm_sub
from deniable_aggregator.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLACES_IN_BIN: Final = 64


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
    """An interval, widened if its estimate lies outside: all bootstrap replicates may miss it."""
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


def inverted_test_interval(
    share: NDArray[np.float64],
    covariance: NDArray[np.float64],
    null_variance: NDArray[np.float64],
    quantile: float,
    level: float,
) -> BoundedValue:
    """A quantile of raw shares; the interval is the set of positions that a test does not reject.

    The share below a position is estimated twice, from the bins below it and as 1 minus the bins
    above it, and both estimates are weighted by their noise. This works on raw shares, so no bias
    of a projection has to be covered by the interval (Woodruff 1952).

    Args:
        share: float64, (bins,): raw estimates.
        covariance: float64, (bins, bins): of the estimates.
        null_variance: float64, (bins,): of empty bins, so that weights do not depend on the data.
        quantile: in (0, 1).
        level: of the interval.
    """
    below, above = np.cumsum(null_variance)[:-1], _from_the_end(null_variance)
    left = above / (below + above)
    estimate = left * np.cumsum(share)[:-1] + (1 - left) * (1 - _from_the_end(share))
    signs = np.tri(share.size)[:-1] - (1 - left)[:, None]  # weight of each bin in each estimate
    noise = np.maximum(((signs @ covariance) * signs).sum(axis=1), 0.0)
    edges = np.linspace(0.0, 1.0, share.size + 1)
    places = np.linspace(0.0, 1.0, PLACES_IN_BIN * share.size + 1)
    reached = np.interp(places, edges, np.concatenate([[0.0], estimate, [1.0]]))
    error = np.interp(places, edges, np.concatenate([[0.0], np.sqrt(noise), [0.0]]))
    # The estimate may cross the quantile between two positions: keep the positions around it.
    steps = np.abs(np.diff(reached))
    nearest = np.maximum(np.append(steps, 0.0), np.append(0.0, steps))
    possible = places[np.abs(reached - quantile) <= z_for_level(level) * error + nearest]
    value = float(histogram_quantiles(norm_sub(share)[None], quantile)[0])
    return interval_containing(value, float(possible[0]), float(possible[-1]))


def _from_the_end(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each inner edge the sum of the bins above it: float64, (bins - 1,)."""
    return np.asarray(np.cumsum(values[::-1])[-2::-1])
