"""The share of a distribution above a number, below one, or between two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace
from scipy import special

from deniable_aggregator.answering.estimation.means import range_of
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.histogram_limits import (
    BoundedValue,
    interval_containing,
    normal_interval,
)
from deniable_aggregator.counting.statistics.intervals import z_for_alpha, z_for_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.histograms import Histogram
    from deniable_shared.spec import Spec

_CLOSE: Final = 1e-9
"""Numbers that differ from an edge by such a part of a bin are the edge."""

CHANGE_ALPHA: Final = 0.05
LEAST_VARIANCE: Final = 1e-24

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
    inside, touched = _bins_between(edges, above, below, floor=edges[0] == 0)
    widest = least = _share_of(histogram, touched, level)
    is_exact, shift = np.array_equal(inside, touched), None
    if is_exact:
        shift = _influence(histogram, inside)
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


def change_between(
    sides: tuple[Histogram, Histogram],
    edges: NDArray[np.float64],
    specs: Iterable[Spec],
    above: float | None,
    below: float | None,
    alpha: float,
) -> Measured:
    """How the share between two numbers differs; of raw shares, as no device reported in both.

    Args:
        sides: of the first and of the second period, over the same bins.
        edges: float64, (bins + 1,): of these.
        specs: the versions of both.
        above: as of `share_between`; where it is no edge of a bin, the difference is bracketed.
        below: likewise.
        alpha: the probability that the interval may miss, in (0, 1).
    """
    floor = edges[0] == 0 and all(range_of(spec)[0] >= 0 for spec in specs)
    bins, touched = _bins_between(edges, above, below, floor=floor)
    named = Measured(
        measure="difference in combined",
        value=threshold_in_words(above, below),
        bin_from=above,
        bin_to=below,
        period=1,
    )
    if not np.array_equal(bins, touched):
        return _bracketed(named, sides, bins, touched, alpha)
    chosen = np.isin(np.arange(edges.size - 1), bins).astype(np.float64)
    shares = [float(side.raw.share[bins].sum()) for side in sides]
    difference, error = shares[1] - shares[0], math.sqrt(_variance(sides, bins, bins))
    p_value = float(2 * special.ndtr(-abs(difference) / error))
    shift = sum(side.reach(chosen) for side in sides)
    reach = z_for_alpha(alpha) * error
    return replace(
        named,
        before=shares[0],
        after=shares[1],
        estimate=difference,
        standard_error=error,
        low=difference - reach,
        high=difference + reach,
        p_value=p_value,
        told=p_value <= CHANGE_ALPHA,
        shift_if_fake=shift if shift < 1 else None,
    )


def _bracketed(
    named: Measured,
    sides: tuple[Histogram, Histogram],
    inside: NDArray[np.int64],
    touched: NDArray[np.int64],
    alpha: float,
) -> Measured:
    """The least and the most that a difference can be, wherever within their bins values are.

    The test is of the least difference that there can be.
    """
    least, most = (
        [float(side.raw.share[bins].sum()) for side in sides] for bins in (inside, touched)
    )
    down, up = least[1] - most[0], most[1] - least[0]
    errors = [math.sqrt(_variance(sides, *bins)) for bins in ((touched, inside), (inside, touched))]
    z = z_for_alpha(alpha)
    p_value = min(
        1.0,
        2 * float(min(special.ndtr(-down / errors[0]), special.ndtr(up / errors[1]))),
    )
    return replace(
        named,
        low=min(down, up) - z * errors[0],
        high=max(down, up) + z * errors[1],
        p_value=p_value,
        told=p_value <= CHANGE_ALPHA,
        reason=BRACKETED,
    )


def _variance(
    sides: tuple[Histogram, Histogram], first: NDArray[np.int64], second: NDArray[np.int64]
) -> float:
    """Of a difference of shares, if these are the bins of either side."""
    variance = sum(
        float(side.raw.covariance[np.ix_(bins, bins)].sum())
        for side, bins in zip(sides, (first, second), strict=True)
    )
    return max(variance, LEAST_VARIANCE)


def threshold_in_words(above: float | None, below: float | None) -> str:
    """What is asked for, such as "3000 or more" or "100 to 3000".

    Args:
        above: the lower end; None for no such end.
        below: the upper end; at least one of the two.
    """
    if below is None:
        return f"{above:.10g} or more"
    return f"below {below:.10g}" if above is None else f"{above:.10g} to {below:.10g}"


def _bins_between(
    edges: NDArray[np.float64], above: float | None, below: float | None, *, floor: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bins whose values are surely between two numbers, and those whose values may be.

    Args:
        floor: whether no value can be below the first edge.
    """
    starts, ends = edges[:-1].copy(), edges[1:].copy()
    ends[-1] = math.inf
    if not floor:
        starts[0] = -math.inf
    low = -math.inf if above is None else _at_edge(edges, above)
    high = math.inf if below is None else _at_edge(edges, below)
    if floor:
        low = max(low, float(edges[0]))
    inside = np.flatnonzero((starts >= low) & (ends <= high))
    touched = np.flatnonzero((ends > low) & (starts < high))
    return inside, touched


def _influence(histogram: Histogram, bins: NDArray[np.int64]) -> float:
    """How far 1% of fake reports could move the share of some bins together, at most."""
    moved = histogram.influence.bins
    own = float(moved[bins].sum())
    return min(own, float(moved.sum()) - own, 1.0)


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
