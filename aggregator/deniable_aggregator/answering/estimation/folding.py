"""Histograms over unlike bins, brought to those edges that all of them have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answering.estimation.distributions import (
    DistributionEstimate,
    place_quantile,
)
from deniable_aggregator.answering.estimation.histograms import DistributionInfluence, Histogram
from deniable_aggregator.answering.estimation.means import range_of
from deniable_aggregator.counting.statistics.histogram_limits import RawHistogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec

_CLOSE: Final = 1e-9
"""Edges that differ by such a part of a bin are the same."""


def edges_of(spec: Spec) -> NDArray[np.float64]:
    """The edges of the bins of a ``distribution``: float64, (bins + 1,)."""
    return np.linspace(*range_of(spec), spec.bins + 1)


def edges_between(spec: Spec, low: float, high: float) -> NDArray[np.float64] | None:
    """The edges of a ``distribution`` between two numbers, if these are edges of it, too.

    Args:
        low: the first of them.
        high: the last.
    """
    edges = edges_of(spec)
    close = _CLOSE * (edges[1] - edges[0])
    chosen = np.asarray(edges[(edges >= low - close) & (edges <= high + close)])
    if chosen.size < 2 or abs(chosen[0] - low) > close or abs(chosen[-1] - high) > close:
        return None
    return chosen


def common_edges(first: Sequence[float], second: Sequence[float]) -> NDArray[np.float64] | None:
    """The edges that two histograms have in common, as far as bins can be combined.

    Values outside of a range are in its first and last bin. So the first and the last of the common
    bins hold all values below and above them, too, and an edge counts only if it is inside of both
    ranges: the ends of a range are no edges of a wider one's values.

    Args:
        first: of the one, ascending and evenly spaced.
        second: of the other.

    Returns:
        Evenly spaced edges of at least two bins; None if there are none.
    """
    one, other = (np.asarray(edges, np.float64) for edges in (first, second))
    close = _CLOSE * min(one[1] - one[0], other[1] - other[0])
    places = np.clip(np.searchsorted(other, one - close), 0, other.size - 1)
    same = np.abs(other[places] - one) <= close
    inside = (one > max(one[0], other[0]) + close) & (one < min(one[-1], other[-1]) - close)
    inner = one[same & inside]
    if not inner.size:
        return None
    if inner.size > 1:
        width = float(inner[1] - inner[0])
    else:
        width = float(min(inner[0] - max(one[0], other[0]), min(one[-1], other[-1]) - inner[0]))
    return np.concatenate([[inner[0] - width], inner, [inner[-1] + width]])


def fold(estimate: DistributionEstimate, edges: NDArray[np.float64]) -> DistributionEstimate:
    """The same histogram over fewer bins; the first and last hold all that lies beyond them.

    The mean becomes that of the middles of these bins.

    Args:
        edges: as of `common_edges`.
    """
    if edges.size == estimate.edges.size and np.allclose(edges, estimate.edges):
        return estimate
    middles = (estimate.edges[1:] + estimate.edges[:-1]) / 2
    places = np.clip(np.searchsorted(edges, middles) - 1, 0, edges.size - 2)
    merge = np.zeros((edges.size - 1, middles.size))
    merge[places, np.arange(middles.size)] = 1.0
    whole = estimate.histogram
    raw = RawHistogram(merge @ whole.raw.share, merge @ whole.raw.covariance @ merge.T)
    arms = (np.arange(edges.size - 1) + 0.5) / (edges.size - 1) - 0.5
    ratio = estimate.width / float(edges[-1] - edges[0])
    moved = whole.influence
    bins = np.minimum(merge @ moved.bins, 1.0)
    histogram = Histogram(
        whole.method,
        merge @ whole.held,
        raw,
        0.5 + float(arms @ raw.share),
        max(float(arms @ raw.covariance @ arms), 0.0),
        DistributionInfluence(
            bins,
            whole.reach(arms @ merge),
            {quantile: ratio * far for quantile, far in moved.quantiles.items()},
        ),
        lambda weights: whole.reach(weights @ merge),
        (),
        whole.reports,
    )
    return replace(
        estimate,
        edges=edges,
        histogram=histogram,
        quantiles={
            quantile: place_quantile(histogram, edges, quantile, estimate.level)
            for quantile in estimate.quantiles
        },
    )
