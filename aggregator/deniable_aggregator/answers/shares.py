"""Shares of values, by themselves and several together."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deniable_aggregator.answers.words import Count, Postprocess, VersionId


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
