"""What a distribution amounts to: its histogram, mean and quantiles, and how they are answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, cast

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answering.estimation.histograms import Histogram, find_histogram
from deniable_aggregator.answering.estimation.shares import FAKES, metric_versions
from deniable_aggregator.answering.estimation.thresholds import share_between
from deniable_aggregator.answers.common import IntervalNote
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.words import (
    RECONSTRUCTIONS,
    Margin,
    Reconstruction,
)
from deniable_aggregator.counting.statistics.histogram_limits import (
    BoundedValue,
    histogram_quantiles,
    normal_interval,
    quantile_bins,
)
from deniable_aggregator.counting.statistics.intervals import DEFAULT_LEVEL, z_for_level
from deniable_aggregator.counting.tallies import nonempty
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.counting.statistics.intervals import PeriodsBySpec
    from deniable_shared.numbers import Range
    from deniable_shared.spec import Spec


_METHODS: Final = {
    "em": "the most likely histogram (expectation maximisation)",
    "ems": "the most likely histogram, its neighbouring bins averaged at every step "
    "(expectation maximisation with smoothing): spikes are blurred over a few bins",
    "unbiased": "raw shares of the bins, neither clipped nor rescaled; quantiles are read from "
    "their projection on histograms (Norm-Sub)",
}
_QUANTILES: Final = (
    "that of a quantile contains whole bins, since nothing is known about where within a bin "
    "values are; a quantile without an estimate cannot be placed"
)


class PlacedQuantile(NamedTuple):
    """Where a quantile is.

    Attributes:
        value: the estimate; None if the reports cannot place it.
        low: the lower end of its interval.
        high: the upper end.
        reason: why the quantile cannot be placed, and what would help; empty if it is placed.
    """

    value: float | None
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class DistributionEstimate:
    """A histogram of a number with its mean and quantiles, in the metric's own unit.

    Attributes:
        edges: float64, (bins + 1,).
        histogram: the histogram, over a range of width 1.
        quantiles: by probability.
        level: the probability with which each single interval is meant to cover, in (0, 1).
        reports: how many reports were counted.
        specs: for each spec that contributed, the spec and its number of reports.
        notices: what a reader must know before these numbers.
        between: the ends of the values whose share together is asked for; None for no such end.
    """

    metric: str
    edges: NDArray[np.float64]
    histogram: Histogram
    quantiles: dict[float, PlacedQuantile]
    level: float
    reports: int
    specs: tuple[tuple[Spec, int], ...]
    notices: tuple[Notice, ...] = ()
    between: tuple[float | None, float | None] = (None, None)

    kind: ClassVar[Literal["distribution"]] = "distribution"
    margin: ClassVar[Margin] = "noise-and-sampling"
    unit: ClassVar[str] = "the metric's own; values outside the range were recorded as its ends"

    @property
    def width(self) -> float:
        """Of the range."""
        return float(self.edges[-1] - self.edges[0])

    @cached_property
    def shares(self) -> tuple[BoundedValue, ...]:
        """For each bin the share of the population."""
        return self.histogram.shares(self.level)

    @cached_property
    def mean(self) -> BoundedValue:
        """The mean of the middles of the bins; unbiased whatever the method."""
        mean, variance = self.histogram.mean, self.histogram.mean_variance
        low = float(self.edges[0])
        return normal_interval(low + self.width * mean, self.width**2 * variance, self.level)

    def head(self, head: Head) -> Head:
        """The head of an answer with what is to be said of this distribution."""
        method = self.histogram.method
        return replace(
            head,
            metric=self.metric,
            kind="distribution",
            reports=self.reports,
            margin=self.margin,
            unit=self.unit,
            interval=IntervalNote(level=self.level, meaning=self._interval_meaning()),
            fakes=FAKES,
            versions=metric_versions(self.specs),
            label="raw" if method == "unbiased" else "post-processed",
            meanings={
                "histogram": _METHODS[method],
                "mean": "unbiased, of the middles of the bins",
            },
        )

    def numbers(self, period: int = 0) -> list[Measured]:
        """The mean, the quantiles, and the shares of bins.

        Args:
            period: the place of their period in the answer.
        """
        edges, moved = self.edges.tolist(), self.histogram.influence.bins.tolist()
        bins = zip(edges, edges[1:], self.shares, moved, strict=False)
        return [
            *self.placed(period),
            *(
                Measured(
                    measure="bin",
                    bin_from=lower,
                    bin_to=right,
                    period=period,
                    estimate=share.value,
                    low=share.low,
                    high=share.high,
                    shift_if_fake=shift,
                    method=self.histogram.method,
                )
                for lower, right, share, shift in bins
            ),
        ]

    def placed(self, period: int = 0) -> list[Measured]:
        """The share between two numbers, if it is asked for; the mean and the quantiles.

        Args:
            period: the place of their period in the answer.
        """
        moved = self.histogram.influence
        low, high = map(float, self.edges[[0, -1]])
        above, below = self.between
        asked = []
        if (above, below) != (None, None):
            share = share_between(self.histogram, self.edges, above, below, self.level)
            asked = [replace(share, period=period)]
        return [
            *asked,
            Measured(
                measure="mean",
                bin_from=low,
                bin_to=high,
                period=period,
                estimate=self.mean.value,
                standard_error=self.width * self.histogram.mean_variance**0.5,
                low=self.mean.low,
                high=self.mean.high,
                shift_if_fake=self.width * moved.mean,
            ),
            *(
                Measured(
                    measure="quantile",
                    quantile=quantile,
                    bin_from=low,
                    bin_to=high,
                    period=period,
                    estimate=placed.value,
                    low=placed.low,
                    high=placed.high,
                    shift_if_fake=self.width * moved.quantiles[quantile],
                    method=self.histogram.method,
                    reason=placed.reason or None,
                )
                for quantile, placed in self.quantiles.items()
            ),
        ]

    def _interval_meaning(self) -> str:
        shares = (
            "those of mean and shares are normal"
            if self.histogram.method == "unbiased"
            else "that of the mean is normal, those of shares hold all values that the reports "
            "do not contradict"
        )
        return (
            "each interval, taken by itself, is meant to cover the value in the population that "
            f"the devices are a random sample of with probability {self.level:g}; {shares}, and "
            f"{_QUANTILES}"
        )


QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Those that are estimated where no others are asked for."""

WIDEST: Final = 0.5
"""A quantile is placed if its interval is narrower than this part of the range."""

PILE: Final = 3.0
"""Values beyond the range pile up in its last bin if that surely holds so many times as much as
the bin beside it."""

MORE_REPORTS: Final = (
    "it may be anywhere in a half of the range or more: more reports would place it"
)
MORE_BINS: Final = "a single bin is half of the range or more: more bins would place it"
WIDER_RANGE: Final = (
    "it is in the bin at an end of the range, where all values beyond it are recorded too: a wider "
    "range would place it, or, if no values lie beyond, narrower bins"
)


def estimate_distribution(
    tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
    *,
    method: Reconstruction = "em",
    quantiles: Sequence[float] = QUANTILES,
    level: float = DEFAULT_LEVEL,
    periods: PeriodsBySpec | None = None,
) -> DistributionEstimate:
    """Estimates a ``distribution`` from its tallies.

    Each spec is weighted by its reports.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,). All have the same
            range, bins and mechanism (dBitFlip counts as the same, memoised or not).
        method: how reports of Square Wave are turned into a histogram.
        quantiles: each in (0, 1).
        level: of the intervals, in (0, 1).
        periods: how many of the reports there are in each of the metric's periods, by the specs'
            digests. None for a single period.

    Raises:
        ParameterError: if there is no report, or an argument is out of range.
    """
    z_for_level(level)
    if method not in RECONSTRUCTIONS:
        raise ParameterError("reconstruction", f"one of {', '.join(RECONSTRUCTIONS)}", method)
    alike = nonempty(tallies)
    histogram = find_histogram(alike, method=method, quantiles=quantiles, periods=periods or {})
    first = alike[0][0]
    low, high = (float(end) for end in cast("Range", first.range))
    edges = np.linspace(low, high, histogram.held.size + 1)
    reports = sum(reports for _, _, reports in alike)
    return DistributionEstimate(
        metric=first.name,
        edges=edges,
        histogram=histogram,
        quantiles={q: place_quantile(histogram, edges, q, level) for q in dict.fromkeys(quantiles)},
        level=level,
        reports=reports,
        specs=tuple((spec, reports) for spec, _, reports in alike),
    )


def place_quantile(
    histogram: Histogram, edges: NDArray[np.float64], quantile: float, level: float
) -> PlacedQuantile:
    """A quantile with its interval, or why the reports cannot place it.

    Args:
        edges: float64, (bins + 1,): of the histogram's bins.
        quantile: in (0, 1).
        level: of the interval, in (0, 1).
    """
    bins = histogram.held.size
    first, last = quantile_bins(histogram.raw, quantile, level)
    low, high = float(edges[first]), float(edges[last])
    reason = ""
    if (last - first) / bins >= WIDEST:
        reason = MORE_BINS if last - first == 1 else MORE_REPORTS
    elif (
        last - first == 1 and _may_be_beyond(edges, first) and _is_piled_up(histogram, first, level)
    ):
        reason = WIDER_RANGE
    if reason:
        return PlacedQuantile(None, low, high, reason)
    part = float(histogram_quantiles(histogram.held[None], quantile)[0])
    value = float(edges[0] + part * (edges[-1] - edges[0]))
    return PlacedQuantile(min(max(value, low), high), low, high)


def _may_be_beyond(edges: NDArray[np.float64], place: int) -> bool:
    """Whether a bin has values beyond the range: the last, and the first unless it begins at 0."""
    return place == edges.size - 2 or (place == 0 and float(edges[0]) != 0)


def _is_piled_up(histogram: Histogram, end: int, level: float) -> bool:
    """Whether the bin at one end of the range holds much more than the one beside it."""
    z, beside = z_for_level(level), 1 if end == 0 else end - 1
    least = histogram.raw.lower_limit(end, end + 1, z)
    return least > PILE * histogram.raw.upper_limit(beside, beside + 1, z)
