"""Rows of health: days, keys, checks, and keys beside all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.tables.common import from_marks, from_verdict
from deniable_aggregator.tables.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deniable_aggregator.answers.integrity import CheckResult, DayHealth, Health, KeyContrast
    from deniable_aggregator.tables.row import Measure


def health_rows(answer: Health) -> Iterator[Row]:
    """The rows of every contrast of keys, and of every day with its keys and all their checks."""
    common = {"application": answer.application, "metric": answer.metric, "question": "health"}
    days = answer.days
    of_all_days = {**common, "since": days.since, "until": days.until}
    for contrast in answer.key_contrasts:
        yield _contrast_row(contrast, of_all_days)
    for day in answer.by_day:
        marks = from_marks(days.marks(day.day, day.day))
        yield from _day_rows(
            day,
            {**common, "since": day.day, "until": day.day, "version": day.version, "marks": marks},
        )


def reports_row(answer: Health) -> Row:
    """How many reports there are of all days together, and whether they look like those of devices.

    Args:
        answer: the health.
    """
    days = answer.days
    return Row(
        application=answer.application,
        metric=answer.metric,
        question="health",
        measure="reports",
        since=days.since,
        until=days.until,
        reports=sum(day.reports for day in answer.by_day),
        **from_verdict(answer.verdict),
        marks=from_marks(days.marks(days.since, days.until)),
    )


def _contrast_row(contrast: KeyContrast, common: Mapping[str, Any]) -> Row:
    return Row(
        **common,
        **from_verdict(contrast.verdict),
        measure=_CONTRASTS[contrast.kind],
        value=contrast.value,
        key=contrast.key,
        label=contrast.label,
        estimate=contrast.difference,
        low=contrast.least,
        before=contrast.others,
        after=contrast.own,
        detected=contrast.verdict == "uneven",
        reports=contrast.reports,
        version=contrast.version,
    )


def _day_rows(day: DayHealth, common: Mapping[str, Any]) -> Iterator[Row]:
    yield Row(**common, **from_verdict(day.verdict), measure="day", reports=day.reports)
    yield from _check_rows(day.checks, {**common, "reports": day.reports})
    for key in day.keys:
        of_key = {**common, "key": key.key, "label": key.label, "reports": key.reports}
        yield Row(**of_key, **from_verdict(key.verdict), measure="key")
        yield from _check_rows(key.checks, of_key)


def _check_rows(checks: Iterable[CheckResult], common: Mapping[str, Any]) -> Iterator[Row]:
    for each in checks:
        yield Row(
            **common,
            **from_verdict(each.verdict),
            measure="check",
            value=each.check,
            p_value=each.p,
        )


_CONTRASTS: Final[Mapping[str, Measure]] = {
    "share": "contrast in share",
    "mean": "contrast in mean",
    "distance": "contrast in distribution",
}
