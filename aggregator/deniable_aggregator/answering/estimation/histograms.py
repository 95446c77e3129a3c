"""Histograms of numbers, and how far fake reports could move them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import numpy as np

from deniable_aggregator.answering.estimation.means import MeanPart, mean_influence, mean_variance
from deniable_aggregator.counting.statistics.consistency import norm_sub
from deniable_aggregator.counting.statistics.histogram_limits import (
    BoundedValue,
    RawHistogram,
    histogram_quantiles,
    interval_containing,
    normal_interval,
)
from deniable_aggregator.counting.statistics.influence import FORGED_PER_REPORT
from deniable_aggregator.counting.statistics.intervals import (
    repeats_of,
    shared_pairs_across_specs,
    z_for_level,
)
from deniable_aggregator.counting.statistics.outcomes import channel, raw_shares, reconstruct
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import GroupedBins, SquareWave

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Reconstruction
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_aggregator.counting.tallies import Reported
    from deniable_aggregator.counting.tallies.numbers import DBitFlipTally, NumberTally


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
    mean = _reach_of_groups(mechanisms, counts, weights, share, arms)
    shifted = np.repeat(share[None], 3, axis=0)
    for mechanism, counted, weight in zip(mechanisms, counts, weights, strict=True):
        answers = np.maximum(counted[:size], 1).astype(np.float64)
        fakes = counted[:size].sum() / mechanism.buckets * FORGED_PER_REPORT
        support = mechanism.support
        low, high = ((end - support.q) / (support.p - support.q) - share for end in (0.0, 1.0))
        groups = (np.arange(size)[:, None] + np.arange(mechanism.buckets)) % size
        part = weight * fakes / (answers + fakes)
        for row, last, group in ((0, 0, 0), (1, size - 1, size - mechanism.buckets)):
            answered_bins = groups[group]
            shifted[row, answered_bins] += (part * low)[answered_bins]
            shifted[row, last] += (part * (high - low))[last]
    histograms = norm_sub(shifted)
    return DistributionInfluence(bins, mean, {q: _apart(histograms, q) for q in quantiles})


def _reach_of_groups(
    mechanisms: Sequence[GroupedBins],
    counts: Sequence[NDArray[np.int64]],
    weights: Sequence[NDArray[np.float64]],
    share: NDArray[np.float64],
    arms: NDArray[np.float64],
) -> float:
    """How far fake reports of dBitFlip could move a weighted sum of the shares, at most.

    Args:
        arms: float64, (bins,): the weights of the sum; the others as of `dbitflip_influence`.
    """
    size, reach = share.size, 0.0
    for mechanism, counted, weight in zip(mechanisms, counts, weights, strict=True):
        answers = np.maximum(counted[:size], 1).astype(np.float64)
        fakes = counted[:size].sum() / mechanism.buckets * FORGED_PER_REPORT
        support = mechanism.support
        low, high = ((end - support.q) / (support.p - support.q) - share for end in (0.0, 1.0))
        pull = weight * fakes / answers * np.abs(arms) * np.maximum(high, -low)
        groups = (np.arange(size)[:, None] + np.arange(mechanism.buckets)) % size
        reach += float(pull[groups].sum(axis=1).max())
    return reach


def _apart(histograms: NDArray[np.float64], quantile: float) -> float:
    """The largest distance of a quantile of the last histogram from the others' quantiles."""
    places: Any = histogram_quantiles(histograms, quantile)
    return float(np.abs(places[:-1] - places[-1]).max())


if TYPE_CHECKING:
    Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Histogram:
    """A histogram over the width of the range, which counts as 1.

    Attributes:
        method: "em", "ems", or "unbiased".
        held: float64, (bins,): the estimate; not negative, and adds up to 1.
        raw: raw shares, which intervals are made from.
        mean: of the middles of the bins.
        mean_variance: of this estimate.
        influence: how far 1% of fake reports could move all this.
        reach: how far 1% of fake reports could move a weighted sum of the raw shares, by these
            weights: float64, (bins,).
        sources: of Square Wave, for each spec its mechanism, its reports, and what repeated reports
            add to the variance of a share.
    """

    method: Literal["em", "ems", "unbiased"]
    held: NDArray[np.float64]
    raw: RawHistogram
    mean: float
    mean_variance: float
    influence: DistributionInfluence
    reach: Callable[[NDArray[np.float64]], float]
    sources: tuple[tuple[SquareWave, int, float], ...]
    reports: int

    def redraw(
        self, share: NDArray[np.float64], draws: int, random: np.random.Generator
    ) -> NDArray[np.float64]:
        """Estimates from simulated reports of devices with this histogram: float64, (draws, bins).

        Args:
            share: float64, (bins,).
        """
        if not self.sources:
            raw = random.multivariate_normal(share, self.raw.covariance, draws, method="cholesky")
            return norm_sub(raw)
        totals = np.zeros((draws, share.size))
        for mechanism, reports, extra in self.sources:
            own = np.repeat(share[None], draws, axis=0)
            if extra:
                devices = max(1, round(1 / extra))
                own = random.multinomial(devices, share / share.sum(), size=draws) / devices
            law = own @ channel(mechanism).T
            counts = random.multinomial(reports, law / law.sum(axis=1, keepdims=True))
            method: Reconstruction = "ems" if self.method == "ems" else "em"
            totals += reports / self.reports * reconstruct(mechanism, counts, method=method)
        return totals

    def shares(self, level: float) -> tuple[BoundedValue, ...]:
        """The shares of the bins: raw ones with normal intervals, else those of `held`."""
        if self.method == "unbiased":
            variances = np.diag(self.raw.covariance).tolist()
            bars = zip(self.raw.share.tolist(), variances, strict=True)
            return tuple(normal_interval(*bar, level) for bar in bars)
        z = z_for_level(level)
        return tuple(
            interval_containing(value, *self.raw.limits(number, number + 1, z))
            for number, value in enumerate(self.held.tolist())
        )


def find_histogram(
    counted: Sequence[Reported],
    *,
    method: Reconstruction,
    quantiles: Sequence[float],
    periods: PeriodsBySpec,
) -> Histogram:
    """The histogram of all reports: that of each spec by itself, weighted by its reports.

    Args:
        counted: specs with reports, over the same bins and with the same mechanism.
        method: how reports of Square Wave are turned into a histogram.
        quantiles: those whose influence is wanted.
        periods: how many of the reports there are in each of the metric's periods, by the specs'
            digests.

    Raises:
        ParameterError: if no report is about some bin.
    """
    if isinstance(counted[0][0].mechanism, GroupedBins):
        return _from_dbitflip(counted, quantiles, periods)
    return _from_square_wave(counted, method, quantiles, periods)


def _from_square_wave(
    counted: Sequence[Reported],
    method: Reconstruction,
    quantiles: Sequence[float],
    periods: PeriodsBySpec,
) -> Histogram:
    """Reconstruction; raw shares are those of the linear estimator that is best at its result."""
    mechanisms = [cast("SquareWave", spec.mechanism) for spec, _, _ in counted]
    reports = np.array([reports for _, _, reports in counted])
    parts = reports / reports.sum()
    size = mechanisms[0].size
    shares, raw = np.zeros(size), np.zeros(size)
    likely, covariances, pulls = [], [], []
    for mechanism, part, (_, counts, _) in zip(mechanisms, parts.tolist(), counted, strict=True):
        smoothed = reconstruct(mechanism, counts[None], method="em")[0]
        share, covariance = raw_shares(mechanism, counts, smoothed)
        likely.append(smoothed)
        raw += part * share
        covariances.append(covariance)
        pulls.append(part * _pulls(mechanism, counts, smoothed, share, covariance))
        smooth = method != "em"
        shares += part * (
            reconstruct(mechanism, counts[None], method=method)[0] if smooth else smoothed
        )
    means = [cast("NumberTally", tally_for(spec)).mean(counts) for spec, counts, _ in counted]
    mean_parts = [
        MeanPart(spec, reports, part, mean)
        for (spec, _, reports), part, mean in zip(counted, parts.tolist(), means, strict=True)
    ]
    influence = square_wave_influence(
        mechanisms,
        [counts for _, counts, _ in counted],
        method=method,
        mean=mean_influence(mean_parts),
        quantiles=quantiles,
    )
    repeated = [
        repeats_of(spec, reports, periods.get(spec.digest)).extra for spec, _, reports in counted
    ]
    noise = [
        covariance + extra * _sampling(likely_share)
        for covariance, extra, likely_share in zip(covariances, repeated, likely, strict=True)
    ]
    weights = [np.full(size, part) for part in parts.tolist()]
    return Histogram(
        method,
        shares,
        RawHistogram(raw, _covariance(counted, weights, noise, likely, periods)),
        float(parts @ [mean.mean for mean in means]),
        mean_variance(mean_parts, periods),
        influence,
        lambda weights: float(sum(np.abs(weights @ pull).max() for pull in pulls)),
        tuple(zip(mechanisms, reports.tolist(), repeated, strict=True)),
        int(reports.sum()),
    )


def _from_dbitflip(
    counted: Sequence[Reported], quantiles: Sequence[float], periods: PeriodsBySpec
) -> Histogram:
    """Unbiased shares, and their projection on histograms."""
    tallies = [cast("DBitFlipTally", tally_for(spec)) for spec, _, _ in counted]
    estimates = [tally.shares(entry[1]) for tally, entry in zip(tallies, counted, strict=True)]
    # A spec has no weight in a bin that none of its reports is about.
    weights = [
        reports * np.isfinite(shares.null_variance)
        for shares, (_, _, reports) in zip(estimates, counted, strict=True)
    ]
    about = np.sum(weights, axis=0)
    if not about.all():
        reports = sum(reports for _, _, reports in counted)
        raise ParameterError("reports", "enough for an answer about every bin", reports)
    weights = [weight / about for weight in weights]
    share = np.sum([w * shares.share for w, shares in zip(weights, estimates, strict=True)], axis=0)
    combined, own_shares = norm_sub(share), [norm_sub(shares.share) for shares in estimates]
    noise = [
        tally.covariance(
            counts, own, repeats_of(spec, reports, periods.get(spec.digest)).extra * reports
        )
        for tally, (spec, counts, reports), own in zip(tallies, counted, own_shares, strict=True)
    ]
    covariance = _covariance(counted, weights, noise, own_shares, periods)
    moved = [cast("Any", shares.influence) for shares in estimates]
    mechanisms = [cast("GroupedBins", spec.mechanism) for spec, _, _ in counted]
    tallied = [counts for _, counts, _ in counted]
    influence = dbitflip_influence(
        mechanisms,
        tallied,
        weights,
        share,
        np.sum([weight * shift for weight, shift in zip(weights, moved, strict=True)], axis=0),
        quantiles,
    )
    # Measured from the middle of the range, since raw shares need not add up to 1: their sum
    # would add noise to a mean that is measured from the lower end.
    arms = (np.arange(share.size) + 0.5) / share.size - 0.5
    return Histogram(
        "unbiased",
        combined,
        RawHistogram(share, covariance),
        0.5 + float(arms @ share),
        max(float(arms @ covariance @ arms), 0.0),
        influence,
        lambda arms: _reach_of_groups(mechanisms, tallied, weights, share, arms),
        (),
        sum(reports for _, _, reports in counted),
    )


def _pulls(
    mechanism: SquareWave,
    counts: NDArray[np.int64],
    held: NDArray[np.float64],
    raw: NDArray[np.float64],
    covariance: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How far 1% of fake reports of each outcome move the raw shares: float64, (bins, outcomes).

    Args:
        held: as given to `raw_shares`.
        raw: the shares that it has found.
        covariance: of these.
    """
    matrix = channel(mechanism)
    each = int(counts.sum()) * covariance @ (matrix.T / (matrix @ held))
    part = FORGED_PER_REPORT / (1 + FORGED_PER_REPORT)
    return np.asarray(part * (each - raw[:, None]))


def _covariance(
    counted: Sequence[Reported],
    weights: Sequence[Weights],
    noise: Sequence[NDArray[np.float64]],
    shares: Sequence[NDArray[np.float64]],
    periods: PeriodsBySpec,
) -> NDArray[np.float64]:
    """The covariance of weighted shares, if the same devices reported under all specs.

    Where the specs' shares differ, how many reports each happens to have adds to it.

    Args:
        weights: of each one float64, (bins,).
        noise: of each one float64, (bins, bins): the covariance of its shares.
        shares: of each one float64, (bins,): what its devices hold.
        periods: how many reports there are of each period, by the specs' digests.
    """
    together = np.sum([weight * own for weight, own in zip(weights, shares, strict=True)], axis=0)
    total = np.zeros((together.size, together.size))
    for weight, own, covariance, (_, _, reports) in zip(
        weights, shares, noise, counted, strict=True
    ):
        apart = weight * (own - together)
        total += np.outer(weight, weight) * covariance + np.outer(apart, apart) / reports
    for row, column in itertools.combinations(range(len(counted)), 2):
        (first, _, reports), (second, _, more) = counted[row], counted[column]
        periods_of_first, beside = periods.get(first.digest), periods.get(second.digest)
        if periods_of_first is not None and beside is not None:
            pairs = shared_pairs_across_specs(periods_of_first, beside) / (reports * more)
            same = pairs * np.outer(weights[row], weights[column])
            total += (same + same.T) * _sampling(together)
    return total


def _sampling(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariance of what a single device holds: float64, (bins, bins)."""
    return np.diag(share) - np.outer(share, share)
