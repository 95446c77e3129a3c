"""Whether the reports of all metrics look like those of devices, at a glance."""

from __future__ import annotations

from datetime import date

from msgspec import Struct

from deniable_aggregator.answers.answer import Check
from deniable_aggregator.answers.common import NamedKey, Notice
from deniable_aggregator.answers.words import Count, Verdict


class MetricHealth(Struct, kw_only=True):
    """Whether the reports of one metric look like those of devices.

    Attributes:
        metric: its name.
        description: what it is for, as its newest version says; may be empty.
        verdict: of all checks; unknown if there are no reports in these days.
        worst: the check with the smallest p, or null if none could be made.
        suspicious_keys: keys whose reports fail a check.
        uneven_keys: keys whose devices answer differently from those of the others.
        surge_keys: keys that brought far more reports on a day than they usually do.
        suspicious_days: days on which a check of the reports fails.
        uneven_days: days on which a key is seen to answer differently from the others.
        surge_days: days on which far more reports came than usual.
        reported_days: how many of the days have reports.
        not_checked: how many days with reports were not checked, to bound the work.
        reports: how many reports of these days were counted.
        last_day: the last day of all with reports, or null.
        stopped_since: the first day without reports, if they have stopped, or null.
        excluded_reports: reports that are left out because their keys are excluded.
        notices: what to know of this metric, warnings first.
        unanswered: why the reports of these days could not be looked at, or null.
    """

    metric: str
    description: str
    verdict: Verdict
    worst: Check | None = None
    suspicious_keys: list[NamedKey] = []
    uneven_keys: list[NamedKey] = []
    surge_keys: list[NamedKey] = []
    suspicious_days: list[date] = []
    uneven_days: list[date] = []
    surge_days: list[date] = []
    reported_days: Count = 0
    not_checked: Count = 0
    reports: Count = 0
    last_day: date | None = None
    stopped_since: date | None = None
    excluded_reports: Count = 0
    notices: list[Notice] = []
    unanswered: str | None = None


class HealthOverview(Struct, kw_only=True):
    """Whether the reports of all metrics look like those of devices.

    Attributes:
        application: whose metrics they are.
        notices: what to know before all else, warnings first.
        today: the server's day.
        since: the first day, as it was asked for.
        until: the last day.
        verdict: the worst of all metrics.
        metrics: one entry per metric: suspicious ones first, then uneven ones, then those
            with unusual volume, then those whose
            reports have stopped, then all others by name.
    """

    application: str
    notices: list[Notice]
    today: date
    since: date | None
    until: date | None
    verdict: Verdict
    metrics: list[MetricHealth]
