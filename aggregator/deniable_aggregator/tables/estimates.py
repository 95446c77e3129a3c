"""Rows of estimates: shares, a mean, or a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.answers.estimates import Distribution, Estimate, Mean, SegmentShares
from deniable_aggregator.tables.common import (
    combined_rows,
    from_interval,
    from_marks,
    from_verdict,
    from_versions,
    in_segment,
    mean_rows,
    quantile_rows,
    segment_rows,
    share_rows,
)
from deniable_aggregator.tables.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deniable_aggregator.answers.estimates import Bin, VersionEstimate
    from deniable_aggregator.answers.lifts import Lift


def estimate_rows(answer: Estimate) -> Iterator[Row]:
    """The rows of an estimate: its numbers, then those of each version by itself."""
    days = answer.days
    common = {
        "application": answer.application,
        "metric": answer.metric,
        "question": "estimate",
        "since": days.since,
        "until": days.until,
        "reports": answer.reports,
        **from_interval(answer.interval, answer.margin),
        **from_versions(answer.versions),
        **from_verdict(answer.health.verdict),
        "marks": from_marks(days.marks(days.since, days.until)),
    }
    yield from _numbers(answer, common)
    for each in answer.per_version or ():
        yield from _version_rows(answer, each, common)


def _numbers(answer: Estimate, common: Mapping[str, Any]) -> Iterator[Row]:
    if isinstance(answer, Mean):
        yield from mean_rows(answer.mean, common)
    elif isinstance(answer, Distribution):
        yield from mean_rows(answer.mean, common)
        by_histogram = {**common, "method": answer.method}
        yield from quantile_rows(answer.quantiles, by_histogram)
        yield from _bin_rows(answer.bins, by_histogram)
    elif isinstance(answer, SegmentShares):
        yield from segment_rows([answer.segment], common)
        yield from share_rows(answer.estimates, {**common, "segment": in_segment(answer.segment)})
    else:
        yield from segment_rows(answer.segments or (), common)
        yield from combined_rows(answer.combined, common)
        yield from combined_rows(answer.rest, common, rest=True)
        yield from share_rows(answer.estimates, common)
        yield from _lift_rows(answer.lifts or (), common)


def _lift_rows(lifts: Iterable[Lift], common: Mapping[str, Any]) -> Iterator[Row]:
    for each in lifts:
        yield Row(
            **{**common, "reports": each.reports},
            measure="lift",
            value=" & ".join(each.values),
            estimate=each.lift,
            standard_error=each.standard_error,
            low=each.low,
            high=each.high,
            p_value=each.p_value,
            adjusted_p_value=each.adjusted_p_value,
            detected=each.association != "unclear",
            shift_if_fake=each.shift_if_fake,
            method="fieller",
        )


def _bin_rows(bins: Iterable[Bin], common: Mapping[str, Any]) -> Iterator[Row]:
    for each in bins:
        yield Row(
            **common,
            measure="bin",
            bin_from=each.start,
            bin_to=each.end,
            estimate=each.share,
            low=each.low,
            high=each.high,
            shift_if_fake=each.shift_if_fake,
        )


def _version_rows(
    answer: Estimate, version: VersionEstimate, common: Mapping[str, Any]
) -> Iterator[Row]:
    days = answer.days
    described = [each for each in answer.versions if each.version == version.version]
    of_version = {
        **common,
        "question": "version",
        "since": version.first_day,
        "until": version.last_day,
        "reports": version.reports,
        **from_versions(described),
        "marks": from_marks(days.marks(version.first_day, version.last_day)),
    }
    yield from combined_rows(version.combined, of_version)
    yield from share_rows(version.estimates or (), of_version)
    yield from mean_rows(version.mean, of_version)
    method = answer.method if isinstance(answer, Distribution) else None
    yield from quantile_rows(version.quantiles, {**of_version, "method": method})
