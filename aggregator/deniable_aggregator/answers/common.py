"""What all answers about a metric have in common, and what they say of days and versions."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from deniable_aggregator.answers.words import (
    Count,
    FalseFinds,
    IntervalKind,
    NoticeCode,
    Verdict,
    VersionId,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.answers.administration import Metric


class Notice(Struct, frozen=True):
    """What a reader must know before the numbers of an answer.

    Attributes:
        code: a short word for programs.
        severity: a warning where the numbers may mislead, else a note.
        message: what it is, and what to do, in one or two sentences.
    """

    code: NoticeCode
    severity: Literal["warning", "note"]
    message: str


def ordered_notices(*groups: Iterable[Notice]) -> list[Notice]:
    """All notices, each once, warnings before notes.

    Args:
        groups: some notices each, in the order in which they are read.
    """
    each_once = dict.fromkeys(notice for group in groups for notice in group)
    return sorted(each_once, key=lambda notice: notice.severity != "warning")


class NamedKey(Struct, frozen=True):
    """A key, as people know it.

    Attributes:
        key: its id; empty for reports that were stored before reports were kept by key.
        label: the note that whoever made the key gave it.
    """

    key: str
    label: str


class IntegritySummary(Struct):
    """Whether the reports behind an answer look like those of devices.

    Attributes:
        verdict: of all days that were checked.
        suspicious_keys: keys whose reports fail a check.
        uneven_keys: keys whose devices answer differently from those of the others.
        surge_keys: keys that brought far more reports on a day than they usually do.
    """

    verdict: Verdict
    suspicious_keys: list[NamedKey]
    uneven_keys: list[NamedKey]
    surge_keys: list[NamedKey] = []


class PeriodCounts(Struct, frozen=True):
    """In how many periods of a metric reports came. A device sends at most one in each.

    Attributes:
        count: how many of these periods have reports; of several versions, the shortest periods.
        busiest: how many reports the one with the most has: there are as many devices.
    """

    count: Count
    busiest: Count


class MetricVersion(Struct, kw_only=True, omit_defaults=True):
    """A version of a metric whose reports are in an answer.

    Attributes:
        version: its id.
        title: the name of its mechanism.
        mechanism: the mechanism with its parameters, which differ by mechanism.
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or null.
        epsilon_total: the loss of all permanent answers of a device, or null for no bound: of
            histories in which the same reports share permanent answers.
        reports: how many reports were counted.
        range: of a number, the lowest and the highest value.
        repeated: what permanent noise means for answers about several periods.
        picked: what shares and means are of, where any value of a period may be the one reported.
        delta: of (epsilon, delta): by how much an event may be more probable than epsilon allows.
        privacy: what delta means.
        period_counts: in how many periods its reports came; of estimates only.
        first_day: the first of the days asked on which it reported, where each version by itself
            was asked for.
        last_day: the last of them.
    """

    version: VersionId
    title: str
    mechanism: dict[str, Any]
    epsilon: float
    epsilon_permanent: float | None
    epsilon_total: float | None
    reports: Count
    range: tuple[float, float] | None = None
    repeated: str | None = None
    picked: str | None = None
    delta: float | None = None
    privacy: str | None = None
    period_counts: PeriodCounts | None = None
    first_day: date | None = None
    last_day: date | None = None


class IntervalNote(Struct, kw_only=True, omit_defaults=True):
    """What the intervals of an answer mean.

    Attributes:
        kind: what they cover.
        level: with which probability.
        meaning: the same in a sentence.
    """

    kind: IntervalKind | None = None
    level: float
    meaning: str


class DetectionNote(Struct):
    """What it means that a value is detected, or that a change is clear.

    Attributes:
        alpha: the level of the test.
        false_finds: how many false ones there may be.
        meaning: the same in a sentence.
        metrics: over how many metrics, which were asked about together.
    """

    alpha: float
    false_finds: FalseFinds
    meaning: str
    metrics: Count = 1


class FakesNote(Struct):
    """What `shift_if_fake` beside every estimate means.

    Attributes:
        share: of all reports, which are assumed to be fake.
        meaning: the same in a sentence.
    """

    share: float
    meaning: str


Mark = Literal[
    "missing",
    "left_out",
    "none_due",
    "incomplete",
    "suspicious",
    "uneven",
    "surge",
    "release",
    "unlike",
]
"""What is special about a period: one of its days has no reports; has some, and all are left out;
has none as none are due; is not over; has reports that are not all those of honest devices; has a
key that answers differently from the others; has far more reports than usual; is the first day of a
version of the metric; or the numbers of the period cannot be compared with those of the one
before."""


class Run(Struct, frozen=True):
    """Days in a row.

    Attributes:
        since: the first.
        until: the last, inclusive.
    """

    since: date
    until: date

    @property
    def length(self) -> int:
        """How many days these are."""
        return (self.until - self.since).days + 1


class Release(Struct, frozen=True):
    """The first day with reports of a version, after the first version of the metric.

    Attributes:
        day: the day.
        version: the id of the version.
    """

    day: date
    version: VersionId


class KeyLeftOut(Struct, frozen=True):
    """A key whose reports are not counted.

    Attributes:
        key: its id.
        label: the note that whoever made the key gave it.
        reports: how many of its reports are left out.
        why: excluded from all answers by an administrator, or asked by without_key.
    """

    key: str
    label: str
    reports: Count
    why: Literal["excluded", "without_key"]


class Days(Struct, kw_only=True):
    """The days that an answer covers.

    Attributes:
        since: the first: as asked, but not before the first report of the metric.
        until: the last: as asked, but not after today; left out, the last with reports.
        covered: how many days these are.
        reported: how many of them have reports.
        missing: those that have none, though some are due.
        left_out: those that have reports, which are all left out.
        none_due: those that have none, as devices have reported and do so more seldom than daily.
        incomplete: those that are not over: today.
        open_since: from this day on reports may still arrive, of devices that were offline; null
            if none of the days accepts any.
        releases: first days of versions of the metric.
        suspicious: days on which a check of the reports fails.
        uneven: days on which a key is seen to answer differently from the others.
        surges: days on which far more reports came than usual.
        not_checked: how many days with reports were not checked, to bound the work.
        not_looked_at: which these are.
        keys_left_out: keys whose reports are not counted.
    """

    since: date
    until: date
    covered: Count
    reported: Count
    missing: list[Run]
    incomplete: list[date]
    open_since: date | None
    releases: list[Release]
    suspicious: list[date]
    uneven: list[date]
    not_checked: Count
    keys_left_out: list[KeyLeftOut]
    left_out: list[Run] = []
    none_due: list[Run] = []
    not_looked_at: list[Run] = []
    surges: list[date] = []

    def marks(self, since: date, until: date) -> list[Mark]:
        """What is special about some of the days.

        Args:
            since: the first of them.
            until: the last.
        """
        of_runs: tuple[tuple[Mark, list[Run]], ...] = (
            ("missing", self.missing),
            ("left_out", self.left_out),
            ("none_due", self.none_due),
        )
        marks = [
            mark
            for mark, some in of_runs
            if any(run.since <= until and since <= run.until for run in some)
        ]
        if any(since <= day <= until for day in self.incomplete):
            marks.append("incomplete")
        if any(since <= day <= until for day in self.suspicious):
            marks.append("suspicious")
        if any(since <= day <= until for day in self.uneven):
            marks.append("uneven")
        if any(since <= day <= until for day in self.surges):
            marks.append("surge")
        if any(since <= release.day <= until for release in self.releases):
            marks.append("release")
        return marks


def runs(days: Iterable[date]) -> list[Run]:
    """The same days as runs.

    Args:
        days: in their order.
    """
    in_a_row: list[Run] = []
    for day in days:
        if in_a_row and in_a_row[-1].until + timedelta(1) == day:
            in_a_row[-1] = Run(in_a_row[-1].since, day)
        else:
            in_a_row.append(Run(day, day))
    return in_a_row


QUIET_DAYS: Final = {"day": 2, "week": 8, "month": 32, "once": 8}
"""Reports have stopped if so many whole days have none, by how often a device reports."""


def stopped_since(
    every: str, expires: date | None, last_day: date | None, today: date
) -> date | None:
    """The first day without reports, if they have stopped.

    Args:
        every: how often devices report, as the newest version of the metric says.
        expires: the last day on which they do, as it says, or None.
        last_day: the last day with reports, or None.
        today: the server's day, which is not over.
    """
    if last_day is None or (expires is not None and expires < today):
        return None  # nothing has begun, or devices are not to report any more
    quiet = (today - last_day).days - 1
    return last_day + timedelta(1) if quiet >= QUIET_DAYS[every] else None


def versions_by_name(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """The versions of each metric, in the order of the metrics' first ones.

    Args:
        metrics: all versions of all metrics.
    """
    found: dict[str, list[Metric]] = {}
    for each in metrics:
        found.setdefault(each.name, []).append(each)
    return found


def whole_metric(versions: Sequence[Metric]) -> Metric:
    """The newest version of a metric, with the days and reports of all; the last of one day.

    Args:
        versions: of one metric, in the order of their registration; at least one.
    """
    return replace(
        max(reversed(versions), key=lambda each: each.registered),
        first_day=min((each.first_day for each in versions if each.first_day), default=None),
        last_day=max((each.last_day for each in versions if each.last_day), default=None),
        reports=sum(each.reports for each in versions),
        excluded_reports=sum(each.excluded_reports for each in versions),
    )
