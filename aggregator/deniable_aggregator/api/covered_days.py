"""The days that an answer covers, worked out from what was counted: linear in days and keys."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import Days, KeyLeftOut, Release, Run
from deniable_aggregator.dates import FIRST_DAY, LAST_DAY, day_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.estimation.metric_reports import MetricReports
    from deniable_aggregator.integrity.examiner import Examination
    from deniable_aggregator.integrity.key_contrasts import KeyContrast


def covered_days(
    reported: MetricReports,
    examination: Examination,
    contrasts: Sequence[KeyContrast],
    first_days: Mapping[bytes, int],
    *,
    today: date,
    accept_days: int,
) -> Days:
    """Which days an answer covers, and what is special about them.

    Args:
        reported: the reports of the days that were asked for; at least one.
        examination: the checks of these reports.
        contrasts: every key against the others.
        first_days: the first day of each version, also before these days.
        today: the server's day.
        accept_days: for how many days a day stays open for reports.
    """
    with_reports = [day_of(epoch) for epoch in reported.reported_days]
    asked = reported.days
    since, until = with_reports[0], with_reports[-1]
    if asked.since != FIRST_DAY:
        since = min(since, max(asked.since, day_of(min(first_days.values()))))
    if asked.until != LAST_DAY:
        until = max(until, min(asked.until, today))
    opened = max(since, today - timedelta(accept_days))
    not_checked = set(reported.reported_days) - {day.epoch for day in examination.days}
    return Days(
        since=since,
        until=until,
        covered=(until - since).days + 1,
        reported=len(with_reports),
        missing=list(_gaps(with_reports, since, until)),
        incomplete=[day for day in with_reports if day >= today]
        or ([today] if since <= today <= until else []),
        open_since=opened if opened <= until else None,
        releases=_releases(first_days, since, until),
        suspicious=sorted({day_of(day.epoch) for day in examination.failing_days}),
        uneven=sorted({day_of(epoch) for each in contrasts for epoch in each.epochs}),
        not_checked=len(not_checked),
        keys_left_out=_keys_left_out(reported),
    )


def _gaps(with_reports: Sequence[date], since: date, until: date) -> Iterator[Run]:
    """The days from one to another that are not listed."""
    one = timedelta(1)
    expected = since
    for day in with_reports:
        if expected < day:
            yield Run(expected, day - one)
        expected = day + one
    if expected <= until:
        yield Run(expected, until)


def _releases(first_days: Mapping[bytes, int], since: date, until: date) -> list[Release]:
    """Days on which a version appeared, without the first version of all."""
    first = min(first_days.values())
    found = [
        Release(day_of(epoch), digest.hex())
        for digest, epoch in first_days.items()
        if epoch > first and since <= day_of(epoch) <= until
    ]
    return sorted(found, key=lambda release: release.day)


def _keys_left_out(reported: MetricReports) -> list[KeyLeftOut]:
    reports: Counter[str] = Counter(dict.fromkeys(reported.without, 0))
    for each in reported.left_out:
        reports[each.key] += each.reports
    return [
        KeyLeftOut(
            key,
            reported.keys[key].label if key in reported.keys else "",
            count,
            "excluded" if reported.is_excluded(key) else "without_key",
        )
        for key, count in sorted(reports.items())
    ]
