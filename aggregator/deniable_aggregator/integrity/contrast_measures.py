"""By how much two sets of reports of one metric differ, in what people read: shares or means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.tallies import ShareTally
from deniable_aggregator.tallies.dbitflip import DBitFlipTally
from deniable_aggregator.tallies.grouped import GroupedTally
from deniable_aggregator.tallies.numeric import NumberTally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.tallies import Tally

LEAST_WEIGHT: Final = 50.0
"""Fewer reports than these are not compared."""

PARTS: Final = 256


class Contrast(NamedTuple):
    """By how much a key differs from the others where it differs most.

    Attributes:
        kind: whether a share, a mean or (of strings, whose values are not known) all of what
            reports say is compared.
        value: the value whose shares are compared, or None.
        own: the estimate of the key.
        difference: how far they are apart: of a share from 0 to 1, of a mean as a part of the
            range, of strings the distance of all shares (root of the sum of squares).
        least: the lower end of its interval, corrected for the number of comparisons.
    """

    kind: Literal["share", "mean", "distance"]
    value: str | None
    own: float | None
    others: float | None
    difference: float
    least: float


def measure_contrast(
    tally: Tally,
    own_counts: NDArray[np.float64],
    other_counts: NDArray[np.float64],
    noise_of_own: float,
    alpha: float,
) -> Contrast | None:
    """By how much reports differ from as many others.

    Args:
        own_counts: float64, (cells,): the counts of one side, weighted by day.
        other_counts: float64, (cells,): of the other, of about as many reports.
        noise_of_own: which part of the noise of their difference is that of the one side, in
            (0, 1): nearly all of it, if the counts of the other are those of many more reports.
        alpha: the probability that `least` is above the true difference, at most.

    Returns:
        None where there are too few reports, or nothing to compare.
    """
    own, rest_counts = (np.rint(counts).astype(np.int64) for counts in (own_counts, other_counts))
    if min(tally.reports(own), tally.reports(rest_counts)) < LEAST_WEIGHT:
        return None
    if isinstance(tally, NumberTally):
        return _of_means(tally, own, rest_counts, alpha)
    if isinstance(tally, DBitFlipTally):
        bins = [str(number + 1) for number in range(tally.cells // 2)]
        estimates = [tally.shares(counts) for counts in (own, rest_counts)]
        sides = [
            _with_sampling(estimate.share, estimate.variance, tally.reports(side))
            for estimate, side in zip(estimates, (own, rest_counts), strict=True)
        ]
        return _of_shares(bins, sides, alpha)
    if isinstance(tally, GroupedTally):
        # A group has few reports: so that rounding is no noise, they are counted in parts.
        own, rest_counts = (
            np.rint(counts * PARTS).astype(np.int64) for counts in (own_counts, other_counts)
        )
        return _of_groups(tally, own, rest_counts, noise_of_own, alpha)
    if isinstance(tally, ShareTally):
        items = tally.spec.items
        shares = tally.shares_of_slices(np.stack([own, rest_counts]), items)
        reports = tally.reports(own), tally.reports(rest_counts)
        return _of_shares(items, list(map(_with_sampling, *shares, reports)), alpha)
    return None


def _of_means(
    tally: NumberTally, own: NDArray[np.int64], rest_counts: NDArray[np.int64], alpha: float
) -> Contrast:
    own_mean, rest_mean = tally.mean(own), tally.mean(rest_counts)
    difference = abs(own_mean.mean - rest_mean.mean)
    # Days are weighted so that the variance of the difference is that of one side's mean.
    half = _z(alpha, 1) * max(own_mean.variance, rest_mean.variance) ** 0.5
    return Contrast(
        "mean",
        None,
        _in_unit(tally, own_mean.mean),
        _in_unit(tally, rest_mean.mean),
        difference,
        max(difference - half, 0.0),
    )


def _in_unit(tally: Tally, mean: float) -> float:
    """A mean in the metric's own unit, from one in widths of its range."""
    low, high = map(float, tally.spec.range or (0, 1))
    return low + mean * (high - low)


class _Side(NamedTuple):
    """The shares of one side.

    Attributes:
        share: float64, (items,).
        variance: float64, (items,): with that of having sampled the devices.
    """

    share: NDArray[np.float64]
    variance: NDArray[np.float64]


def _with_sampling(
    share: NDArray[np.float64], variance: NDArray[np.float64], reports: int
) -> _Side:
    clipped = np.clip(share, 0.0, 1.0)
    return _Side(share, variance + clipped * (1 - clipped) / reports)


def _of_shares(items: Sequence[str], sides: Sequence[_Side], alpha: float) -> Contrast | None:
    own, rest = sides
    difference = np.abs(own.share - rest.share)
    half = _z(alpha, len(items)) * np.sqrt(np.maximum(own.variance, rest.variance))
    least = np.maximum(difference - half, 0.0)
    if not np.isfinite(half).any():
        return None
    place = int(np.lexsort((difference, least))[-1])
    return Contrast(
        "share",
        items[place],
        float(own.share[place]),
        float(rest.share[place]),
        float(difference[place]),
        float(least[place]),
    )


def _of_groups(
    tally: GroupedTally,
    own: NDArray[np.int64],
    rest_counts: NDArray[np.int64],
    noise_of_own: float,
    alpha: float,
) -> Contrast | None:
    """The distance of all shares, from the buckets of all rows: no string need be known.

    Of each row the squared difference of every bucket, less what noise makes it, estimates without
    bias the sum over all strings of their squared differences.
    """
    reports, ones = tally.supported_by_group(own)
    other_reports, other_ones = tally.supported_by_group(rest_counts)
    used = np.minimum(reports, other_reports) >= PARTS
    if not used.any():
        return None
    # Of each group there may be more or fewer reports than its part.
    weight = (1 / PARTS) / (
        noise_of_own / reports[used, None] + (1 - noise_of_own) / other_reports[used, None]
    )
    first = ones[used] / reports[used, None]
    second = other_ones[used] / other_reports[used, None]
    pooled = (1 - noise_of_own) * first + noise_of_own * second
    # The pooled share is itself uncertain.
    own_part = noise_of_own * (1 - noise_of_own)
    noise = np.maximum(pooled * (1 - pooled) / (1 - own_part / weight), 1 / weight) / weight
    squares = (first - second) ** 2
    support = tally.spec.mechanism.support  # type: ignore[attr-defined]
    scale = (support.p - support.q) ** 2 * getattr(tally.spec.mechanism, "hashes", 1)
    shape = weight[:, 0] ** 2 / (weight**2).sum()
    squared = float(shape @ (squares - noise).sum(axis=1)) / scale
    variance = float(shape**2 @ (2 * noise**2 + 4 * noise * squares).sum(axis=1)) / scale**2
    least = squared - _z(alpha, 1) * variance**0.5
    return Contrast("distance", None, None, None, max(squared, 0.0) ** 0.5, max(least, 0.0) ** 0.5)


def _z(alpha: float, comparisons: int) -> float:
    """Standard errors of a two-sided interval, corrected for the number of comparisons."""
    return float(-special.ndtri(alpha / (2 * max(comparisons, 1))))
