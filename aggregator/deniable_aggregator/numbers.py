"""From tallies of numbers to a mean with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from deniable_aggregator.answer import described
from deniable_aggregator.intervals import DEFAULT_LEVEL, z_value
from deniable_aggregator.tallies import tally_for, with_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.tallies.numbers import NumberTally
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
    """

    metric: str
    mean: float
    standard_error: float
    low: float
    high: float
    level: float
    reports: int
    specs: tuple[tuple[Spec, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON data: the meaning of the numbers, and the numbers."""
        return {
            "metric": self.metric,
            "type": "number",
            "reports": self.reports,
            "about": "population",
            "unit": "the metric's own; unbiased, and not clipped to the range. Values outside the "
            "range were recorded as its ends",
            "interval": {
                "level": self.level,
                "meaning": (
                    "the interval covers the mean of the population that the devices that "
                    f"reported are a random sample of with probability {self.level:g}, and the "
                    "mean among these devices at least as often"
                ),
            },
            "specs": [described(spec, reports) for spec, reports in self.specs],
            "mean": self.mean,
            "standard_error": self.standard_error,
            "low": self.low,
            "high": self.high,
        }


def estimate_mean(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]], *, level: float = DEFAULT_LEVEL
) -> MeanEstimate:
    """Estimates the mean of a ``number`` from its tallies.

    Tallies of different specs are never added: each gives a mean by itself, and these are combined
    by the inverse variance that a value in the middle of the range would have.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,).
        level: of the interval, in (0, 1).

    Raises:
        ParameterError: if there is no report, or the level is out of range.
    """
    half_width = z_value(level)
    counted = with_reports(tallies)
    total = mean = variance = 0.0
    for spec, counts, reports in counted:
        low, high = (float(end) for end in cast("Range", spec.range))
        found = cast("NumberTally", tally_for(spec)).mean(counts)
        weight = mean_weight(spec, reports)
        total += weight
        mean += weight * (low + found.mean * (high - low))
        variance += weight**2 * found.variance * (high - low) ** 2
    mean, error = mean / total, math.sqrt(variance) / total
    return MeanEstimate(
        metric=counted[0][0].name,
        mean=mean,
        standard_error=error,
        low=mean - half_width * error,
        high=mean + half_width * error,
        level=level,
        reports=sum(reports for _, _, reports in counted),
        specs=tuple((spec, reports) for spec, _, reports in counted),
    )


def mean_weight(spec: Spec, reports: int) -> float:
    """The inverse variance of a spec's mean if all values stood in the middle of the range.

    It does not depend on the reports, so an average with these weights stays unbiased.

    Args:
        spec: with a numeric mechanism.
        reports: how many there are.
    """
    low, high = cast("Range", spec.range)
    return 1 / (spec.mechanism.variance(0.5, reports) * float(high - low) ** 2)
