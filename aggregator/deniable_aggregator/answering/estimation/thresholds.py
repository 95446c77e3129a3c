"""The share of a distribution above a number, below one, or between two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.histogram_limits import (
    BoundedValue,
    interval_containing,
    normal_interval,
)
from deniable_aggregator.counting.statistics.intervals import z_for_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.histograms import Histogram

_CLOSE: Final = 1e-9
"""Numbers that differ from an edge by such a part of a bin are the edge."""

BRACKETED: Final = "an end lies within a bin, or where values beyond the range are recorded too"
"""Why a share has ends and no estimate."""


def share_between(
    histogram: Histogram,
    edges: NDArray[np.float64],
    above: float | None,
    below: float | None,
    level: float,
) -> Measured:
    """The share of the values from one number on that are below another.

    At edges of bins it is the sum of the bins between. Elsewhere nothing is known about where
    within a bin values are: then it has no estimate, its lower end is that of the bins that are
    surely between, and its upper end that of those that may be. The last bin holds all values above
    the range, too, and the first all below it, unless the range begins at 0.

    Args:
        histogram: with reports.
        edges: float64, (bins + 1,): of its bins.
        above: the first number; None for no lower end.
        below: the second; None for no upper end.
        level: of the interval, in (0, 1).
    """
    starts, ends = edges[:-1].copy(), edges[1:].copy()
    ends[-1] = math.inf
    if edges[0] != 0:
        starts[0] = -math.inf
    low = -math.inf if above is None else _at_edge(edges, above)
    high = math.inf if below is None else _at_edge(edges, below)
    if edges[0] == 0:
        low = max(low, 0.0)
    inside = np.flatnonzero((starts >= low) & (ends <= high))
    touched = np.flatnonzero((ends > low) & (starts < high))
    widest = least = _share_of(histogram, touched, level)
    is_exact, shift = np.array_equal(inside, touched), None
    if is_exact:
        moved = histogram.influence.bins
        shift = float(min(moved[inside].sum(), moved.sum() - moved[inside].sum(), 1.0))
    else:
        least = _share_of(histogram, inside, level)
    return Measured(
        measure="share",
        value=threshold_in_words(above, below),
        bin_from=above,
        bin_to=below,
        estimate=widest.value if is_exact else None,
        low=least.low,
        high=widest.high,
        told=least.low > 0,
        shift_if_fake=shift,
        method=histogram.method,
        reason=None if is_exact else BRACKETED,
    )


def threshold_in_words(above: float | None, below: float | None) -> str:
    """What is asked for, such as "3000 or more" or "100 to 3000".

    Args:
        above: the lower end; None for no such end.
        below: the upper end; at least one of the two.
    """
    if below is None:
        return f"{above:.10g} or more"
    return f"below {below:.10g}" if above is None else f"{above:.10g} to {below:.10g}"


def _at_edge(edges: NDArray[np.float64], number: float) -> float:
    """The edge that a number is, but for rounding; else the number."""
    nearest = float(edges[np.abs(edges - number).argmin()])
    return nearest if abs(nearest - number) <= _CLOSE * float(edges[1] - edges[0]) else number


def _share_of(histogram: Histogram, bins: NDArray[np.int64], level: float) -> BoundedValue:
    """The share of some neighbouring bins together."""
    if bins.size in (0, histogram.held.size):
        share = float(bins.size > 0)
        return BoundedValue(share, share, share)
    first, last = int(bins[0]), int(bins[-1]) + 1
    if histogram.method == "unbiased":
        raw = histogram.raw
        variance = float(raw.covariance[first:last, first:last].sum())
        return normal_interval(float(raw.share[first:last].sum()), variance, level)
    limits = histogram.raw.limits(first, last, z_for_level(level))
    return interval_containing(float(histogram.held[first:last].sum()), *limits)
