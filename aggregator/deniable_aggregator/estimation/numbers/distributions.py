"""From tallies of a distribution to its histogram, mean and quantiles, with their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.words import RECONSTRUCTIONS, VERSION_LETTERS
from deniable_aggregator.estimation.numbers.distribution_estimate import (
    DistributionEstimate,
    PlacedQuantile,
)
from deniable_aggregator.estimation.numbers.histograms import find_histogram
from deniable_aggregator.statistics.histograms.quantiles import histogram_quantiles, quantile_bins
from deniable_aggregator.statistics.intervals import DEFAULT_LEVEL, z_for_level
from deniable_aggregator.tallies import nonempty
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import GroupedBins, SquareWave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Reconstruction
    from deniable_aggregator.estimation.numbers.histograms import Histogram
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_aggregator.tallies import Reported
    from deniable_shared.numbers import Range
    from deniable_shared.spec import Spec

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

    Specs with the same range, bins and mechanism (dBitFlip counts as the same, memoised or not)
    are answered together, each weighted by its reports. If there are others, the group with the
    most reports is used, and the reports of the rest are counted as left out.

    Args:
        tallies: one entry per spec: the spec, and its counts as int64, (cells,).
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
    counted = nonempty(tallies)
    alike = same_bins(counted)
    histogram = find_histogram(alike, method=method, quantiles=quantiles, periods=periods or {})
    first = alike[0][0]
    low, high = (float(end) for end in cast("Range", first.range))
    edges = np.linspace(low, high, histogram.held.size + 1)
    reports = sum(reports for _, _, reports in alike)
    others = [
        (spec, reports)
        for spec, _, reports in counted
        if spec not in {combined_spec for combined_spec, _, _ in alike}
    ]
    return DistributionEstimate(
        metric=first.name,
        edges=edges,
        histogram=histogram,
        quantiles={q: _place(histogram, edges, q, level) for q in dict.fromkeys(quantiles)},
        level=level,
        reports=reports,
        left_out=sum(reports for _, reports in others),
        specs=tuple((spec, reports) for spec, _, reports in alike),
        notices=tuple(_left_out(spec, reports) for spec, reports in others),
    )


def _left_out(spec: Spec, reports: int) -> Notice:
    return Notice(
        "other_bins",
        "warning",
        f"{reports:,} reports are left out: they are of a version of {spec.name} with another "
        f"range, other bins or another mechanism. Ask for version "
        f"{spec.digest.hex()[:VERSION_LETTERS]} to see them",
    )


def same_bins(counted: Sequence[Reported]) -> list[Reported]:
    """Of specs with reports, those with the same bins and mechanism that have most reports."""
    groups: dict[Any, list[Reported]] = {}
    for entry in counted:
        mechanism = cast("SquareWave | GroupedBins", entry[0].mechanism)
        grouped = isinstance(mechanism, GroupedBins)
        groups.setdefault((entry[0].range, grouped, mechanism.size), []).append(entry)
    return max(groups.values(), key=lambda group: sum(reports for _, _, reports in group))


def _place(
    histogram: Histogram, edges: NDArray[np.float64], quantile: float, level: float
) -> PlacedQuantile:
    """A quantile with its interval, or why the reports cannot place it."""
    bins = histogram.held.size
    first, last = quantile_bins(histogram.raw, quantile, level)
    low, high = float(edges[first]), float(edges[last])
    reason = ""
    if (last - first) / bins >= WIDEST:
        reason = MORE_BINS if last - first == 1 else MORE_REPORTS
    elif (
        last - first == 1 and (last == 1 or last == bins) and _is_piled_up(histogram, first, level)
    ):
        reason = WIDER_RANGE
    if reason:
        return PlacedQuantile(None, low, high, reason)
    part = float(histogram_quantiles(histogram.held[None], quantile)[0])
    value = float(edges[0] + part * (edges[-1] - edges[0]))
    return PlacedQuantile(min(max(value, low), high), low, high)


def _is_piled_up(histogram: Histogram, end: int, level: float) -> bool:
    """Whether the bin at one end of the range holds much more than the one beside it."""
    z, beside = z_for_level(level), 1 if end == 0 else end - 1
    least = histogram.raw.lower_limit(end, end + 1, z)
    return least > PILE * histogram.raw.upper_limit(beside, beside + 1, z)
