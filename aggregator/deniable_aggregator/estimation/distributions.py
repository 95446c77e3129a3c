"""From tallies of a distribution to its histogram, mean and quantiles, with their errors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, cast

import numpy as np
from msgspec.structs import astuple

from deniable_aggregator.answers.common import IntervalNote, Number, Quantile
from deniable_aggregator.answers.estimates import Bin, Distribution
from deniable_aggregator.answers.trends import Period
from deniable_aggregator.answers.words import RECONSTRUCTIONS
from deniable_aggregator.estimation.influence_of_histograms import (
    DistributionInfluence,
    dbitflip_influence,
    square_wave_influence,
)
from deniable_aggregator.estimation.means import MeanPart, mean_influence, mean_variance
from deniable_aggregator.estimation.results import FAKES, metric_versions
from deniable_aggregator.statistics.consistency import norm_sub
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL, z_for_level
from deniable_aggregator.statistics.quantiles import (
    BoundedValue,
    histogram_quantiles,
    interval_containing,
    inverted_test_interval,
    normal_interval,
)
from deniable_aggregator.statistics.reconstruction import (
    channel,
    reconstruct,
)
from deniable_aggregator.statistics.repeated_reports import repeats_of, shared_pairs_across_specs
from deniable_aggregator.tallies import nonempty, tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import GroupedBins, SquareWave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.common import Head, Notice
    from deniable_aggregator.answers.words import Margin, Reconstruction
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_aggregator.tallies import Reported
    from deniable_aggregator.tallies.dbitflip import DBitFlipTally
    from deniable_aggregator.tallies.numeric import NumberTally
    from deniable_shared.numbers import Range
    from deniable_shared.spec import Spec

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
REPLICATES: Final = 200
SEED: Final = 20_201_120
"""The fixed seed of the bootstrap: the same tally always gives the same intervals."""

_METHODS: Final = {
    "em": "the most likely histogram (expectation maximisation)",
    "ems": "the most likely histogram, its neighbouring bins averaged at every step "
    "(expectation maximisation with smoothing): spikes are blurred over a few bins, and the "
    "intervals do not contain that blur",
    "unbiased": "raw shares of the bins, neither clipped nor rescaled; quantiles are read from "
    "their projection on histograms (Norm-Sub)",
}


@dataclass(frozen=True)
class DistributionEstimate:
    """A histogram of a number with its mean and quantiles, in the metric's own unit.

    Attributes:
        metric: the metric's name.
        edges: float64, (bins + 1,).
        shares: for each bin the share of the population.
        mean: of the middles of the bins; unbiased whatever the method.
        quantiles: by probability.
        method: "em", "ems", or "unbiased".
        level: the probability with which each single interval is meant to cover, in (0, 1).
        reports: how many reports were counted.
        left_out: reports of specs with other bins or another mechanism, which cannot be combined.
        specs: for each spec that contributed, the spec and its number of reports.
        influence: how far 1% of fake reports could move each of these.
        notices: what a reader must know before these numbers.
    """

    metric: str
    edges: NDArray[np.float64]
    shares: tuple[BoundedValue, ...]
    mean: BoundedValue
    quantiles: dict[float, BoundedValue]
    method: Literal["em", "ems", "unbiased"]
    level: float
    reports: int
    left_out: int
    specs: tuple[tuple[Spec, int], ...]
    influence: DistributionInfluence
    notices: tuple[Notice, ...] = ()

    kind: ClassVar[Literal["distribution"]] = "distribution"
    margin: ClassVar[Margin] = "noise-and-sampling"
    unit: ClassVar[str] = "the metric's own; values outside the range were recorded as its ends"

    def answer(self, head: Head) -> Distribution:
        """The estimate as an answer.

        Args:
            head: where it comes from.
        """
        edges, moved = self.edges.tolist(), self.influence.bins.tolist()
        return Distribution(
            *astuple(head.with_notices(self.notices)),
            metric=self.metric,
            reports=self.reports,
            margin=self.margin,
            unit=self.unit,
            interval=IntervalNote(
                level=self.level,
                meaning=(
                    f"each interval, taken by itself, is meant to cover the value in the "
                    f"population that the devices are a random sample of with probability "
                    f"{self.level:g}; {self._intervals()}"
                ),
            ),
            fakes=FAKES,
            versions=metric_versions(self.specs),
            reports_left_out=self.left_out,
            method=self.method,
            label="raw" if self.method == "unbiased" else "post-processed",
            meaning=_METHODS[self.method],
            mean=self._mean(),
            quantiles=self._quantiles(),
            bins=[
                Bin(
                    start=left,
                    end=right,
                    share=share.value,
                    low=share.low,
                    high=share.high,
                    shift_if_fake=shift,
                )
                for left, right, share, shift in zip(
                    edges, edges[1:], self.shares, moved, strict=False
                )
            ],
        )

    def period(self, days: DayRange) -> Period:
        """The estimate as one period of a series.

        Args:
            days: those of the period.
        """
        return Period(
            since=days.since,
            until=days.until,
            reports=self.reports,
            mean=self._mean(),
            quantiles=self._quantiles(),
        )

    def _mean(self) -> Number:
        return Number(
            estimate=self.mean.value,
            low=self.mean.low,
            high=self.mean.high,
            shift_if_fake=self.influence.mean,
            meaning="unbiased, of the middles of the bins",
        )

    def _quantiles(self) -> list[Quantile]:
        return [
            Quantile(q, at.value, at.low, at.high, self.influence.quantiles[q])
            for q, at in self.quantiles.items()
        ]

    def _intervals(self) -> str:
        if self.method == "unbiased":
            return "those of mean and shares are normal, those of quantiles inverted tests"
        return (
            "that of the mean is normal, the others come from a bootstrap of the reports "
            f"({REPLICATES} replicates, fixed seed)"
        )


def estimate_distribution(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    *,
    method: Reconstruction = "em",
    level: float = DEFAULT_LEVEL,
    periods: PeriodsBySpec | None = None,
) -> DistributionEstimate:
    """Estimates a ``distribution`` from its tallies.

    Specs with the same range, bins and mechanism (dBitFlip counts as the same, memoised or not)
    have one histogram together. If there are others, the group with the most reports is used, and
    the reports of the rest are counted as left out.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,).
        method: how reports of Square Wave are turned into a histogram.
        level: of the intervals, in (0, 1).
        periods: how many of the reports there are in each of the metric's periods, by the specs'
            digests. None for a single period.

    Raises:
        ParameterError: if there is no report, or an argument is out of range.
    """
    z_for_level(level)
    if method not in RECONSTRUCTIONS:
        raise ParameterError("reconstruction", f"one of {', '.join(RECONSTRUCTIONS)}", method)
    counted = nonempty(tallies)
    alike = _most_reports(counted)
    if isinstance(alike[0][0].mechanism, GroupedBins):
        method_used: Literal["em", "ems", "unbiased"] = "unbiased"
        found = _from_dbitflip(alike, level, periods or {})
    else:
        method_used, found = method, _from_square_wave(alike, method, level, periods or {})
    first = alike[0][0]
    low, high = (float(end) for end in cast("Range", first.range))
    width = high - low

    def in_unit(interval: BoundedValue) -> BoundedValue:
        return BoundedValue(*(low + width * value for value in interval))

    reports = sum(reports for _, _, reports in alike)
    return DistributionEstimate(
        metric=first.name,
        edges=np.linspace(low, high, len(found.shares) + 1),
        shares=found.shares,
        mean=in_unit(found.mean),
        quantiles={q: in_unit(interval) for q, interval in found.quantiles.items()},
        method=method_used,
        level=level,
        reports=reports,
        left_out=sum(reports for _, _, reports in counted) - reports,
        specs=tuple((spec, reports) for spec, _, reports in alike),
        influence=DistributionInfluence(
            found.influence.bins,
            width * found.influence.mean,
            {q: width * moved for q, moved in found.influence.quantiles.items()},
        ),
    )


class _Found(NamedTuple):
    """The mean, the bins' shares and the quantiles, lengths in widths of the range."""

    mean: BoundedValue
    shares: tuple[BoundedValue, ...]
    quantiles: dict[float, BoundedValue]
    influence: DistributionInfluence


def _most_reports(counted: Sequence[Reported]) -> list[Reported]:
    groups: dict[Any, list[Reported]] = {}
    for entry in counted:
        mechanism = cast("SquareWave | GroupedBins", entry[0].mechanism)
        grouped = isinstance(mechanism, GroupedBins)
        groups.setdefault((entry[0].range, grouped, mechanism.size), []).append(entry)
    return max(groups.values(), key=lambda group: sum(reports for _, _, reports in group))


def _from_square_wave(
    counted: Sequence[Reported], method: Reconstruction, level: float, periods: PeriodsBySpec
) -> _Found:
    """Reconstruction, and a percentile bootstrap.

    Replicates draw the reports again from the most likely histogram. Drawing them from the reports
    themselves, whose noise it has just removed, covers 92% instead of 95%; from a smoothed one, all
    replicates would be blurred once more than the estimate, which would be outside of its interval.
    """
    random = np.random.default_rng(SEED)
    mechanisms = [cast("SquareWave", spec.mechanism) for spec, _, _ in counted]
    once = [counts[None] for _, counts, _ in counted]
    histogram = likely = reconstruct(mechanisms, once, method="em")
    if method != "em":
        histogram = reconstruct(mechanisms, once, method=method)
    drawn = [
        _bootstrap_reports(
            random, mechanism, likely[0], reports, repeats_of(spec, reports, within).extra
        )
        for mechanism, (spec, _, reports) in zip(mechanisms, counted, strict=True)
        for within in (periods.get(spec.digest),)
    ]
    replicates = reconstruct(mechanisms, drawn, method=method)
    tails = (1 - level) / 2, (1 + level) / 2
    ends_of_shares = np.quantile(replicates, tails, axis=0).T
    shares = zip(histogram[0].tolist(), ends_of_shares.tolist(), strict=True)
    means = [cast("NumberTally", tally_for(spec)).mean(counts) for spec, counts, _ in counted]
    weights = np.array([reports for _, _, reports in counted], np.float64)
    weights /= weights.sum()
    parts = [
        MeanPart(spec, reports, weight, mean)
        for (spec, _, reports), weight, mean in zip(counted, weights.tolist(), means, strict=True)
    ]
    variance = mean_variance(parts, periods)
    mean = normal_interval(float(weights @ [mean.mean for mean in means]), variance, level)
    ends = {q: np.quantile(histogram_quantiles(replicates, q), tails) for q in QUANTILES}
    quantiles = {
        q: interval_containing(float(histogram_quantiles(histogram, q)[0]), *ends[q].tolist())
        for q in QUANTILES
    }
    influence = square_wave_influence(
        mechanisms,
        [counts for _, counts, _ in counted],
        method=method,
        mean=mean_influence(parts),
        quantiles=QUANTILES,
    )
    return _Found(
        mean, tuple(interval_containing(bar, *ends) for bar, ends in shares), quantiles, influence
    )


def _bootstrap_reports(
    random: np.random.Generator,
    mechanism: SquareWave,
    histogram: NDArray[np.float64],
    reports: int,
    extra: float,
) -> NDArray[np.int64]:
    """Reports drawn from a histogram: int64, (replicates, outcomes).

    If devices may have reported several times, fewer devices are drawn, and each one's reports
    have fresh noise.
    """
    if not extra:
        return random.multinomial(reports, channel(mechanism) @ histogram, size=REPLICATES)
    devices = max(1, round(reports / (1 + extra * reports)))
    held = random.multinomial(devices, histogram / histogram.sum(), size=REPLICATES)
    again = np.rint(held * (reports / devices)).astype(np.int64)
    drawn = np.zeros((REPLICATES, channel(mechanism).shape[0]), np.int64)
    for count, column in zip(again.T, channel(mechanism).T, strict=True):
        drawn += random.multinomial(count, column)
    return drawn


def _from_dbitflip(counted: Sequence[Reported], level: float, periods: PeriodsBySpec) -> _Found:
    """Unbiased shares with normal intervals."""
    found = [cast("DBitFlipTally", tally_for(spec)).shares(counts) for spec, counts, _ in counted]
    precision = np.sum([1 / shares.null_variance for shares in found], axis=0)
    if not precision.all():
        reports = sum(reports for _, _, reports in counted)
        raise ParameterError("reports", "enough for an answer about every bin", reports)
    null_variance = 1 / precision
    # A bin that no report of a spec is about has an infinite variance, and so no weight.
    weights = [null_variance / shares.null_variance for shares in found]
    share = np.sum([w * shares.share for w, shares in zip(weights, found, strict=True)], axis=0)
    held, covariance = norm_sub(share), np.zeros((share.size, share.size))
    for weight, (spec, counts, reports) in zip(weights, counted, strict=True):
        tally = cast("DBitFlipTally", tally_for(spec))
        again = repeats_of(spec, reports, periods.get(spec.digest)).extra * reports
        covariance += np.outer(weight, weight) * tally.covariance(counts, held, again)
    for one, other in itertools.combinations(range(len(counted)), 2):
        (first, _, reports), (second, _, more) = counted[one], counted[other]
        within, beside = periods.get(first.digest), periods.get(second.digest)
        if within is not None and beside is not None:
            pairs = shared_pairs_across_specs(within, beside) / (reports * more)
            same = pairs * np.outer(weights[one], weights[other])
            covariance += (same + same.T) * (np.diag(held) - np.outer(held, held))
    # Measured from the middle of the range, since raw shares need not add up to 1: their sum
    # would add noise to a mean that is measured from the lower end.
    arms = (np.arange(share.size) + 0.5) / share.size - 0.5
    moved = [cast("Any", shares.influence) for shares in found]
    influence = dbitflip_influence(
        [cast("GroupedBins", spec.mechanism) for spec, _, _ in counted],
        [counts for _, counts, _ in counted],
        weights,
        share,
        np.sum([weight * each for weight, each in zip(weights, moved, strict=True)], axis=0),
        QUANTILES,
    )
    bars = zip(share.tolist(), np.diag(covariance).tolist(), strict=True)
    return _Found(
        normal_interval(
            0.5 + float(arms @ share), max(float(arms @ covariance @ arms), 0.0), level
        ),
        tuple(normal_interval(*bar, level) for bar in bars),
        {q: inverted_test_interval(share, covariance, null_variance, q, level) for q in QUANTILES},
        influence,
    )
