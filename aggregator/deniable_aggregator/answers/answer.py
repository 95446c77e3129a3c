"""An answer about a metric: where it comes from, what was asked, its numbers and its checks.

The same type whatever was asked: an estimate has one period, a series many, a change two.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, Literal

from msgspec import Struct, field

from deniable_aggregator.answers.administration import Annotation
from deniable_aggregator.answers.common import (
    Days,
    DetectionNote,
    FakesNote,
    IntegritySummary,
    IntervalNote,
    Mark,
    MetricVersion,
    Notice,
    PeriodCounts,
)
from deniable_aggregator.answers.limits import Limits, widest
from deniable_aggregator.answers.measured import FoundNote, Measure, Measured, SegmentCloseness
from deniable_aggregator.answers.words import (
    Count,
    KnownIn,
    Margin,
    PeriodLength,
    Postprocess,
    Verdict,
    VersionId,
)

QuestionName = Literal["estimate", "series", "change", "compare", "discovery", "health"]

Kind = Literal["shares", "mean", "distribution", "strings", "health"]
"""What is estimated."""

CheckName = Literal[
    "bounds",
    "fillers",
    "groups",
    "levels",
    "pairs",
    "seeds",
    "sizes",
    "sum",
    "alarm",
    "volume",
    "upload",
]
"""What is looked at; "alarm" is whether a whole distribution has changed from one period of a
series to the next, "volume" and "upload" whether a day or its largest upload has far more reports
than usual."""


class AskedQuestion(Struct, frozen=True, kw_only=True):
    """What was asked.

    Attributes:
        name: which question.
        parameters: those that were given, by their names; lists of values are left out.
    """

    name: QuestionName
    parameters: dict[str, Any] = field(default_factory=dict)


class Period(Struct, kw_only=True, omit_defaults=True):
    """Days that numbers are of.

    Attributes:
        since: the first day.
        until: the last day, inclusive.
        reports: how many reports were counted.
        left_out_reports: of a series, how many more came, and are left out, as their versions do
            not fit.
        marks: what is special about these days.
        days: the same in full; None of a period of a series, where the head has them.
        health: whether the reports look like those of devices; likewise.
        versions: of a change, how many reports of each version were counted, by its id.
        side: of a comparison, what the numbers are of, such as "key store-3"; None of a change.
    """

    since: date
    until: date
    reports: Count
    left_out_reports: Count = 0
    marks: list[Mark] = []
    days: Days | None = None
    health: IntegritySummary | None = None
    versions: dict[VersionId, Count] | None = None
    side: str | None = None


class PartOfReports(Struct, frozen=True, omit_defaults=True):
    """A part of the reports that has numbers of its own.

    Attributes:
        name: what it is: a key, a version, a segment, or "others", those with few reports.
        reports: how many it has in all of the days asked; of a segment about.
        since: the first day with reports; None of a segment.
        until: the last.
    """

    name: str
    reports: Count
    since: date | None = None
    until: date | None = None


class NotCompared(Struct, frozen=True):
    """A value whose share is not known of all reports, before and after.

    Attributes:
        value: the value.
        known: in which period it is.
    """

    value: str
    known: KnownIn


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A verdict about reports: of a day, of a key on a day, of one check of either; or an alarm.

    Attributes:
        day: which day's reports; of an alarm the first day of the later period.
        version: the id of the version of the metric; empty of an alarm.
        title: the name of its mechanism; of a day's verdict alone.
        key: whose reports; None for all of the day, empty for those that were stored before
            reports were kept by key.
        label: the note that whoever made the key gave it.
        reports: how many there are.
        name: of the check; None for the verdict of all checks of a day or of a key.
        verdict: what came of it; an alarm that is raised is "suspicious".
        p: how often honest reports look at least so odd; None if the check could not be made.
        adjusted_p: of an alarm, the same, corrected for the number of tests.
        period: of an alarm, the place of the later period; the test compares it with `before`.
        before: the place of the earlier one.
        finding: what the check saw, in words.
        stand_out: of a day's verdict, the ids of the keys whose reports fail a check.
    """

    day: date
    version: str = ""
    title: str | None = None
    key: str | None = None
    label: str | None = None
    reports: Count = 0
    name: CheckName | None = None
    verdict: Verdict
    p: float | None = None
    adjusted_p: float | None = None
    period: int | None = None
    before: int | None = None
    finding: str = ""
    stand_out: tuple[str, ...] = ()


class ChecksNote(Struct, kw_only=True):
    """What the checks of an answer about health are.

    Attributes:
        made: how many were made.
        p_below: a check fails below this p.
        meaning: the same in a sentence.
        asks: by the name of each check, what is so in honest reports.
        invisible: what no check can see.
    """

    made: Count
    p_below: float
    meaning: str
    asks: dict[str, str]
    invisible: str


class AlarmNote(Struct, kw_only=True):
    """Whether a distribution has changed in a series, from any period to the next.

    Attributes:
        raised: whether it has, clearly.
        alpha: the level of all tests together.
        meaning: how it was tested.
    """

    raised: bool
    alpha: float
    meaning: str


class Head(Struct, kw_only=True, omit_defaults=True):
    """Where an answer comes from, and what its numbers mean.

    Attributes:
        application: whose metric it is.
        metric: its name.
        description: what the metric is for, as its newest version says; may be empty.
        kind: what is estimated.
        days: the days that are covered; None of a change, whose two periods have their own.
        health: whether the reports look like those of devices; likewise.
        periods: the days that numbers are of, in their order; at least one.
        reports: how many reports were counted in all of them.
        excluded_reports: reports that are left out because their keys are excluded.
        left_out_reports: reports that are left out because their versions do not fit the others:
            without the segment, or with other bins.
        versions: the versions of the metric whose reports were counted.
        period_counts: in how many periods of the metric the reports of all of them came.
        by: of a series, how long a period is.
        segment: of shares within a segment, which; such as "channel=beta".
        parts: what the reports were split into, where that was asked for.
        values_asked: how many values were asked about; those shown may be a selection.
        margin: what errors and intervals allow for.
        unit: what the numbers are.
        interval: what intervals mean; None of health.
        detection: what `told` means.
        fakes: what `shift_if_fake` means.
        meanings: what else a reader may want to know, by a name: "combined" and "rest" what these
            shares are, "versions" how several are put together, "postprocess", "robust check",
            "lift", "histogram" how these were made, "overlap" what is assumed of devices that
            reported in both periods, "several" that a device may have several items, "shape" how a
            change of the whole distribution was tested, "why" what the effects of parts of the
            reports are, "parts" how parts of the reports by themselves are estimated.
        postprocess: how adjusted shares were made.
        label: of a histogram, whether its shares are raw or post-processed.
        closeness: how far a segment is from all devices.
        not_compared: values that some versions do not tell from others.
        annotations: what happened in these days, such as a release.
        alarm: of a series, whether the distribution has changed, where that was asked for.
        found: of strings that nobody listed, what could be found and what is not shown.
        checks: of health, what the checks are.
    """

    application: str
    metric: str
    description: str = ""
    kind: Kind
    days: Days | None = None
    health: IntegritySummary | None = None
    periods: list[Period] = []
    reports: Count = 0
    excluded_reports: Count = 0
    left_out_reports: Count = 0
    versions: list[MetricVersion] = []
    period_counts: PeriodCounts | None = None
    by: PeriodLength | None = None
    segment: str | None = None
    parts: list[PartOfReports] = []
    values_asked: Count | None = None
    margin: Margin = "noise"
    unit: str = ""
    interval: IntervalNote | None = None
    detection: DetectionNote | None = None
    fakes: FakesNote | None = None
    meanings: dict[str, str] = {}
    postprocess: Postprocess | None = None
    label: Literal["raw", "post-processed"] | None = None
    closeness: SegmentCloseness | None = None
    not_compared: list[NotCompared] = []
    annotations: list[Annotation] = []
    alarm: AlarmNote | None = None
    found: FoundNote | None = None
    checks: ChecksNote | None = None

    @property
    def level(self) -> float:
        """With which probability an interval covers."""
        return 0.95 if self.interval is None else self.interval.level

    @property
    def covered(self) -> list[Days]:
        """The days that are covered: one entry, or one for each period of a change."""
        return [self.days] if self.days else [each.days for each in self.periods if each.days]

    @property
    def summaries(self) -> list[IntegritySummary]:
        """Whether the reports look honest: one entry, or one for each period of a change."""
        if self.health:
            return [self.health]
        return [each.health for each in self.periods if each.health]

    @property
    def verdict(self) -> Verdict:
        """The worst of `summaries`."""
        found = [each.verdict for each in self.summaries]
        return max(found, key=_FROM_GOOD_TO_BAD.index, default="unknown")

    @property
    def limits(self) -> Limits | None:
        """The range of the metric; of several versions the widest; None of one without."""
        return widest(each.range for each in self.versions if each.range)


class Answer(Struct, kw_only=True, omit_defaults=True):
    """An answer about a metric.

    Attributes:
        head: where it comes from.
        question: what was asked.
        numbers: the estimated numbers, in the order in which they were asked for.
        checks: verdicts of days and keys, and alarms; of health, and of a series with an alarm.
        notices: what to know before the numbers, warnings first.
    """

    head: Head
    question: AskedQuestion
    numbers: list[Measured]
    checks: list[Check] = []
    notices: list[Notice] = []

    def of(self, *measures: Measure, period: int | None = None) -> list[Measured]:
        """The numbers of all reports together that are of one of these measures, in their order.

        Args:
            measures: at least one.
            period: only those of this period, by its place.
        """
        return [
            each
            for each in self.numbers
            if each.measure in measures
            and not each.of_part
            and (period is None or each.period == period)
        ]

    def one(self, measure: Measure, period: int | None = None) -> Measured | None:
        """The first of these numbers, or None.

        Args:
            measure: which.
            period: only of this period, by its place.
        """
        return next(iter(self.of(measure, period=period)), None)

    @property
    def of_parts(self) -> list[Measured]:
        """The numbers of single parts of the reports, part by part."""
        return [each for each in self.numbers if each.of_part]

    @property
    def compares(self) -> bool:
        """Whether its numbers are differences of two sides."""
        return self.question.name in ("change", "compare")

    @property
    def sides(self) -> tuple[str, str]:
        """What the two sides are called, if it compares: "before" and "after", or their names."""
        named = [each.side for each in self.head.periods if each.side is not None]
        return (named[0], named[1]) if len(named) == 2 else ("before", "after")

    @property
    def of_same_reports(self) -> bool:
        """Whether it compares two segments, of which all of its reports tell."""
        periods = self.head.periods
        return self.question.name == "compare" and self.head.reports < sum(
            each.reports for each in periods
        )

    @property
    def strings(self) -> list[Measured]:
        """The whole strings that were found, the largest shares first."""
        return [each for each in self.numbers if each.whole and each.told]

    @property
    def prefixes(self) -> list[Measured]:
        """The first letters of longer strings that were found, the largest shares first."""
        return [each for each in self.numbers if each.whole is False and each.told]

    @property
    def missing(self) -> list[Measured]:
        """What the earlier window had found, and this one has not."""
        return [each for each in self.numbers if each.seen in ("gone", "not_found")]

    def periods(self) -> Iterator[tuple[Period, list[Measured]]]:
        """Each period with its numbers, of all reports together."""
        by_place: dict[int, list[Measured]] = {}
        for each in self.numbers:
            if not each.of_part:
                by_place.setdefault(each.period, []).append(each)
        for place, period in enumerate(self.head.periods):
            yield period, by_place.get(place, [])


_FROM_GOOD_TO_BAD = ("ok", "unknown", "surge", "uneven", "suspicious")
