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
from deniable_aggregator.answers.words import Association, Count, Margin, Postprocess, VersionId


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


class RobustCheck(Struct):
    """A second estimate of a share: the median over slices of the reports.

    Attributes:
        slices: how many slices know the value.
        share: their median.
        standard_error: of the median.
        low: the lower end of its interval.
        high: the upper end.
    """

    slices: Count
    share: float
    standard_error: float
    low: float
    high: float


class PossibleShare(Struct):
    """Between which ends the share of all reports can lie, where not all versions know a value.

    Attributes:
        low: if no report that may be about the value is, less the error.
        high: if all of them are, and the error.
    """

    low: float
    high: float


class Share(Struct, gc=False):
    """The estimated share of one value.

    Attributes:
        value: the value.
        share: unbiased; may lie outside [0, 1].
        standard_error: of the share.
        low: the lower end of its interval.
        high: the upper end.
        method: how the interval was made.
        detected: whether the value is told from zero.
        shift_if_fake: how far fake reports could move the share; null for no bound.
        reports: how many reports the share is of: those of the versions that know the value.
        versions: which versions these are, where not all.
        possible: what it can be of all reports, where these are more.
        adjusted: the post-processed share; no interval belongs to it. Null where the share is not
            of all reports.
        robust_check: a second estimate, or null where too few slices know the value.
    """

    value: str
    share: float
    standard_error: float
    low: float
    high: float
    method: Literal["normal", "exact", "fieller"]
    detected: bool
    shift_if_fake: float | None
    reports: Count
    versions: list[VersionId] | UnsetType = UNSET
    possible: PossibleShare | UnsetType = UNSET
    adjusted: float | UnsetType | None = UNSET
    robust_check: RobustCheck | UnsetType | None = UNSET


class SegmentSize(Struct):
    """The share of the devices that are in a segment.

    Attributes:
        name: what the segments are.
        value: which segment.
        share: unbiased; may lie outside [0, 1].
        standard_error: of the share.
        low: the lower end of its interval.
        high: the upper end.
        detected: whether the interval is above zero.
        shift_if_fake: how far fake reports could move the share.
    """

    name: str
    value: str
    share: float
    standard_error: float
    low: float
    high: float
    detected: bool
    shift_if_fake: float


class SegmentCloseness(Struct, kw_only=True):
    """How far the values within a segment are from those of all devices.

    What is true of nearly a whole segment is learnt of each of its devices.

    Attributes:
        name: what the segments are.
        segment: which segment.
        kind: of the distance: the total variation, or the earth mover's distance of values in an
            order, as a part of their range.
        distance: of the estimates; post-processed, so noise alone makes it more than 0.
        low: a lower limit of the true distance.
        threshold: the distance above which there is a warning.
        far: whether the lower limit is above it.
        value: the value with the largest share within the segment.
        value_low: a lower limit of its share.
        nearly_one_value: whether that is above 0.9.
        level: with which probability each of the two limits holds, for all segments at once.
        reports: how many reports these are of: those of the versions with the same values and
            segments that have the most.
        meaning: what it is.
    """

    name: str
    segment: str
    kind: Literal["earth-mover", "total-variation"]
    distance: float
    low: float
    threshold: float
    far: bool
    value: str
    value_low: float
    nearly_one_value: bool
    level: float
    reports: Count
    meaning: str


class CombinedShare(Struct, kw_only=True):
    """The share of the devices that hold any of some values.

    Attributes:
        values: these values.
        share: unbiased; may lie outside [0, 1].
        standard_error: of the share.
        low: the lower end of its interval.
        high: the upper end.
        method: how the interval was made.
        covariance: what is known of how the values' estimates vary together.
        shift_if_fake: how far fake reports could move the share.
        reports: how many reports the share is of: those of the versions that know it.
        versions: which versions these are, where not all.
        possible: what it can be of all reports, where these are more.
        meaning: what it is.
        adjusted: the post-processed share, where there is one.
    """

    values: list[str]
    share: float
    standard_error: float
    low: float
    high: float
    method: Literal["normal", "exact"]
    covariance: str
    shift_if_fake: float
    reports: Count
    versions: list[VersionId] | UnsetType = UNSET
    possible: PossibleShare | UnsetType = UNSET
    meaning: str
    adjusted: float | UnsetType | None = UNSET


class Lift(Struct, kw_only=True):
    """Whether two values occur together more, or less, often than if they were independent.

    Attributes:
        values: the two values.
        share: of the devices that hold both; unbiased, may lie outside [0, 1].
        expected: what it would be if they were independent: the product of the values' shares.
        lift: `share` over `expected`; 1 if they are independent. Null where `expected` cannot be
            told from zero.
        standard_error: of the lift; null likewise.
        low: the lower end of the lift's interval; null likewise.
        high: the upper end.
        p_value: of the two-sided test that they are independent.
        adjusted_p_value: the same, corrected for the number of pairs asked about.
        association: whether it is clear that they go together (a lift above 1) or exclude each
            other (below 1).
        shift_if_fake: how far fake reports could move the lift; null for no bound.
        reports: how many reports the shares are of: those of the versions that ask for both.
        reason: why there is no lift.
    """

    values: tuple[str, str]
    share: float
    expected: float
    lift: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    p_value: float
    adjusted_p_value: float
    association: Association
    shift_if_fake: float | None
    reports: Count
    reason: str | UnsetType = UNSET


class LiftNote(Struct):
    """What the lifts are.

    Attributes:
        pairs_asked: how many pairs were asked about; those shown may be a selection.
        meaning: what a lift, its interval and its test are.
    """

    pairs_asked: Count
    meaning: str


class PostprocessNote(Struct):
    """How adjusted shares were made.

    Attributes:
        method: its name.
        meaning: what it does.
    """

    method: Postprocess
    meaning: str


class RobustCheckNote(Struct):
    """What the robust checks are.

    Attributes:
        level: of their intervals.
        meaning: how they are made.
    """

    level: float
    meaning: str


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
