"""Quantiles of histograms, and what surrounds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.consistency import norm_sub
from deniable_aggregator.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLACES_IN_BIN: Final = 64


class BoundedValue(NamedTuple):
    """An estimate between its limits."""

    value: float
    low: float
    high: float


def normal_interval(value: float, variance: float, level: float) -> BoundedValue:
    """The normal interval of an estimate with this variance."""
    half_width = z_for_level(level) * variance**0.5
    return BoundedValue(value, value - half_width, value + half_width)


def interval_containing(value: float, low: float, high: float) -> BoundedValue:
    """An interval that is made to contain its estimate: replicates can all miss it a little."""
    return BoundedValue(value, min(value, low), max(value, high))


def histogram_quantiles(histograms: NDArray[np.float64], quantile: float) -> NDArray[np.float64]:
    """Where so much of each histogram is below, in widths of the range; linear within a bin.

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
    """A quantile of raw shares; its interval are all places that a test does not rule out.

    What is below a place is estimated from the shares there and from those above it, which make up
    the rest of 1, weighted by how little noise they have. This needs no projection, whose bias
    would have to be in the interval (Woodruff 1952).

    Args:
        share: float64, (bins,): raw.
        covariance: float64, (bins, bins), of those.
        null_variance: float64, (bins,): of empty bins, for weights that do not look at the data.
        quantile: in (0, 1).
        level: of the interval.
    """
    below, above = np.cumsum(null_variance)[:-1], _from_the_end(null_variance)
    left = above / (below + above)
    estimate = left * np.cumsum(share)[:-1] + (1 - left) * (1 - _from_the_end(share))
    signs = np.tri(share.size)[:-1] - (1 - left)[:, None]  # of each bin in each estimate
    noise = np.maximum(((signs @ covariance) * signs).sum(axis=1), 0.0)
    edges = np.linspace(0.0, 1.0, share.size + 1)
    places = np.linspace(0.0, 1.0, PLACES_IN_BIN * share.size + 1)
    reached = np.interp(places, edges, np.concatenate([[0.0], estimate, [1.0]]))
    error = np.interp(places, edges, np.concatenate([[0.0], np.sqrt(noise), [0.0]]))
    # Between two places the estimate moves by a step, and crosses the quantile in one of them.
    steps = np.abs(np.diff(reached))
    nearest = np.maximum(np.append(steps, 0.0), np.append(0.0, steps))
    possible = places[np.abs(reached - quantile) <= z_for_level(level) * error + nearest]
    value = float(histogram_quantiles(norm_sub(share)[None], quantile)[0])
    return interval_containing(value, float(possible[0]), float(possible[-1]))


def _from_the_end(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each inner edge the sum of the bins above it: float64, (bins - 1,)."""
    return np.asarray(np.cumsum(values[::-1])[-2::-1])
