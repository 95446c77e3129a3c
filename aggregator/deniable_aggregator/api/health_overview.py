"""The health of all metrics at a glance, put together from the health of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.common import Notice, ordered_notices
from deniable_aggregator.answers.health_overview import HealthOverview, MetricHealth
from deniable_aggregator.integrity import report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.answers.answer import Check
    from deniable_aggregator.answers.questions import DaysQuery
    from deniable_aggregator.answers.words import NoticeCode, Verdict
    from deniable_aggregator.api.review import Review

_WORST_FIRST: Final[tuple[Verdict, ...]] = ("suspicious", "uneven", "unknown", "ok")


def metric_health(
    review: Review, pending: int, last_day: date | None, stopped_since: date | None
) -> MetricHealth:
    """The health of one metric.

    Args:
        review: of its reports.
        pending: how many reports wait to be counted.
        last_day: the last day of all with reports.
        stopped_since: the first day without reports, if they have stopped.
    """
    reported = review.reported
    return MetricHealth(
        metric=reported.entries[0].spec.name,
        description=review.description,
        verdict=review.summary.verdict,
        worst=_worst(review),
        suspicious_keys=review.summary.suspicious_keys,
        uneven_keys=review.summary.uneven_keys,
        suspicious_days=review.days.suspicious,
        uneven_days=review.days.uneven,
        reported_days=review.days.reported,
        not_checked=review.days.not_checked,
        reports=sum(sum(days.values()) for days in reported.by_day.values()),
        last_day=last_day,
        stopped_since=stopped_since,
        pending_reports=pending,
        excluded_reports=reported.excluded,
        notices=list(review.notices),
    )


def health_overview(
    application: str, query: DaysQuery, today: date, found: Sequence[MetricHealth]
) -> HealthOverview:
    """The health of all metrics.

    Args:
        application: whose metrics they are.
        query: the days.
        today: the server's day.
        found: the health of each.
    """
    ordered = sorted(
        found,
        key=lambda each: (
            _WORST_FIRST.index(each.verdict) if each.verdict in ("suspicious", "uneven") else 2,
            each.stopped_since is None,
            each.metric,
        ),
    )
    return HealthOverview(
        application=application,
        notices=ordered_notices(_notices(ordered)),
        today=today,
        since=query.since,
        until=query.until,
        verdict=min((each.verdict for each in found), key=_WORST_FIRST.index, default="unknown"),
        metrics=ordered,
    )


def _notices(found: Sequence[MetricHealth]) -> list[Notice]:
    named: tuple[tuple[NoticeCode, str, list[str]], ...] = (
        (
            "suspicious_reports",
            "The reports of {} are not all those of honest devices.",
            [each.metric for each in found if each.verdict == "suspicious"],
        ),
        (
            "uneven_key",
            "A key answers differently from the others in {}.",
            [each.metric for each in found if each.verdict == "uneven"],
        ),
        (
            "reports_stopped",
            "No reports arrive any more of {}.",
            [each.metric for each in found if each.stopped_since is not None],
        ),
    )
    return [
        Notice(code, "warning", text.format(_some(names))) for code, text, names in named if names
    ]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


_MOST_NAMED: Final = 5


def _worst(review: Review) -> Check | None:
    """The check with the smallest p, of a day's reports or of those that one key brought."""
    examination, keys = review.examination, review.reported.keys
    made = [day for day in examination.days if day.checks_made]
    if not made:
        return None
    oddest = min(made, key=lambda day: day.smallest_p)
    known = [
        (each.p, each.key is None, each)
        for each in report.checks_of_day(oddest, keys, examination.limit)
        if each.name is not None and each.p is not None
    ]
    return min(known, key=lambda each: each[:2])[2] if known else None
