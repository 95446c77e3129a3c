"""What a distribution amounts to: its histogram, mean and quantiles, and how they are answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple

from msgspec.structs import replace

from deniable_aggregator.answers.common import IntervalNote
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.estimation.shares.share_estimate import FAKES, metric_versions
from deniable_aggregator.statistics.histograms.quantiles import normal_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.estimation.numbers.histograms import Histogram
    from deniable_aggregator.statistics.histograms.quantiles import BoundedValue
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
        left_out: reports of specs with other bins or another mechanism, which cannot be combined.
        specs: for each spec that contributed, the spec and its number of reports.
        notices: what a reader must know before these numbers.
    """

    metric: str
    edges: NDArray[np.float64]
    histogram: Histogram
    quantiles: dict[float, PlacedQuantile]
    level: float
    reports: int
    left_out: int
    specs: tuple[tuple[Spec, int], ...]
    notices: tuple[Notice, ...] = ()

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
            left_out_reports=self.left_out,
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
        """The mean and the quantiles.

        Args:
            period: the place of their period in the answer.
        """
        moved = self.histogram.influence
        return [
            Measured(
                measure="mean",
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
