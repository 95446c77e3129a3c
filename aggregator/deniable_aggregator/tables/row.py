"""The long table: one row for each number of an answer, with its interval and what it is about.

All answers give rows of the same columns, so that answers about many metrics can be put below each
other. Columns that do not apply are None.
"""

from __future__ import annotations

from datetime import date  # noqa: TC003  msgspec reads the annotations of structs
from typing import Final, Literal

from msgspec import Struct

Question = Literal["estimate", "version", "series", "change", "discovery", "health"]
"""What was asked. "version" is one version of a metric by itself, beside an estimate of all."""

Measure = Literal[
    "share",
    "combined",
    "rest",
    "segment size",
    "lift",
    "mean",
    "quantile",
    "bin",
    "difference in share",
    "difference in combined",
    "difference in mean",
    "difference in quantile",
    "distance",
    "reports",
    "day",
    "key",
    "check",
    "contrast in share",
    "contrast in mean",
    "contrast in distribution",
]
"""What a number is; docs/analysis/getting-numbers-out.md says it of each."""


class Row(Struct, frozen=True, kw_only=True, gc=False):
    """A number of an answer.

    Attributes:
        application: whose metric it is.
        metric: its name.
        question: what was asked.
        measure: what the number is.
        value: the value of a share, "a + b" of a combined share, a found text, the kind of a
            distance, or the name of a check.
        whole: of a found text, whether it is a whole string; false of the first letters of longer
            ones.
        quantile: of a quantile, the share of devices below it.
        bin_from: the lower end of a bin.
        bin_to: its upper end.
        segment: the segment that the number is within or is the size of, such as "channel=beta".
        key: the id of the key whose reports a check or a contrast is about; of a day's check, None.
        label: the note that whoever made the key gave it.
        since: the first day of the period; of a change, of the second period.
        until: its last day, inclusive.
        before_since: of a change, the first day of the first period; of a missing text, of the
            earlier window.
        before_until: its last day, inclusive.
        estimate: the number: a share is a fraction such as 0.45, a mean and a quantile are in the
            metric's own unit, a difference is after minus before. None if it cannot be told.
        standard_error: of the estimate.
        low: the lower end of its interval.
        high: the upper end.
        possible_low: the least that the share of all reports can be, where `reports` are only
            those of the versions that know the value.
        possible_high: the most that it can be.
        before: of a change, the first period's estimate; of a contrast, that of all other keys.
        after: of a change, the second period's estimate; of a contrast, that of the key.
        p_value: of a test: that nothing has changed, that nobody holds a found text, or that honest
            reports look so odd.
        adjusted_p_value: the same, corrected for the number of values.
        detected: whether a share is told from zero, or a change is clear.
        adjusted: the post-processed share; no interval belongs to it.
        shift_if_fake: how far fake reports could move the estimate.
        reports: how many reports it is of; of a change, of its second period.
        before_reports: of a change, how many the first period's estimate is of.
        interval: what intervals cover: "one" value at a time, "all" together, or those "picked" for
            their size.
        level: with which probability an interval covers.
        margin: what errors and intervals allow for: "noise" of the devices that reported, or
            "noise-and-sampling".
        method: how the interval was made, or the histogram of a bin and a quantile.
        mechanism: the mechanisms of the versions, with spaces between.
        epsilon: the privacy loss of one report; of several versions, the largest.
        version: the ids of the versions whose reports were counted, with spaces between.
        verdict: whether the reports look like those of devices: "ok", "uneven", "suspicious" or
            "unknown".
        suspicious: whether some of the reports do not.
        seen: of a found text, "new" or "before"; of one that an earlier window had found and this
            one has not, "gone" or "not_found".
        marks: what is special about the period, with spaces between: "missing", "incomplete",
            "suspicious", "uneven", "release"; in the table of estimates also "open", of one that
            still takes late reports.
    """

    application: str
    metric: str
    question: Question
    measure: Measure
    value: str | None = None
    whole: bool | None = None
    quantile: float | None = None
    bin_from: float | None = None
    bin_to: float | None = None
    segment: str | None = None
    key: str | None = None
    label: str | None = None
    since: date
    until: date
    before_since: date | None = None
    before_until: date | None = None
    estimate: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    possible_low: float | None = None
    possible_high: float | None = None
    before: float | None = None
    after: float | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None
    detected: bool | None = None
    adjusted: float | None = None
    shift_if_fake: float | None = None
    reports: int | None = None
    before_reports: int | None = None
    interval: str | None = None
    level: float | None = None
    margin: str | None = None
    method: str | None = None
    mechanism: str | None = None
    epsilon: float | None = None
    version: str | None = None
    verdict: str | None = None
    suspicious: bool | None = None
    seen: str | None = None
    marks: str | None = None


COLUMNS: Final = Row.__struct_fields__
"""The names of all columns, in their order."""
