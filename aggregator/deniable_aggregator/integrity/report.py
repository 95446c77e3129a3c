"""The checks of a metric as JSON: verdict, warning, and every check by day and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from deniable_aggregator.answers.common import IntegritySummary
from deniable_aggregator.answers.integrity import (
    Alarm,
    CheckResult,
    DayHealth,
    Health,
    KeyHealth,
)
from deniable_aggregator.dates import day_of, format_day
from deniable_aggregator.integrity.examiner import FAMILY_P
from deniable_aggregator.statistics.checks import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.answers.integrity import CheckName
    from deniable_aggregator.answers.questions import DaysQuery
    from deniable_aggregator.answers.words import Verdict
    from deniable_aggregator.integrity.examiner import DayChecks, Examination, KeyChecks
    from deniable_aggregator.statistics.checks import Check

INVISIBLE: Final = (
    "Checks cannot find devices that lie about their value, nor forged reports whose noise is "
    "drawn as a device draws it. The shift beside each estimate is how far they could move it."
)


def verdict(examination: Examination) -> Verdict:
    """The verdict on all days together."""
    if examination.failing_days:
        return "suspicious"
    return "ok" if examination.checks_made else "unknown"


def health(
    examination: Examination,
    labels: Mapping[str, str],
    *,
    application: str,
    metric: str,
    query: DaysQuery,
    pending_reports: int,
    excluded_reports: int,
) -> Health:
    """The verdict, what it means, and every check.

    Args:
        examination: the checks.
        labels: those of keys, by id.
        application: whose metric it is.
        metric: its name.
        query: the days that were asked for.
        pending_reports: how many reports wait to be counted.
        excluded_reports: how many are left out because their keys are excluded.
    """
    limit = examination.limit
    return Health(
        application=application,
        metric=metric,
        since=query.since,
        until=query.until,
        pending_reports=pending_reports,
        excluded_reports=excluded_reports,
        verdict=verdict(examination),
        warning=warning(examination),
        days_left_out=examination.days_left_out,
        checks_made=examination.checks_made,
        alarm=Alarm(
            limit,
            "a check fails if the probability of such counts in honest reports is below p_below: "
            "4.2 standard deviations, or more where many checks are made, so that honest reports "
            f"fail any of them with a probability of {FAMILY_P:g} at most",
        ),
        invisible=INVISIBLE,
        days=[_day(day, labels, limit) for day in examination.days],
    )


def summary(examination: Examination) -> IntegritySummary:
    """What stands beside an estimate."""
    return IntegritySummary(verdict(examination), warning(examination), examination.days_left_out)


def warning(examination: Examination) -> str | None:
    """A sentence to show beside an estimate from these days, or None if all checks pass."""
    failing = examination.failing_days
    if not failing:
        return None
    dates = ", ".join(dict.fromkeys(format_day(day.epoch) for day in failing[:3]))
    more = "" if len(failing) <= 3 else f" and {len(failing) - 3} more"
    keys = sorted({key for day in failing for key in day.suspicious_keys(examination.limit)})
    named = ""
    if any(keys):
        named = f" Keys {', '.join(keys)} stand out." if keys[1:] else f" Key {keys[0]} stands out."
    return (
        f"The reports of {dates}{more} are not all those of honest devices: see the metric's "
        f"health.{named}"
    )


def _day(day: DayChecks, labels: Mapping[str, str], limit: float) -> DayHealth:
    return DayHealth(
        day=day_of(day.epoch),
        version=day.spec.digest.hex(),
        title=day.spec.mechanism.title,
        reports=day.reports,
        verdict=_verdict(day.all_checks(), limit),
        stand_out=day.suspicious_keys(limit),
        checks=[_check(check, limit) for check in day.checks],
        keys=[_key(each, labels, limit) for each in day.keys],
    )


def _key(each: KeyChecks, labels: Mapping[str, str], limit: float) -> KeyHealth:
    return KeyHealth(
        key=each.key,
        label=labels.get(each.key, ""),
        reports=each.reports,
        verdict=_verdict(each.checks, limit),
        checks=[_check(check, limit) for check in each.checks],
    )


def _check(check: Check, limit: float) -> CheckResult:
    return CheckResult(
        check=cast("CheckName", check.name),
        asks=MEANINGS[check.name],
        verdict=_verdict([check], limit),
        p=check.p,
        found=check.finding,
    )


def _verdict(checks: Iterable[Check], limit: float) -> Verdict:
    made = [check.p for check in checks if check.p is not None]
    if not made:
        return "unknown"
    return "suspicious" if min(made) < limit else "ok"
