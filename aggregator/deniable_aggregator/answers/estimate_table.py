"""The SQL table of estimates over HTTP: past days, weeks or months of all metrics at once."""

from __future__ import annotations

from datetime import date

from msgspec import Struct

from deniable_aggregator.answers.questions import check_days
from deniable_aggregator.answers.words import Count, MetricName, PeriodLength, Top


class EstimateTableQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rows of the table are wanted.

    Attributes:
        since: periods that begin before this day are left out.
        until: periods that end after this day are left out.
        period: how long periods are; weeks begin on Monday.
        metric: one of the metrics; may come several times. Left out for all.
        measure: one of the measures, such as share or mean; may come several times. Left out for
            all.
        value: of shares, only those of this value; may come several times. Left out for all.
        top: of shares, only those of so many values of each metric, the largest in the newest of
            these periods; no bins and no shares within segments.
        brief: only the first row of each metric and period: how many reports it has, and what is
            special about it.
    """

    since: date | None = None
    until: date | None = None
    period: PeriodLength = "day"
    metric: tuple[MetricName, ...] = ()
    measure: tuple[str, ...] = ()
    value: tuple[str, ...] = ()
    top: Top | None = None
    brief: bool = False

    def __post_init__(self) -> None:
        """Checks the days, see `check_days`."""
        check_days(self.since, self.until)


class TableRow(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A number of the table, with its interval. What does not apply is left out.

    Attributes:
        metric: the metric's name.
        since: the first day of the period.
        until: its last day, inclusive.
        measure: what the number is.
        value: the value of a share.
        quantile: of a quantile, the share of devices below it.
        bin_from: the lower end of a bin.
        bin_to: its upper end.
        segment: the segment that the number is within or is the size of, such as "channel=beta".
        estimate: the number: a share is a fraction such as 0.45, a mean and a quantile are in the
            metric's own unit.
        standard_error: of the estimate.
        low: the lower end of its interval.
        high: the upper end.
        possible_low: the least that the share of all reports can be, where not all versions know
            the value.
        possible_high: the most that it can be.
        before: of a difference, the number of the period before.
        p_value: of a test: that nothing has changed, or that two values are independent.
        adjusted_p_value: the same, corrected for the number of values.
        detected: whether a share is told from zero, or a change is clear.
        shift_if_fake: how far fake reports could move the estimate.
        reports: how many reports it is of.
        epsilon: the privacy loss of one report; of several versions, the largest.
        version: the ids of the versions whose reports were counted, with spaces between.
        suspicious: whether some of the reports do not look like those of devices.
        marks: what is special about the period, with spaces between.
        final: whether no day of the period takes reports any longer; the numbers may move until
            then.
    """

    metric: str
    since: date
    until: date
    measure: str
    value: str | None = None
    quantile: float | None = None
    bin_from: float | None = None
    bin_to: float | None = None
    segment: str | None = None
    estimate: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    possible_low: float | None = None
    possible_high: float | None = None
    before: float | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None
    detected: bool | None = None
    shift_if_fake: float | None = None
    reports: Count | None = None
    epsilon: float | None = None
    version: str | None = None
    suspicious: bool | None = None
    marks: str | None = None
    final: bool


class EstimateTable(Struct, kw_only=True):
    """Rows of the table of estimates.

    Attributes:
        application: whose metrics these are.
        period: how long periods are.
        rows: by metric and then by day.
    """

    application: str
    period: PeriodLength
    rows: list[TableRow]
