"""Means of numbers, and whether a distribution would have told more."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, cast

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answering.estimation.shares import FAKES, metric_versions
from deniable_aggregator.answers.common import IntervalNote, Notice
from deniable_aggregator.answers.limits import widest
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.influence import FORGED_SHARE
from deniable_aggregator.counting.statistics.intervals import (
    DEFAULT_LEVEL,
    repeats_of,
    shared_pairs_across_specs,
    z_for_level,
)
from deniable_aggregator.counting.statistics.outcomes import raw_shares
from deniable_aggregator.counting.tallies import nonempty, tally_for
from deniable_shared.mechanisms import NumericMechanism, SquareWave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_aggregator.counting.tallies import Reported
    from deniable_aggregator.counting.tallies.numbers import Mean, NumberTally
    from deniable_shared.numbers import Range
    from deniable_shared.spec import Spec


BINS: Final = 32
"""Of the distribution that a number is compared with."""

WORTH: Final = 1.1
"""It is worth saying if the error of the mean would be at most so many times what it is."""

PLACED: Final = 0.05
"""And if the share below the middle of the range would have at most this standard error."""


def distribution_notices(parts: Sequence[MeanPart], error: float) -> tuple[Notice, ...]:
    """A note if a distribution of the same epsilon would have told quantiles at hardly any cost.

    Nothing is said of memoised metrics, which would cost a device otherwise, of approximate ones,
    and where there are too few reports for quantiles.

    Args:
        error: the standard error of the mean.
    """
    part = max(parts, key=lambda counted: counted.reports)
    mechanism = cast("NumericMechanism", part.spec.mechanism)
    if mechanism.epsilon_permanent is not None or mechanism.delta:
        return ()
    wave = SquareWave.for_epsilon(BINS, Fraction(mechanism.epsilon).limit_denominator(1_000))
    reports = sum(part.reports for part in parts)
    if _middle_error(wave) > PLACED * reports**0.5:
        return ()
    at, width = min(max(part.scaled_mean.mean, 0.0), 1.0), part.weight * reports / part.reports
    more = width**2 * (wave.variance(at, reports) - mechanism.variance(at, reports))
    instead = max(error**2 + more, 0.0) ** 0.5
    if not instead <= WORTH * error:
        return ()
    would, now = f"{instead:.2g}", f"{error:.2g}"
    message = (
        "As a distribution with the same epsilon, this metric would also tell its quantiles and "
        "its shape. The standard error of its mean would "
        + (f"stay about {now}." if would == now else f"be about {would} instead of {now}.")
    )
    return (Notice("distribution_instead", "note", message),)


@lru_cache(64)
def _middle_error(wave: SquareWave) -> float:
    """The standard error of the share below the middle, from one report of an even population."""
    even = np.full(wave.size, 1 / wave.size)
    _, covariance = raw_shares(wave, np.ones(wave.outcomes, np.int64), even)
    below = np.arange(wave.size) < wave.size // 2
    once = wave.outcomes * float(covariance[np.ix_(below, below)].sum()) - 0.25
    return math.sqrt(max(once, 0.0))


_CUT: Final = (
    "that of values of which those outside of the range are counted as its ends; how many these "
    "are is not known of a number, and a distribution would show it"
)


@dataclass(frozen=True)
class MeanEstimate:
    """An unbiased estimate of the mean of a number, in the metric's own unit.

    Attributes:
        mean: the estimate; not clipped to the range.
        standard_error: of the mean, for the population that the devices come from.
        low: lower end of the interval.
        high: upper end of the interval.
        level: the probability with which the interval covers, in (0, 1).
        reports: how many reports were counted.
        specs: for each spec that contributed, the spec and its number of reports.
        influence: how far 1% of fake reports could move the mean.
        notices: what a reader must know before these numbers.
    """

    metric: str
    mean: float
    standard_error: float
    low: float
    high: float
    level: float
    reports: int
    specs: tuple[tuple[Spec, int], ...]
    influence: float
    notices: tuple[Notice, ...] = ()

    kind: ClassVar[Literal["mean"]] = "mean"
    margin: ClassVar[Margin] = "noise-and-sampling"
    unit: ClassVar[str] = (
        "the metric's own; unbiased, and not clipped to the range. Values outside the range were "
        "recorded as its ends"
    )

    def head(self, head: Head) -> Head:
        """The head of an answer with what is to be said of this mean."""
        return replace(
            head,
            metric=self.metric,
            kind="mean",
            reports=self.reports,
            margin=self.margin,
            unit=self.unit,
            interval=IntervalNote(
                level=self.level,
                meaning=(
                    "the interval covers the mean of the population that the devices that "
                    f"reported are a random sample of with probability {self.level:g}, and the "
                    "mean among these devices at least as often"
                ),
            ),
            fakes=FAKES,
            versions=metric_versions(self.specs),
            meanings={"mean": _CUT},
        )

    def numbers(self, period: int = 0) -> list[Measured]:
        """The mean.

        Args:
            period: the place of its period in the answer.
        """
        ends = widest(range_of(spec) for spec, _ in self.specs)
        return [
            Measured(
                measure="mean",
                bin_from=None if ends is None else ends[0],
                bin_to=None if ends is None else ends[1],
                period=period,
                estimate=self.mean,
                standard_error=self.standard_error,
                low=self.low,
                high=self.high,
                shift_if_fake=self.influence,
            )
        ]


def estimate_mean(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    *,
    level: float = DEFAULT_LEVEL,
    periods: PeriodsBySpec | None = None,
) -> MeanEstimate:
    """Estimates the mean of a ``number`` from its tallies.

    Tallies of different specs are never added: each gives a mean by itself, and these are averaged
    over all reports: a spec's weight is its part of them, whatever its devices hold.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,).
        level: of the interval, in (0, 1).
        periods: how many of the reports there are in each of the metric's periods, by the specs'
            digests. None for a single period.

    Raises:
        ParameterError: if there is no report, or the level is out of range.
    """
    z = z_for_level(level)
    counted = nonempty(tallies)
    parts = mean_parts(counted)
    mean = sum(part.mean for part in parts)
    variance = mean_variance(parts, periods or {})
    # Distances to the ends of intervals combine like errors (Zou and Donner 2008).
    below = above = variance - sum(part.weight**2 * part.scaled_mean.variance for part in parts)
    below, above = (max(reduced, 0.0) * z**2 for reduced in (below, above))
    for part, (spec, counts, _) in zip(parts, counted, strict=True):
        low, high = cast("NumberTally", tally_for(spec)).mean_limits(counts, 1 - level)
        below += (part.weight * (part.scaled_mean.mean - low)) ** 2
        above += (part.weight * (high - part.scaled_mean.mean)) ** 2
    return MeanEstimate(
        metric=counted[0][0].name,
        mean=mean,
        standard_error=math.sqrt(variance),
        low=mean - math.sqrt(below),
        high=mean + math.sqrt(above),
        level=level,
        reports=sum(reports for _, _, reports in counted),
        specs=tuple((spec, reports) for spec, _, reports in counted),
        influence=mean_influence(parts),
        notices=distribution_notices(parts, math.sqrt(variance)),
    )


def range_of(spec: Spec) -> Limits:
    """The ends of the range of a number or a distribution."""
    low, high = map(float, cast("Range", spec.range))
    return low, high


class MeanPart(NamedTuple):
    """One spec's part in a mean.

    Attributes:
        weight: of its mean, in the unit of the result for one width of its range.
        scaled_mean: its mean, in widths of its range.
        offset: what the lower end of its range contributes to the result.
    """

    spec: Spec
    reports: int
    weight: float
    scaled_mean: Mean
    offset: float = 0.0

    @property
    def mean(self) -> float:
        """What it adds to the result."""
        return self.offset + self.weight * self.scaled_mean.mean


def mean_parts(counted: Sequence[Reported]) -> list[MeanPart]:
    """The part of each spec of a ``number`` in the mean over all specs."""
    total = sum(reports for _, _, reports in counted)
    parts = []
    for spec, counts, reports in counted:
        low, high = range_of(spec)
        mean, share = cast("NumberTally", tally_for(spec)).mean(counts), reports / total
        parts.append(MeanPart(spec, reports, share * (high - low), mean, share * low))
    return parts


def mean_variance(parts: Sequence[MeanPart], periods: PeriodsBySpec) -> float:
    """The variance of an average of means, if the same devices reported in all periods.

    The reports of a device share its permanent bit, if the mechanism has one, and its value. The
    variance of the values is not known; for values in [0, 1] with mean m it is at most m (1 - m).
    Where the specs' means differ, the devices of each being a sample adds to it.

    Args:
        parts: what is averaged.
        periods: how many reports there are of each period, by the specs' digests.
    """
    reports = sum(part.reports for part in parts)
    mean = sum(part.mean for part in parts)
    total, deviations = 0.0, []
    for part in parts:
        repeats = repeats_of(part.spec, part.reports, periods.get(part.spec.digest))
        shared = repeats.extra * _shared_variance(part.spec, part.scaled_mean)
        apart = part.mean - part.reports / reports * mean
        total += part.weight**2 * (part.scaled_mean.variance + shared)
        total += apart**2 * (1 / part.reports + repeats.extra)
        deviations.append(math.sqrt(part.weight**2 * _spread(part.scaled_mean) + apart**2))
    for row, column in itertools.combinations(range(len(parts)), 2):
        first, second = (periods.get(parts[at].spec.digest) for at in (row, column))
        if first is not None and second is not None:
            pairs = shared_pairs_across_specs(first, second)
            pairs /= parts[row].reports * parts[column].reports
            total += 2 * pairs * deviations[row] * deviations[column]
    return total


def mean_covariance(
    before: Sequence[MeanPart],
    after: Sequence[MeanPart],
    periods: tuple[PeriodsBySpec, PeriodsBySpec],
) -> float:
    """The largest covariance that two means can have because the same devices are in both.

    Args:
        before: what the one is averaged from.
        periods: how many reports there are of each period, by the specs' digests, for both.
    """
    total = 0.0
    for first, second in itertools.product(before, after):
        pairs = shared_pairs_across_specs(
            periods[0][first.spec.digest], periods[1][second.spec.digest]
        )
        shared = _shared_variance if first.spec == second.spec else _spread_of
        common = math.sqrt(
            shared(first.spec, first.scaled_mean) * shared(second.spec, second.scaled_mean)
        )
        total += first.weight * second.weight * pairs / (first.reports * second.reports) * common
    return total


def _spread_of(_: Spec, mean: Mean) -> float:
    return _spread(mean)


def _shared_variance(spec: Spec, mean: Mean) -> float:
    """The largest variance that all reports of a device can have in common."""
    mechanism = cast("NumericMechanism", spec.mechanism)
    permanent = mechanism.permanent_variance(_share_of_range(mean))
    return _spread(mean) if permanent is None else permanent


def _spread(mean: Mean) -> float:
    return _share_of_range(mean) * (1 - _share_of_range(mean))


def _share_of_range(mean: Mean) -> float:
    return min(max(mean.mean, 0.0), 1.0)


def mean_influence(parts: Sequence[MeanPart]) -> float:
    """How far fake reports, 1% of all, could move an average of means: at most.

    All fakes claim to be of the spec in which one report moves the average most.

    Args:
        parts: what is averaged.
    """
    reports, mean = sum(part.reports for part in parts), sum(part.mean for part in parts)

    def shift_of(part: MeanPart) -> float:
        width, own = part.weight * reports / part.reports, part.mean * reports / part.reports
        return width * part.scaled_mean.influence + FORGED_SHARE * abs(own - mean)

    return max(map(shift_of, parts))
