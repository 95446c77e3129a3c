"""What a metric amounts to over some days: shares, a mean, or a distribution."""

from __future__ import annotations

from datetime import date
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from deniable_aggregator.answers.common import (
    DetectionNote,
    FakesNote,
    Head,
    IntervalNote,
    MetricVersion,
    Number,
    PeriodCounts,
    Quantile,
)
from deniable_aggregator.answers.lifts import Lift, LiftNote
from deniable_aggregator.answers.segments import SegmentCloseness, SegmentSize
from deniable_aggregator.answers.shares import (
    CombinedShare,
    PostprocessNote,
    RobustCheckNote,
    Share,
)
from deniable_aggregator.answers.words import Count, Margin, VersionId


class VersionEstimate(Struct, kw_only=True):
    """One version of a metric by itself: from its own reports, about its own values.

    Attributes:
        version: its id.
        first_day: the first of these days on which it reported.
        last_day: the last.
        reports: how many reports were counted.
        combined: the share of some values together, where it was asked for and the version lists
            them all.
        estimates: the shares of values.
        mean: of a number or a distribution.
        quantiles: of a distribution.
    """

    version: VersionId
    first_day: date
    last_day: date
    reports: Count
    combined: CombinedShare | UnsetType = UNSET
    estimates: list[Share] | UnsetType = UNSET
    mean: Number | UnsetType = UNSET
    quantiles: list[Quantile] | UnsetType = UNSET


class EstimateHead(Head, kw_only=True, tag_field="kind"):
    """What all estimates say.

    Attributes:
        metric: its name.
        reports: how many reports were counted.
        margin: what errors and intervals allow for.
        unit: what the numbers are.
        interval: what intervals mean.
        fakes: what `shift_if_fake` means.
        versions: the versions of the metric whose reports were counted.
        period_counts: in how many periods the reports of all of them came.
        per_version: each of them by itself, where it was asked for.
    """

    metric: str
    reports: Count
    margin: Margin
    unit: str
    interval: IntervalNote
    fakes: FakesNote
    versions: list[MetricVersion]
    period_counts: PeriodCounts | UnsetType = UNSET
    per_version: list[VersionEstimate] | UnsetType = UNSET


class Shares(EstimateHead, kw_only=True, tag="shares"):
    """The shares of values.

    Attributes:
        detection: what it means that a value is detected.
        values_asked: how many values were asked about; those shown may be a selection.
        versions_note: how several versions were put together.
        postprocess: how adjusted shares were made.
        robust_check: what the robust checks are.
        segments: how large the segments of the metric are.
        combined: the share of some values together, where it was asked for.
        rest: the share of all reports of those values together that some versions do not know.
            With the shares that are of all reports it makes up the whole.
        estimates: one entry per value.
        lift_note: what the lifts are.
        lifts: one entry per two values of which `estimates` has the share of both; left out of
            metrics that do not observe pairs.
    """

    detection: DetectionNote
    values_asked: Count
    versions_note: str | UnsetType = UNSET
    postprocess: PostprocessNote | UnsetType = UNSET
    robust_check: RobustCheckNote | UnsetType = UNSET
    segments: list[SegmentSize] | UnsetType = UNSET
    combined: CombinedShare | UnsetType = UNSET
    rest: CombinedShare | UnsetType = UNSET
    estimates: list[Share]
    lift_note: LiftNote | UnsetType = UNSET
    lifts: list[Lift] | UnsetType = UNSET


class SegmentShares(EstimateHead, kw_only=True, tag="segment"):
    """The shares of values among the devices of one segment.

    Attributes:
        reports_left_out: reports of versions that do not have the segment.
        segment: how large it is.
        closeness: how far its values are from those of all devices.
        detection: what it means that a value is detected.
        values_asked: how many values there are.
        estimates: one entry per value.
    """

    reports_left_out: Count
    segment: SegmentSize
    closeness: SegmentCloseness | UnsetType = UNSET
    detection: DetectionNote
    values_asked: Count
    estimates: list[Share]


class Mean(EstimateHead, kw_only=True, tag="mean"):
    """The mean of a number.

    Attributes:
        mean: the estimate.
    """

    mean: Number


class Bin(Struct, kw_only=True):
    """One bin of a histogram.

    Attributes:
        start: its lower end.
        end: its upper end.
        share: of the population.
        low: the lower end of the share's interval.
        high: the upper end.
        shift_if_fake: how far fake reports could move the share.
    """

    start: float = field(name="from")
    end: float = field(name="to")
    share: float
    low: float
    high: float
    shift_if_fake: float


class Distribution(EstimateHead, kw_only=True, tag="distribution"):
    """The histogram of a number, its mean and its quantiles.

    Attributes:
        reports_left_out: reports of versions with other bins or another mechanism.
        method: how the histogram was found.
        label: whether the shares are raw or post-processed.
        meaning: what the method does.
        mean: the estimated mean.
        quantiles: the estimated quantiles.
        bins: the histogram.
    """

    reports_left_out: Count
    method: Literal["em", "ems", "unbiased"]
    label: Literal["raw", "post-processed"]
    meaning: str
    mean: Number
    quantiles: list[Quantile]
    bins: list[Bin]


Estimate = Shares | SegmentShares | Mean | Distribution
