"""By how much the reports of a key are apart from those of all others, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.counting.tallies import ShareTally, Tally
from deniable_aggregator.counting.tallies.numbers import DBitFlipTally, NumberTally
from deniable_aggregator.counting.tallies.strings import GroupedTally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.segments import Segments

LEAST_WEIGHT: Final = 50.0
"""Fewer reports than these are not compared."""

LEAST_WITHIN: Final = 100.0
"""Nor segments with fewer of a key's reports."""

PARTS: Final = 256

_BLOCK_CELLS: Final = 1 << 17
"""Groups are compared so many counters at a time."""

LEAST_CONTRAST: Final = 0.2
"""Keys without a past that differ by less than 20 percentage points, or a fifth of a number's
range, are even: platforms differ."""

LEAST_SHIFT: Final = 0.05
"""So are keys whose contrast is within 5 of what it was in their past: platforms drift."""

ContrastKind = Literal["share", "mean", "distance"]


class Contrast(NamedTuple):
    """By how much a key differs from the others where it differs most, or where that is new.

    Attributes:
        kind: whether a share, a mean or (of strings, whose values are not known) all of what
            reports say is compared.
        value: the value whose shares are compared, or None.
        own: the estimate of the key.
        others: that of all others.
        difference: how far they are apart: of a share from 0 to 1, of a mean as a part of the
            range, of strings the distance of all shares (root of the sum of squares). With a past,
            how far this is from what it was.
        least: the lower end of its interval, corrected for the number of comparisons.
        flagged_from: from which difference on the key is flagged.
        past: how far they were apart in the key's past, own less others; None for a key that is
            judged by its contrast alone, as it has no past.
        acknowledged: whether that is a difference that an administrator has acknowledged.
    """

    kind: ContrastKind
    value: str | None
    own: float | None
    others: float | None
    difference: float
    least: float
    flagged_from: float = LEAST_CONTRAST
    past: float | None = None
    acknowledged: bool = False

    @property
    def flagged(self) -> bool:
        """Whether it is more than platforms may differ, or drift."""
        if self.past is None:
            return self.least >= LEAST_CONTRAST
        return self.least > 0 and self.difference >= LEAST_SHIFT


class Apart(NamedTuple):
    """How far two sides are apart, of every value that can be compared.

    Attributes:
        kind: as of `Contrast`.
        values: the values; one None of a mean or of strings.
        own: float64, (values,): the estimates of the key, in the metric's unit; None of strings.
        others: likewise, of all others.
        difference: float64, (values,): own less others; of strings the square of their distance.
        variance: float64, (values,): of these.
    """

    kind: ContrastKind
    values: Sequence[str | None]
    own: NDArray[np.float64] | None
    others: NDArray[np.float64] | None
    difference: NDArray[np.float64]
    variance: NDArray[np.float64]


def judge(now: Apart, alpha: float, past: Apart | None = None) -> Contrast | None:
    """Where a key differs most; with a past, where that differs most from what it was.

    Args:
        now: how far it is from the others.
        alpha: the probability that `least` is above the true difference, at most.
        past: how far it was, of other days.

    Returns:
        None where nothing can be told.
    """
    signed, variance = now.difference, now.variance
    if past is not None:
        signed, variance = signed - past.difference, variance + past.variance
    if now.kind == "distance":
        return _judge_distance(now, float(signed[0]), float(variance[0]), alpha, past)
    difference = np.abs(signed)
    half = _z(alpha, len(now.values)) * np.sqrt(variance)
    least = np.maximum(difference - half, 0.0)
    if not np.isfinite(half).any():
        return None
    place = int(np.lexsort((difference, least))[-1])
    width = float(half[place])
    return Contrast(
        now.kind,
        now.values[place],
        None if now.own is None else float(now.own[place]),
        None if now.others is None else float(now.others[place]),
        float(difference[place]),
        float(least[place]),
        LEAST_CONTRAST + width if past is None else max(LEAST_SHIFT, width),
        None if past is None else float(past.difference[place]),
    )


def _judge_distance(
    now: Apart, squared: float, variance: float, alpha: float, past: Apart | None
) -> Contrast:
    half = _z(alpha, 1) * variance**0.5
    least = max(squared - half, 0.0) ** 0.5
    difference = max(squared, 0.0) ** 0.5
    if past is None:
        flagged_from, before = (LEAST_CONTRAST**2 + half) ** 0.5, None
    else:
        flagged_from = max(LEAST_SHIFT, half**0.5)
        before = max(float(past.difference[0]), 0.0) ** 0.5
    return Contrast(now.kind, None, None, None, difference, least, flagged_from, before)


def compared_values(tally: Tally) -> Sequence[str | None]:
    """The values of a version whose keys are compared; one None of a mean or of strings."""
    if isinstance(tally, DBitFlipTally):
        return [str(number + 1) for number in range(tally.cells // 2)]
    if isinstance(tally, ShareTally) and not isinstance(tally, GroupedTally):
        segments = tally.spec.segments
        if segments is not None:
            names = segments.by.values
            return [f"{value} within {name}" for name in names for value in segments.of.domain]
        return tally.spec.items
    return [None]


def measure_apart(
    tally: Tally,
    own_counts: NDArray[np.float64],
    other_counts: NDArray[np.float64],
    noise_of_own: float,
) -> Apart | None:
    """How far reports are from as many others.

    Args:
        own_counts: float64, (cells,): the counts of one side, weighted by day.
        other_counts: float64, (cells,): of the other, of about as many reports.
        noise_of_own: which part of the noise of their difference is that of the one side, in
            (0, 1): nearly all of it, if the counts of the other are those of many more reports.

    Returns:
        None where there are too few reports, or nothing to compare.
    """
    own, rest_counts = (np.rint(counts).astype(np.int64) for counts in (own_counts, other_counts))
    if min(tally.reports(own), tally.reports(rest_counts)) < LEAST_WEIGHT:
        return None
    if isinstance(tally, NumberTally):
        return _of_means(tally, own, rest_counts)
    if isinstance(tally, DBitFlipTally):
        estimates = [tally.shares(counts) for counts in (own, rest_counts)]
        sides = [
            _with_sampling(estimate.share, estimate.variance, tally.reports(side))
            for estimate, side in zip(estimates, (own, rest_counts), strict=True)
        ]
        return _of_shares(compared_values(tally), sides)
    if isinstance(tally, GroupedTally):
        # A group has few reports: so that rounding is no noise, they are counted in parts.
        own, rest_counts = (
            np.rint(counts * PARTS).astype(np.int64) for counts in (own_counts, other_counts)
        )
        return _of_groups(tally, own, rest_counts, noise_of_own)
    if isinstance(tally, ShareTally):
        items = tally.spec.items
        shares = tally.shares_of_slices(np.stack([own, rest_counts]), items)
        reports = tally.reports(own), tally.reports(rest_counts)
        if tally.spec.segments is not None:
            sizes = [
                _within(tally.spec.segments, *each) for each in zip(*shares, reports, strict=True)
            ]
            return _of_segments(compared_values(tally), sizes)
        return _of_shares(items, list(map(_with_sampling, *shares, reports)))
    return None


def _of_means(tally: NumberTally, own: NDArray[np.int64], rest_counts: NDArray[np.int64]) -> Apart:
    own_mean, rest_mean = tally.mean(own), tally.mean(rest_counts)
    return Apart(
        "mean",
        [None],
        np.array([_in_unit(tally, own_mean.mean)]),
        np.array([_in_unit(tally, rest_mean.mean)]),
        np.array([own_mean.mean - rest_mean.mean]),
        # Days are weighted so that the variance of the difference is that of one side's mean.
        np.array([max(own_mean.variance, rest_mean.variance)]),
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
    share: NDArray[np.float64],
    variance: NDArray[np.float64],
    reports: int | NDArray[np.float64],
) -> _Side:
    clipped = np.clip(share, 0.0, 1.0)
    return _Side(share, variance + clipped * (1 - clipped) / reports)


def _of_shares(items: Sequence[str | None], sides: Sequence[_Side]) -> Apart:
    own, rest = sides
    variance = np.maximum(own.variance, rest.variance)
    return Apart("share", items, own.share, rest.share, own.share - rest.share, variance)


def _within(
    segments: Segments, share: NDArray[np.float64], variance: NDArray[np.float64], reports: int
) -> _Side:
    """The shares within each segment; a key may have another mix of segments.

    Args:
        share: float64, (pairs,).
        variance: float64, (pairs,).
        reports: how many there are.

    Returns:
        The same for each pair; of segments with few reports 0, with an infinite variance.
    """
    shape = segments.by.size, segments.of.size
    pairs, errors = share.reshape(shape), variance.reshape(shape)
    size = pairs.sum(axis=1, keepdims=True)
    known = size * reports >= LEAST_WITHIN
    whole = np.where(known, size, 1.0)
    within = pairs / whole
    # Of a ratio: the errors of a pair and of the size, of which the pair is a part.
    of_ratio = (1 - 2 * within) * errors + within**2 * errors.sum(axis=1, keepdims=True)
    side = _with_sampling(within, np.maximum(of_ratio, 0.0) / whole**2, reports * whole)
    return _Side(
        np.where(known, side.share, 0.0).ravel(), np.where(known, side.variance, np.inf).ravel()
    )


def _of_segments(values: Sequence[str | None], sides: Sequence[_Side]) -> Apart:
    apart = _of_shares(values, sides)
    known = np.isfinite(apart.variance)
    return apart._replace(difference=np.where(known, apart.difference, 0.0))


def _of_groups(
    tally: GroupedTally,
    own: NDArray[np.int64],
    rest_counts: NDArray[np.int64],
    noise_of_own: float,
) -> Apart | None:
    """The distance of all shares, from the buckets of all rows: no string need be known.

    Of each row the squared difference of every bucket, less what noise makes it, estimates without
    bias the sum over all strings of their squared differences.
    """
    reports, other_reports = tally.reports_by_group(own), tally.reports_by_group(rest_counts)
    used = np.flatnonzero(np.minimum(reports, other_reports) >= PARTS)
    if not used.size:
        return None
    # Of each group there may be more or fewer reports than its part.
    weight = (1 / PARTS) / (
        noise_of_own / reports[used, None] + (1 - noise_of_own) / other_reports[used, None]
    )
    # The pooled share is itself uncertain.
    own_part = noise_of_own * (1 - noise_of_own)
    distances, variances = np.empty((2, used.size))
    step = max(1, _BLOCK_CELLS * reports.size // own.size)
    for start in range(0, used.size, step):
        block = slice(start, start + step)
        some, weights = used[block], weight[block]
        first, second = (
            tally.supporting_of_groups(counts, some) / of_group[some, None]
            for counts, of_group in ((own, reports), (rest_counts, other_reports))
        )
        pooled = (1 - noise_of_own) * first + noise_of_own * second
        noise = np.maximum(pooled * (1 - pooled) / (1 - own_part / weights), 1 / weights) / weights
        squares = (first - second) ** 2
        distances[block] = (squares - noise).sum(axis=1)
        variances[block] = (2 * noise**2 + 4 * noise * squares).sum(axis=1)
    support = tally.spec.mechanism.support  # type: ignore[attr-defined]
    scale = (support.p - support.q) ** 2 * getattr(tally.spec.mechanism, "hashes", 1)
    shape = weight[:, 0] ** 2 / (weight**2).sum()
    squared = float(shape @ distances) / scale
    variance = float(shape**2 @ variances) / scale**2
    return Apart("distance", [None], None, None, np.array([squared]), np.array([variance]))


def _z(alpha: float, comparisons: int) -> float:
    """Standard errors of a two-sided interval, corrected for the number of comparisons."""
    return float(-special.ndtri(alpha / (2 * max(comparisons, 1))))
