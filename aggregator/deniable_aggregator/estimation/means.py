"""From tallies of numbers to a mean with its error."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, cast

from msgspec.structs import astuple

from deniable_aggregator.answers.common import IntervalNote, Number
from deniable_aggregator.answers.estimates import Mean as MeanAnswer
from deniable_aggregator.answers.trends import Period
from deniable_aggregator.estimation.results import FAKES, metric_versions
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL, z_for_level
from deniable_aggregator.statistics.repeated_reports import repeats_of, shared_pairs_across_specs
from deniable_aggregator.tallies import nonempty, tally_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.answers.common import Head, Notice
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.dates import DayRange
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_aggregator.tallies import Reported
    from deniable_aggregator.tallies.numeric import Mean, NumberTally
    from deniable_shared.mechanisms import NumericMechanism
    from deniable_shared.numbers import Range
    from deniable_shared.spec import Spec


@dataclass(frozen=True)
class MeanEstimate:
    """An unbiased estimate of the mean of a number, in the metric's own unit.

    Attributes:
        metric: the metric's name.
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

    def answer(self, head: Head) -> MeanAnswer:
        """The estimate as an answer.

        Args:
            head: where it comes from.
        """
        return MeanAnswer(
            *astuple(head.with_notices(self.notices)),
            metric=self.metric,
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
            mean=self._number(),
        )

    def period(self, days: DayRange) -> Period:
        """The estimate as one period of a series.

        Args:
            days: those of the period.
        """
        return Period(since=days.since, until=days.until, reports=self.reports, mean=self._number())

    def _number(self) -> Number:
        return Number(
            estimate=self.mean,
            standard_error=self.standard_error,
            low=self.low,
            high=self.high,
            shift_if_fake=self.influence,
        )


def estimate_mean(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    *,
    level: float = DEFAULT_LEVEL,
    periods: PeriodsBySpec | None = None,
) -> MeanEstimate:
    """Estimates the mean of a ``number`` from its tallies.

    Tallies of different specs are never added: each gives a mean by itself, and these are combined
    by the inverse of the variance that values in the middle of the range would have.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,).
        level: of the interval, in (0, 1).
        periods: how many of the reports there are in each of the metric's periods, by the specs'
            digests. None for a single period.

    Raises:
        ParameterError: if there is no report, or the level is out of range.
    """
    half_width = z_for_level(level)
    counted = nonempty(tallies)
    parts = mean_parts(counted)
    mean = sum(part.offset + part.weight * part.found.mean for part in parts)
    error = math.sqrt(mean_variance(parts, periods or {}))
    return MeanEstimate(
        metric=counted[0][0].name,
        mean=mean,
        standard_error=error,
        low=mean - half_width * error,
        high=mean + half_width * error,
        level=level,
        reports=sum(reports for _, _, reports in counted),
        specs=tuple((spec, reports) for spec, _, reports in counted),
        influence=sum(part.weight * part.found.influence for part in parts),
    )


class MeanPart(NamedTuple):
    """One spec's part in a mean.

    Attributes:
        spec: the spec.
        reports: how many reports it has.
        weight: of its mean, in the unit of the result for one width of its range.
        found: its mean, in widths of its range.
        offset: what the lower end of its range contributes to the result.
    """

    spec: Spec
    reports: int
    weight: float
    found: Mean
    offset: float = 0.0


def mean_parts(counted: Sequence[Reported]) -> list[MeanPart]:
    """The part of each spec of a ``number`` in the mean over all specs.

    Args:
        counted: the specs with reports.
    """
    weights = [mean_weight(spec, reports) for spec, _, reports in counted]
    parts = []
    for weight, (spec, counts, reports) in zip(weights, counted, strict=True):
        low, high = (float(end) for end in cast("Range", spec.range))
        found, share = cast("NumberTally", tally_for(spec)).mean(counts), weight / sum(weights)
        parts.append(MeanPart(spec, reports, share * (high - low), found, share * low))
    return parts


def mean_variance(parts: Sequence[MeanPart], periods: PeriodsBySpec) -> float:
    """The variance of an average of means, if the same devices reported in all periods.

    The reports of a device share its permanent bit, if the mechanism has one, and its value. The
    variance of the values is not known; for values in [0, 1] with mean m it is at most m (1 - m).

    Args:
        parts: what is averaged.
        periods: how many reports there are of each period, by the specs' digests.
    """
    total = 0.0
    for part in parts:
        repeats = repeats_of(part.spec, part.reports, periods.get(part.spec.digest))
        shared = repeats.extra * _shared(part.spec, part.found)
        total += part.weight**2 * (part.found.variance + shared)
    for one, other in itertools.combinations(parts, 2):
        first, second = (periods.get(part.spec.digest) for part in (one, other))
        if first is not None and second is not None:
            pairs = shared_pairs_across_specs(first, second) / (one.reports * other.reports)
            spread = math.sqrt(_spread(one.found) * _spread(other.found))
            total += 2 * one.weight * other.weight * pairs * spread
    return total


def mean_covariance(
    before: Sequence[MeanPart],
    after: Sequence[MeanPart],
    periods: tuple[PeriodsBySpec, PeriodsBySpec],
) -> float:
    """The largest covariance that two means can have because the same devices are in both.

    Args:
        before: what the one is averaged from.
        after: the other.
        periods: how many reports there are of each period, by the specs' digests, for both.
    """
    total = 0.0
    for one, other in itertools.product(before, after):
        pairs = shared_pairs_across_specs(
            periods[0][one.spec.digest], periods[1][other.spec.digest]
        )
        shared = _shared if one.spec == other.spec else _spread_of
        common = math.sqrt(shared(one.spec, one.found) * shared(other.spec, other.found))
        total += one.weight * other.weight * pairs / (one.reports * other.reports) * common
    return total


def _spread_of(_: Spec, found: Mean) -> float:
    return _spread(found)


def _shared(spec: Spec, found: Mean) -> float:
    """The largest variance that all reports of a device can have in common."""
    mechanism = cast("NumericMechanism", spec.mechanism)
    permanent = mechanism.permanent_variance(_inside(found))
    return _spread(found) if permanent is None else permanent


def _spread(found: Mean) -> float:
    return _inside(found) * (1 - _inside(found))


def _inside(found: Mean) -> float:
    return min(max(found.mean, 0.0), 1.0)


def mean_weight(spec: Spec, reports: int) -> float:
    """The inverse variance of a spec's mean if all values were in the middle of the range.

    It does not depend on the reports, so an average with these weights stays unbiased.

    Args:
        spec: with a numeric mechanism.
        reports: how many there are.
    """
    low, high = cast("Range", spec.range)
    return 1 / (spec.mechanism.variance(0.5, reports) * float(high - low) ** 2)
