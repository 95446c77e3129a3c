"""How far fake reports could move a histogram, its mean and its quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.consistency import norm_sub
from deniable_aggregator.statistics.histograms.quantiles import histogram_quantiles
from deniable_aggregator.statistics.histograms.reconstruction import reconstruct
from deniable_aggregator.statistics.influence import FORGED_PER_REPORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Reconstruction
    from deniable_shared.mechanisms import GroupedBins, SquareWave

MOST_OUTCOMES: Final = 128
"""At so many evenly spaced outcomes fake reports are tried."""


class DistributionInfluence(NamedTuple):
    """How far fake reports could move a distribution.

    Attributes:
        bins: float64, (bins,): the share of each bin.
        mean: the mean, in widths of the range.
        quantiles: each quantile by its probability, in widths of the range.
    """

    bins: NDArray[np.float64]
    mean: float
    quantiles: dict[float, float]


def square_wave_influence(
    mechanisms: Sequence[SquareWave],
    counts: Sequence[NDArray[np.int64]],
    *,
    method: Reconstruction,
    mean: float,
    quantiles: Sequence[float],
) -> DistributionInfluence:
    """Adds fake reports at one outcome after another, and reconstructs the histograms each time.

    A reconstructed histogram is not an average of reports, so the worst report is not known in
    closed form; these are the largest moves found.

    Args:
        mechanisms: over the same bins.
        counts: of each one int64, (outcomes,).
        method: "em" or "ems".
        mean: how far the mean can be moved.
    """
    most = max(mechanism.outcomes for mechanism in mechanisms)
    places = np.linspace(0.0, 1.0, min(most, MOST_OUTCOMES))
    shares = np.zeros((places.size + 1, mechanisms[0].size))
    for mechanism, counted in zip(mechanisms, counts, strict=True):
        rows = np.repeat(counted[None].astype(np.float64), places.size + 1, axis=0)
        outcomes = (places * (mechanism.outcomes - 1)).round().astype(int)
        rows[np.arange(places.size), outcomes] += counted.sum() * FORGED_PER_REPORT
        shares += counted.sum() * reconstruct(mechanism, rows, method=method)
    shares /= sum(counted.sum() for counted in counts)
    bins = np.abs(shares[:-1] - shares[-1]).max(axis=0)
    return DistributionInfluence(bins, mean, {q: _apart(shares, q) for q in quantiles})


def dbitflip_influence(
    mechanisms: Sequence[GroupedBins],
    counts: Sequence[NDArray[np.int64]],
    weights: Sequence[NDArray[np.float64]],
    share: NDArray[np.float64],
    bins: NDArray[np.float64],
    quantiles: Sequence[float],
) -> DistributionInfluence:
    """Exact for bins, a bound for the mean, and for quantiles the move by fakes in the last bins.

    Args:
        mechanisms: over the same bins.
        counts: of each one int64, (cells,).
        weights: of each one float64, (bins,): its part in the shares.
        share: float64, (bins,): all of them together.
        bins: float64, (bins,): how far each share can be moved.
    """
    size = share.size
    arms = (np.arange(size) + 0.5) / size - 0.5
    mean, shifted = 0.0, np.repeat(share[None], 3, axis=0)
    for mechanism, counted, weight in zip(mechanisms, counts, weights, strict=True):
        answers = np.maximum(counted[:size], 1).astype(np.float64)
        fakes = counted[:size].sum() / mechanism.buckets * FORGED_PER_REPORT
        support = mechanism.support
        low, high = ((end - support.q) / (support.p - support.q) - share for end in (0.0, 1.0))
        pull = weight * fakes / answers * np.abs(arms) * np.maximum(high, -low)
        groups = (np.arange(size)[:, None] + np.arange(mechanism.buckets)) % size
        mean += float(pull[groups].sum(axis=1).max())
        part = weight * fakes / (answers + fakes)
        for row, last, group in ((0, 0, 0), (1, size - 1, size - mechanism.buckets)):
            answered_bins = groups[group]
            shifted[row, answered_bins] += (part * low)[answered_bins]
            shifted[row, last] += (part * (high - low))[last]
    histograms = norm_sub(shifted)
    return DistributionInfluence(bins, mean, {q: _apart(histograms, q) for q in quantiles})


def _apart(histograms: NDArray[np.float64], quantile: float) -> float:
    """The largest distance of a quantile of the last histogram from the others' quantiles."""
    places: Any = histogram_quantiles(histograms, quantile)
    return float(np.abs(places[:-1] - places[-1]).max())
