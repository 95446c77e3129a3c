"""A metric over time, and what has changed between two periods."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from deniable_aggregator.answers.annotations import Annotation
from deniable_aggregator.answers.common import (
    DetectionNote,
    FakesNote,
    Head,
    IntegritySummary,
    IntervalNote,
    MetricVersion,
    Notice,
    Number,
    Quantile,
)
from deniable_aggregator.answers.days import Days, Mark
from deniable_aggregator.answers.segments import SegmentSize
from deniable_aggregator.answers.shares import CombinedShare, Share
from deniable_aggregator.answers.words import Count, KnownIn, Margin, PeriodLength


class Period(Struct, kw_only=True):
    """The estimates of one period; only its days where it has no reports.

    Attributes:
        since: the first day.
        until: the last day.
        reports: how many reports were counted.
        marks: what is special about these days.
        segment: how large the segment is that the shares are within.
        combined: the share of some values together.
        rest: of those values together that some versions do not know; with the shares that are of
            all reports it makes up the whole.
        estimates: the shares of values.
        mean: of a number or a distribution.
        quantiles: of a distribution.
    """

    since: date
    until: date
    reports: Count
    marks: list[Mark] = field(default_factory=list)
    segment: SegmentSize | UnsetType = UNSET
    combined: CombinedShare | UnsetType = UNSET
    rest: CombinedShare | UnsetType = UNSET
    estimates: list[Share] | UnsetType = UNSET
    mean: Number | UnsetType = UNSET
    quantiles: list[Quantile] | UnsetType = UNSET


class PeriodTest(Struct, kw_only=True):
    """Whether the distribution has changed from one period to the next.

    Attributes:
        since: the first day of the later period.
        until: its last day.
        before_since: the first day of the earlier one.
        before_until: its last day.
        p_value: of the test that nothing has changed.
        adjusted_p_value: the same, corrected for the number of tests.
        changed: whether it is a clear change.
    """

    since: date
    until: date
    before_since: date
    before_until: date
    p_value: float
    adjusted_p_value: float
    changed: bool


class SeriesAlarm(Struct, kw_only=True):
    """Whether the distribution has changed in a series, from any period to the next.

    Attributes:
        raised: whether it has, clearly.
        alpha: the level of all tests together.
        meaning: how it was tested.
        tests: one entry for each two periods that could be compared.
    """

    raised: bool
    alpha: float
    meaning: str
    tests: list[PeriodTest]


class Series(Head, kw_only=True):
    """Estimates of the same metric, period by period.

    Attributes:
        metric: its name.
        kind: what is estimated of every period.
        by: how long a period is.
        reports: how many reports were counted.
        margin: what errors and intervals allow for.
        unit: what the numbers are.
        fakes: what `shift_if_fake` means.
        interval: what intervals mean.
        versions: the versions of the metric whose reports were counted.
        values_asked: out of how many values those shown were picked.
        annotations: what happened in these days, such as a release.
        alarm: whether the distribution has changed, where that was asked for.
        periods: one entry per period.
    """

    metric: str
    kind: Literal["shares", "mean", "distribution"]
    by: PeriodLength
    reports: Count
    margin: Margin
    unit: str
    fakes: FakesNote
    interval: IntervalNote
    versions: list[MetricVersion]
    values_asked: Count | UnsetType = UNSET
    annotations: list[Annotation] = field(default_factory=list)
    alarm: SeriesAlarm | UnsetType = UNSET
    periods: list[Period]


class ComparedPeriod(Struct):
    """One of the two periods of a change.

    Attributes:
        since: the first day.
        until: the last day.
        reports: how many reports were counted.
        marks: what is special about these days.
        days: the days that are covered.
        versions: the versions of the metric whose reports were counted.
    """

    since: date
    until: date
    reports: Count
    marks: list[Mark]
    days: Days
    versions: list[MetricVersion]


class Difference(Struct, kw_only=True):
    """By how much something differs between two periods; after minus before.

    Attributes:
        value: the value whose share it is; left out of a mean.
        before: the estimate of the first period.
        after: the estimate of the second.
        change: their difference.
        standard_error: of the difference, if no device reported in both periods.
        standard_error_same_devices: if as many devices as possible did; null if not known.
        low: the lower end of the difference's interval.
        high: the upper end.
        p_value: of the two-sided test that nothing has changed.
        adjusted_p_value: the same, corrected for the number of values.
        changed: whether it is a clear change.
        shift_if_fake: how far fake reports could move the difference.
    """

    value: str | UnsetType = UNSET
    before: float
    after: float
    change: float
    standard_error: float
    standard_error_same_devices: float | None
    low: float
    high: float
    p_value: float
    adjusted_p_value: float
    changed: bool
    shift_if_fake: float


class CombinedDifference(Struct):
    """By how much the share of some values together differs.

    Attributes:
        values: these values.
        before: their share in the first period.
        after: their share in the second.
        change: the difference.
        standard_error: of the difference, if no device reported in both periods.
        low: the lower end of the difference's interval.
        high: the upper end.
        p_value: of the two-sided test that nothing has changed.
        changed: whether it is a clear change.
        shift_if_fake: how far fake reports could move the difference, at most.
        meaning: what it is.
    """

    values: list[str]
    before: float
    after: float
    change: float
    standard_error: float
    low: float
    high: float
    p_value: float
    changed: bool
    shift_if_fake: float
    meaning: str


class QuantileDifference(Struct, kw_only=True):
    """By how much a quantile of a distribution differs between two periods; after minus before.

    Attributes:
        quantile: the share of devices that are below it.
        before: where it was in the first period; null if the reports cannot place it.
        after: where it was in the second.
        change: their difference; null if one of them is.
        low: the lower end of the difference's interval.
        high: the upper end.
        changed: whether the interval is on one side of 0.
        shift_if_fake: how far fake reports could move the difference.
    """

    quantile: float
    before: float | None
    after: float | None
    change: float | None
    low: float
    high: float
    changed: bool
    shift_if_fake: float


class ShapeDistance(Struct, kw_only=True):
    """How far two distributions are apart; post-processed, so noise alone makes it more than 0.

    Attributes:
        kind: the earth mover's distance, as a part of the range, or the total variation.
        size: the distance of the estimates.
        low: the lower end of its interval.
        high: the upper end.
        noise: what noise alone makes of it on average, if nothing has changed.
    """

    kind: Literal["earth-mover", "total-variation"]
    size: float
    low: float
    high: float
    noise: float


class ShapeChange(Struct, kw_only=True):
    """Whether the distribution has changed as a whole.

    Attributes:
        p_value: of the test that it has not.
        changed: whether it is a clear change.
        reports_left_out: reports of versions that only one of the periods has.
        distance: how far it has moved, where that can be told.
        meaning: how it was tested.
    """

    p_value: float
    changed: bool
    reports_left_out: Count
    distance: ShapeDistance | UnsetType = UNSET
    meaning: str


class NotCompared(Struct):
    """A value whose share is not known of all reports, before and after.

    Attributes:
        value: the value.
        known: in which period it is.
    """

    value: str
    known: KnownIn


class HealthOfPeriods(Struct):
    """Whether the reports of both periods look like those of devices.

    Attributes:
        before: those of the first.
        after: those of the second.
    """

    before: IntegritySummary
    after: IntegritySummary


class Change(Struct, kw_only=True):
    """What has changed between two periods.

    Attributes:
        application: whose metric it is.
        description: what the metric is for, as its newest version says; may be empty.
        notices: what to know before the numbers, warnings first.
        metric: its name.
        kind: what is compared.
        before: the first period.
        after: the second.
        pending_reports: reports of the metric that are left out, as too many wait to be counted.
        excluded_reports: reports that are left out because their keys are excluded.
        health: whether the reports look like those of devices.
        margin: what errors, intervals and tests allow for.
        unit: what the numbers are.
        overlap: what is assumed of devices that reported in both periods.
        interval: what intervals mean.
        test: what a clear change is.
        fakes: what `shift_if_fake` means.
        segment: how large the segment is that the shares are within, before and after.
        values_compared: how many values were compared; those shown may be a selection.
        combined: the change of the share of some values together, where it was asked for.
        shape: whether the distribution has changed as a whole, where that can be tested.
        changes: one entry per value, or the one of the mean.
        quantiles: of a distribution.
        not_compared: values that some versions do not tell from others.
    """

    application: str
    description: str
    notices: list[Notice]
    metric: str
    kind: Literal["shares", "mean"]
    before: ComparedPeriod
    after: ComparedPeriod
    pending_reports: Count
    excluded_reports: Count
    health: HealthOfPeriods
    margin: Margin
    unit: str
    overlap: str
    interval: IntervalNote
    test: DetectionNote
    fakes: FakesNote
    segment: tuple[SegmentSize, SegmentSize] | UnsetType = UNSET
    values_compared: Count | UnsetType = UNSET
    combined: CombinedDifference | UnsetType = UNSET
    shape: ShapeChange | UnsetType = UNSET
    changes: list[Difference]
    quantiles: list[QuantileDifference] | UnsetType = UNSET
    not_compared: list[NotCompared]
