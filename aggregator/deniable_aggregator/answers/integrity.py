"""Whether the reports of a metric look like those of devices."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import Struct

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.days import Days
from deniable_aggregator.answers.words import Count, Verdict, VersionId

CheckName = Literal["bounds", "groups", "levels", "pairs", "seeds", "sizes", "sum"]


class CheckResult(Struct, gc=False):
    """One check of some reports.

    Attributes:
        check: its name.
        asks: what is so in honest reports.
        verdict: whether it is.
        p: how often honest reports look at least so odd; null if the check could not be made.
        found: what was found.
    """

    check: CheckName
    asks: str
    verdict: Verdict
    p: float | None
    found: str


class KeyHealth(Struct, gc=False):
    """The checks of what one key brought on one day.

    Attributes:
        key: its id; empty for reports that were stored before reports were kept by key.
        label: the note that whoever made the key gave it.
        reports: how many reports it brought.
        verdict: of its checks.
        checks: one entry per check.
    """

    key: str
    label: str
    reports: Count
    verdict: Verdict
    checks: list[CheckResult]


class DayHealth(Struct):
    """The checks of one day's reports of one version of a metric.

    Attributes:
        day: the day.
        version: the id of the version.
        title: the name of its mechanism.
        reports: how many reports there are.
        verdict: of all checks of the day.
        stand_out: the ids of the keys whose reports fail a check.
        checks: of all of the day's reports together.
        keys: of what each key brought.
    """

    day: date
    version: VersionId
    title: str
    reports: Count
    verdict: Verdict
    stand_out: list[str]
    checks: list[CheckResult]
    keys: list[KeyHealth]


class Alarm(Struct):
    """When a check fails.

    Attributes:
        p_below: below this p.
        meaning: the same in a sentence.
    """

    p_below: float
    meaning: str


class KeyContrast(Struct, kw_only=True):
    """One key's devices against those of all other keys, on the same days.

    Attributes:
        key: its id.
        label: the note that whoever made the key gave it.
        version: the id of the version of the metric.
        reports: how many reports of this version it brought.
        share: which part of all reports these are.
        verdict: uneven if it differs by more than platforms may.
        kind: what is compared: the share of a value, the mean, or the distance of all shares.
        value: where it differs most, if shares are compared.
        own: the estimate of this key; null for a distance.
        others: that of the others; null for a distance.
        difference: how far they are apart; of a mean, as a part of the range.
        least: the lower end of its interval, corrected for the number of comparisons.
    """

    key: str
    label: str
    version: VersionId
    reports: Count
    share: float
    verdict: Literal["ok", "uneven"]
    kind: Literal["share", "mean", "distance"]
    value: str | None
    own: float | None
    others: float | None
    difference: float
    least: float


class Health(Struct, kw_only=True):
    """Whether the reports of a metric look like those of devices, day by day and key by key.

    Attributes:
        application: whose metric it is.
        notices: what to know before all else, warnings first.
        metric: its name.
        days: the days that are covered.
        since: the first day, as it was asked for.
        until: the last day.
        pending_reports: reports of the metric that are left out, as too many wait to be counted.
        excluded_reports: reports that are left out because their keys are excluded.
        verdict: of all checks.
        checks_made: how many checks were made.
        alarm: when a check fails.
        invisible: what no check can see.
        key_contrasts: one entry per version and key with enough reports to matter.
        by_day: one entry per day and version.
    """

    application: str
    notices: list[Notice]
    metric: str
    days: Days
    since: date | None
    until: date | None
    pending_reports: Count
    excluded_reports: Count
    verdict: Verdict
    checks_made: Count
    alarm: Alarm
    invisible: str
    key_contrasts: list[KeyContrast]
    by_day: list[DayHealth]
