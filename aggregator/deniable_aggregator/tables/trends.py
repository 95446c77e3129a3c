"""Rows of a metric over time, and of what has changed between two periods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.tables.common import (
    combined_rows,
    from_interval,
    from_marks,
    from_verdict,
    from_versions,
    in_segment,
    mean_rows,
    present,
    quantile_rows,
    segment_rows,
    share_rows,
)
from deniable_aggregator.tables.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.common import MetricVersion
    from deniable_aggregator.answers.trends import Change, ComparedPeriod, Series
    from deniable_aggregator.answers.words import Verdict
    from deniable_aggregator.tables.common import Columns
    from deniable_aggregator.tables.row import Measure


def series_rows(answer: Series) -> Iterator[Row]:
    """The rows of every period that has reports."""
    common = {
        "application": answer.application,
        "metric": answer.metric,
        "question": "series",
        **from_interval(answer.interval, answer.margin),
        **from_versions(answer.versions),
        "verdict": answer.health.verdict,
    }
    for period in answer.periods:
        of_period = {
            **common,
            "since": period.since,
            "until": period.until,
            "reports": period.reports,
            "suspicious": "suspicious" in period.marks,
            "marks": from_marks(period.marks),
        }
        if period.segment:
            yield from segment_rows([period.segment], of_period)
            of_period["segment"] = in_segment(period.segment)
        yield from combined_rows(period.combined, of_period)
        yield from combined_rows(period.rest, of_period, rest=True)
        yield from share_rows(period.estimates or (), of_period)
        yield from mean_rows(period.mean, of_period)
        yield from quantile_rows(period.quantiles, of_period)


def change_rows(answer: Change) -> Iterator[Row]:
    """The rows of all differences, and of what else is known of the two periods."""
    before, after = answer.before, answer.after
    of_both = {
        "application": answer.application,
        "metric": answer.metric,
        "question": "change",
        **from_interval(answer.interval, answer.margin),
        **from_verdict(_worst(answer.health.before.verdict, answer.health.after.verdict)),
    }
    common = {
        **of_both,
        "since": after.since,
        "until": after.until,
        "before_since": before.since,
        "before_until": before.until,
        "reports": after.reports,
        "before_reports": before.reports,
        **from_versions(_versions(before, after)),
        "marks": from_marks([*before.marks, *after.marks]),
    }
    if answer.segment:
        for period, size in zip((before, after), answer.segment, strict=True):
            yield from segment_rows([size], {**of_both, **_of_period(period)})
        common["segment"] = in_segment(answer.segment[1])
    yield from _combined(answer, common)
    yield from _differences(answer, common)
    yield from _quantiles(answer, common)
    yield from _distance(answer, common)


def _combined(answer: Change, common: Mapping[str, Any]) -> Iterator[Row]:
    combined = answer.combined
    if not combined:
        return
    yield Row(
        **common,
        measure="difference in combined",
        value=" + ".join(combined.values),
        estimate=combined.change,
        standard_error=combined.standard_error,
        low=combined.low,
        high=combined.high,
        before=combined.before,
        after=combined.after,
        p_value=combined.p_value,
        detected=combined.changed,
        shift_if_fake=combined.shift_if_fake,
    )


def _differences(answer: Change, common: Mapping[str, Any]) -> Iterator[Row]:
    kind: Measure = "difference in share" if answer.kind == "shares" else "difference in mean"
    for each in answer.changes:
        yield Row(
            **common,
            measure=kind,
            value=present(each.value),
            estimate=each.change,
            standard_error=each.standard_error,
            low=each.low,
            high=each.high,
            before=each.before,
            after=each.after,
            p_value=each.p_value,
            adjusted_p_value=each.adjusted_p_value,
            detected=each.changed,
            shift_if_fake=each.shift_if_fake,
        )


def _quantiles(answer: Change, common: Mapping[str, Any]) -> Iterator[Row]:
    for each in answer.quantiles or ():
        yield Row(
            **common,
            measure="difference in quantile",
            quantile=each.quantile,
            estimate=each.change,
            low=each.low,
            high=each.high,
            before=each.before,
            after=each.after,
            detected=each.changed,
            shift_if_fake=each.shift_if_fake,
        )


def _distance(answer: Change, common: Mapping[str, Any]) -> Iterator[Row]:
    shape = answer.shape
    if not shape:
        return
    distance = shape.distance
    size: Columns = (
        {
            "value": distance.kind,
            "estimate": distance.size,
            "low": distance.low,
            "high": distance.high,
        }
        if distance
        else {}
    )
    yield Row(**common, measure="distance", **size, p_value=shape.p_value, detected=shape.changed)


def _of_period(period: ComparedPeriod) -> Columns:
    return {
        "since": period.since,
        "until": period.until,
        **from_versions(period.versions),
        "marks": from_marks(period.marks),
    }


def _versions(*periods: ComparedPeriod) -> list[MetricVersion]:
    """Those of all periods, each once."""
    return list({each.version: each for period in periods for each in period.versions}.values())


def _worst(*verdicts: Verdict) -> Verdict:
    return max(verdicts, key=_FROM_GOOD_TO_BAD.index)


_FROM_GOOD_TO_BAD: Final = ("ok", "unknown", "uneven", "suspicious")
