"""Differences between two periods: of means, of quantiles and of whole distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answering.estimation.means import (
    estimate_mean,
    mean_covariance,
    mean_parts,
)
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.consistency import (
    earth_mover,
    norm_sub,
    total_variation,
)
from deniable_aggregator.counting.statistics.intervals import repeats_of, z_for_alpha
from deniable_aggregator.counting.statistics.outcomes import (
    Repetition,
    combined_p_value,
    homogeneity_p_value,
)
from deniable_aggregator.counting.tallies import nonempty, tally_for
from deniable_aggregator.telling.ranges import beyond_ends
from deniable_aggregator.telling.wording import listed, quantile_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.distributions import DistributionEstimate
    from deniable_aggregator.answering.estimation.histograms import Histogram
    from deniable_aggregator.answering.estimation.inputs import CollectedTallies
    from deniable_aggregator.answers.words import Direction, KnownIn, Margin
    from deniable_aggregator.counting.statistics.histogram_limits import RawHistogram
    from deniable_shared.spec import Spec


ALPHA: Final = 0.05
"""The level of the tests."""

SAMPLED: Final[Margin] = "noise-and-sampling"
"""What errors, intervals and tests of changes allow for: other devices report on other days."""


class Differences(NamedTuple):
    """By how much items, or a mean, differ between two periods; after minus before.

    Attributes:
        before: float64, (items,): the estimate of the first period; unbiased, not clipped.
        after: float64, (items,): of the second.
        standard_error: float64, (items,): of the difference, if the devices are all different.
        same_devices: float64, (items,): the same if they are the same as far as possible; NaN where
            it is not known.
        low: float64, (items,): lower end of the interval of the difference.
        high: float64, (items,): upper end.
        p_value: float64, (items,): of the two-sided test that nothing has changed.
        influence: float64, (items,): how far 1% of fake reports in either period could move the
            difference; of RAPPOR, recursive Hadamard response, pairs and means an upper bound.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    same_devices: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]
    influence: NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """What was compared, and how.

    Attributes:
        items: what is compared; of a mean, the name of the metric.
        not_compared: items that are not known of all reports, and in which period they are. In
            the other they are unknown, which is not 0.
        combined: the change of the share of some items together, or None.
        notices: what a reader must know before these numbers.
        segment: how large the segment is that the shares are within, before and after; or None.
        quantiles: by how much quantiles differ; None but for a distribution.
        distance: how far the distribution has moved; None where that is not known.
        shape: the test that it has not changed; None where there is none.
        range: of numbers, the ends as which values outside were counted.
    """

    items: tuple[str, ...]
    differences: Differences
    kind: Literal["shares", "mean"]
    not_compared: Mapping[str, KnownIn] = field(default_factory=dict)
    combined: Measured | None = None
    notices: tuple[Notice, ...] = ()
    segment: tuple[Measured, Measured] | None = None
    quantiles: list[Measured] | None = None
    distance: ShapeDistance | None = None
    shape: ShapeTest | None = None
    range: tuple[float, float] | None = None


def compare_means(before: CollectedTallies, after: CollectedTallies, alpha: float) -> Differences:
    """The difference of the means of a ``number``; its errors allow for noise and sampling.

    Args:
        alpha: the probability that the interval may miss, in (0, 1).
    """
    earlier, later = (estimate_mean(side.tallies, periods=side.periods) for side in (before, after))
    parts = [mean_parts(nonempty(side.tallies)) for side in (before, after)]
    common = mean_covariance(parts[0], parts[1], (before.periods, after.periods))
    return _mean_difference(
        (earlier.mean, later.mean),
        earlier.standard_error**2 + later.standard_error**2,
        common,
        earlier.influence + later.influence,
        alpha,
    )


def compare_histogram_means(
    before: DistributionEstimate, after: DistributionEstimate, alpha: float
) -> Differences:
    """The same for a ``distribution``; what the same devices have in common is not known.

    Args:
        alpha: the probability that the interval may miss, in (0, 1).
    """
    sides = before, after
    return _mean_difference(
        (before.mean.value, after.mean.value),
        sum(side.width**2 * side.histogram.mean_variance for side in sides),
        math.nan,
        sum(side.width * side.histogram.influence.mean for side in sides),
        alpha,
    )


class MeanOfSide(NamedTuple):
    """The mean of one side of a comparison, in the metric's own unit.

    Attributes:
        mean: the estimate.
        error: its standard error.
        influence: how far 1% of fake reports could move it.
        within: how far it may be off because it is that of the middles of bins; 0 of a number.
    """

    mean: float
    error: float
    influence: float
    within: float


def compare_unlike_means(before: MeanOfSide, after: MeanOfSide, alpha: float) -> Differences:
    """The difference of two means of which one is that of the middles of bins.

    Where in a bin values lie is not known, so the mean may be off by half of a bin: the interval is
    wider by that on either side, and the test is of the least difference that there can be.

    Args:
        alpha: the probability that the interval may miss, in (0, 1).
    """
    return _mean_difference(
        (before.mean, after.mean),
        before.error**2 + after.error**2,
        math.nan,
        before.influence + after.influence,
        alpha,
        within=before.within + after.within,
    )


def _mean_difference(
    means: tuple[float, float],
    variance: float,
    common: float,
    influence: float,
    alpha: float,
    *,
    within: float = 0.0,
) -> Differences:
    error, difference = math.sqrt(variance), means[1] - means[0]
    same = math.nan if math.isnan(common) else math.sqrt(max(variance - 2 * common, 0.0))
    numbers = (
        means[0],
        means[1],
        error,
        same,
        difference - z_for_alpha(alpha) * error - within,
        difference + z_for_alpha(alpha) * error + within,
        float(2 * special.ndtr(-max(abs(difference) - within, 0.0) / error)),
        influence,
    )
    return Differences(*(np.array([number]) for number in numbers))


COMPARED_QUANTILES: Final = (0.25, 0.5, 0.75, 0.95)
"""Those that are compared where no others are asked for."""


def compare_quantiles(before: DistributionEstimate, after: DistributionEstimate) -> list[Measured]:
    """The differences of the quantiles that both have, after minus before.

    The interval of the difference of the bins in which they are comes from the intervals of both
    (Zou and Donner 2008): with d = b - a and intervals [l, u], it goes from
    d - sqrt((b - l_b)^2 + (u_a - a)^2) to d + sqrt((u_b - b)^2 + (a - l_a)^2). A quantile is
    somewhere in its bin, so a whole bin is added to either side: where values are within a bin is
    not random, and nothing of it averages out. One that may lie beyond the range is not compared.

    Args:
        after: of the second; the same quantiles were asked for.
    """
    return [
        _difference(before, after, quantile)
        for quantile in before.quantiles
        if not _may_be_beyond(before, quantile) and not _may_be_beyond(after, quantile)
    ]


def quantile_notices(
    before: DistributionEstimate, after: DistributionEstimate
) -> tuple[Notice, ...]:
    """A note about the quantiles that are not compared, if there are any.

    Args:
        after: of the second period.
    """
    left_out = [
        quantile_in_words(quantile)
        for quantile in before.quantiles
        if _may_be_beyond(before, quantile) or _may_be_beyond(after, quantile)
    ]
    if not left_out:
        return ()
    low, high = map(float, before.edges[[0, -1]])
    return (
        Notice(
            "beyond_range",
            "note",
            f"The {listed(left_out)} {'is' if len(left_out) == 1 else 'are'} not compared: values "
            f"outside {low:,g} to {high:,g} are counted in the bins at its ends, so it may lie "
            "beyond. A wider range would tell",
        ),
    )


def _may_be_beyond(side: DistributionEstimate, quantile: float) -> bool:
    placed, (low, high) = side.quantiles[quantile], map(float, side.edges[[0, -1]])
    return any(beyond_ends(placed.low, placed.high, (low, high)))


def _difference(
    before: DistributionEstimate, after: DistributionEstimate, quantile: float
) -> Measured:
    places = [_bin(side, quantile) for side in (before, after)]
    (first, first_low, first_high), (second, second_low, second_high) = places
    apart = second - first
    low = apart - math.hypot(second - second_low, first_high - first) - _bin_width(before)
    high = apart + math.hypot(second_high - second, first - first_low) + _bin_width(after)
    earlier, later = (side.quantiles[quantile].value for side in (before, after))
    change = None if earlier is None or later is None else later - earlier
    moved = (side.width * side.histogram.influence.quantiles[quantile] for side in (before, after))
    return Measured(
        measure="difference in quantile",
        quantile=quantile,
        period=1,
        before=earlier,
        after=later,
        estimate=None if change is None else min(max(change, low), high),
        low=low,
        high=high,
        told=low > 0 or high < 0,
        shift_if_fake=sum(moved),
    )


def _bin(estimate: DistributionEstimate, quantile: float) -> tuple[float, float, float]:
    """The lower end of the bin in which a quantile is, and the lowest and highest it may have."""
    placed, width = estimate.quantiles[quantile], _bin_width(estimate)
    low, high = placed.low, placed.high - width
    value = (low + high) / 2 if placed.value is None else placed.value
    edges = estimate.edges
    at = float(edges[np.searchsorted(edges, value * (1 + 1e-12), side="right") - 1])
    return min(max(at, low), high), low, high


def _bin_width(estimate: DistributionEstimate) -> float:
    return float(estimate.edges[1] - estimate.edges[0])


REPLICATES: Final = 200
SEED: Final = 20_201_120
"""The same reports always give the same distance, with the same interval."""

_TAILS: Final = (0.025, 0.975)


class ShapeTest(NamedTuple):
    """The test that nothing has changed.

    Attributes:
        p_value: of the outcomes of all versions that reported in both periods.
        left_out: how many reports are of versions that did not, in both periods together.
        permanent: whether some answers are permanent, which makes the test find less.
    """

    p_value: float
    left_out: int
    permanent: bool


class ShapeDistance(NamedTuple):
    """How far two distributions are apart.

    Attributes:
        size: the distance of the estimates: noise makes it larger than that of the truths.
        low: the lower end of its interval.
        high: the upper end.
        noise: what the distance is on average if nothing has changed.
        direction: to which side the second lies, or whether it is wider or narrower; None of
            categories, and where nothing of that is sure.
    """

    kind: Literal["earth-mover", "total-variation"]
    size: float
    low: float
    high: float
    noise: float
    direction: Direction | None = None


def compare_shapes(before: CollectedTallies, after: CollectedTallies) -> ShapeTest | None:
    """Tests that the distribution has not changed.

    Outcomes are compared within each version, since a version's channel is its own, and the tests
    of all versions are combined.

    Returns:
        None where no version has reports in both periods, or no test is known.
    """
    first, second = (
        {spec: counts for spec, counts, _ in nonempty(side.tallies)} for side in (before, after)
    )
    p_values, used, permanent = [], 0, False
    for spec in first.keys() & second.keys():
        tally = tally_for(spec)
        outcomes = [tally.outcomes(counts[spec]) for counts in (first, second)]
        if outcomes[0] is None or outcomes[1] is None:
            continue
        reports = [tally.reports(counts[spec]) for counts in (first, second)]
        fixed = _is_permanent(spec)
        permanent |= fixed
        used += sum(reports)
        extra = [
            repeats_of(spec, number, side.periods.get(spec.digest)).extra
            for number, side in zip(reports, (before, after), strict=True)
        ]
        epsilon = np.inf if fixed else spec.mechanism.epsilon
        repetition = Repetition(extra[0], extra[1], epsilon)
        p_values.append(homogeneity_p_value(outcomes[0], outcomes[1], repetition))
    if not p_values:
        return None
    total = sum(reports for side in (before, after) for _, _, reports in nonempty(side.tallies))
    return ShapeTest(combined_p_value(p_values), total - used, permanent)


def histogram_distance(before: Histogram, after: Histogram) -> ShapeDistance:
    """The earth mover's distance of two histograms over the same bins, in widths of the range."""
    random = np.random.default_rng(SEED)
    sizes = np.array([side.reports for side in (before, after)], np.float64)
    pooled = (sizes[0] * before.held + sizes[1] * after.held) / sizes.sum()
    unchanged = (side.redraw(pooled, REPLICATES, random) for side in (before, after))
    redrawn = (side.redraw(side.held, REPLICATES, random) for side in (before, after))
    size = float(earth_mover(before.held[None], after.held[None])[0])
    return _distance("earth-mover", size, earth_mover(*unchanged), earth_mover(*redrawn))


def direction_of(before: RawHistogram, after: RawHistogram) -> Direction | None:
    """To which side a distribution has moved, or whether it became wider or narrower.

    The shares below each inner edge are compared, all at once at the level of the tests
    (Bonferroni). If some are surely smaller and none is surely larger, values are higher; if below
    the lower of two edges they are larger and below the upper smaller, they are wider.

    Args:
        before: raw shares of the first period.
        after: of the second, over the same bins.
    """
    edges = before.share.size - 1
    if not edges:
        return None
    below = np.tri(edges, before.share.size)
    moved = below @ (after.share - before.share)
    variance = np.diag(below @ (before.covariance + after.covariance) @ below.T)
    sure = np.abs(moved) > z_for_alpha(ALPHA / edges) * np.sqrt(np.maximum(variance, 0.0))
    signs = [round(sign) for sign in np.sign(moved[sure]).tolist()]
    if not signs:
        return None
    if len(set(signs)) == 1:
        return "higher" if signs[0] < 0 else "lower"
    if sum(one != two for one, two in pairwise(signs)) > 1:
        return None
    return "wider" if signs[0] > 0 else "narrower"


def share_distance(differences: Differences) -> ShapeDistance:
    """The total variation of the shares of a whole domain, each made to add up to 1.

    Args:
        differences: of all items of the domain.
    """
    random = np.random.default_rng(SEED)
    raw = np.array([differences.before, differences.after])
    shares = norm_sub(raw)
    size = float(total_variation(shares[:1], shares[1:])[0])
    error = differences.standard_error / 2**0.5
    noise = random.standard_normal((2, 2, REPLICATES, error.size)) * error
    unchanged = total_variation(*(norm_sub(shares.mean(axis=0) + draw) for draw in noise[0]))
    redrawn = (norm_sub(own + draw) for own, draw in zip(shares, noise[1], strict=True))
    return _distance("total-variation", size, unchanged, total_variation(*redrawn))


def _distance(
    kind: Literal["earth-mover", "total-variation"],
    size: float,
    unchanged: NDArray[np.float64],
    redrawn: NDArray[np.float64],
) -> ShapeDistance:
    """The basic bootstrap interval, which takes off what noise adds to the distance."""
    highest, lowest = (max(0.0, 2 * size - end) for end in np.quantile(redrawn, _TAILS).tolist())
    return ShapeDistance(kind, size, lowest, highest, float(unchanged.mean()))


def _is_permanent(spec: Spec) -> bool:
    """Whether a device fixes something for good that its reports depend on."""
    return spec.mechanism.epsilon_permanent is not None
