"""Rows of the long table, and of the SQL table of estimates.

A row of the long table: a number of an answer, and where it comes from.

All answers give rows of the same columns, so that answers about many metrics can be put below each
other. Columns that do not apply are None.
"""

from __future__ import annotations

from datetime import date
from typing import Final, Literal

from msgspec import Struct

from deniable_aggregator.answers.measured import Measure, Measured
from deniable_aggregator.answers.questions import check_days
from deniable_aggregator.answers.words import MetricName, PeriodLength, Top

RowQuestion = Literal["estimate", "series", "change", "compare", "discovery", "health"]
"""What was asked."""

RowMeasure = Literal[Measure, "reports", "day", "key", "check", "alarm"]
"""What a row says: a number, how many reports there are, or a verdict: of a day, of what a key
brought on it, of one check, or whether a distribution has changed in a series."""


class Row(Measured, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A number of an answer, or a verdict about reports, with all that is to be known of it.

    Of a verdict, `value` is the name of a check, `key` whose reports it is about, and `p_value` how
    often honest reports look at least so odd.

    Attributes:
        application: whose metric it is.
        metric: its name.
        question: what was asked.
        since: the first day of the period; of a difference, of the second period.
        until: its last day, inclusive.
        before_since: of a difference, the first day of the first period; of a missing text, of the
            earlier window.
        before_until: its last day, inclusive.
        before_reports: how many reports were counted in it.
        side: of a comparison of two sides that are not periods, what the second is.
        before_side: what the first is.
        interval: what intervals cover: "one" value at a time, "all" together, or those "picked" for
            their size.
        level: with which probability an interval covers.
        margin: what errors and intervals allow for: "noise" of the devices that reported, or
            "noise-and-sampling".
        mechanism: the mechanisms of the versions, with spaces between.
        epsilon: the privacy loss of one report; of several versions, the largest.
        verdict: whether the reports look like those of devices: "ok", "surge", "uneven",
            "suspicious" or "unknown".
        suspicious: whether some of the reports do not.
        marks: what is special about the period, with spaces between: "missing", "incomplete",
            "suspicious", "uneven", "surge", "release"; or "simulated", of a store whose devices do
            not exist.
        final: in the table of estimates, whether no day of the period takes reports any longer; the
            number may move until then.
        measure: what the row says.
        version: the ids of the versions whose reports were counted, with spaces between.
    """

    application: str
    metric: str
    question: RowQuestion
    since: date
    until: date
    before_since: date | None = None
    before_until: date | None = None
    before_reports: int | None = None
    side: str | None = None
    before_side: str | None = None
    interval: str | None = None
    level: float | None = None
    margin: str | None = None
    mechanism: str | None = None
    epsilon: float | None = None
    verdict: str | None = None
    suspicious: bool | None = None
    marks: str | None = None
    final: bool | None = None
    measure: RowMeasure  # type: ignore[assignment]  # verdicts are no numbers
    version: str | None = None


KEPT_COLUMNS: Final = (
    "until",
    "measure",
    "value",
    "quantile",
    "bin_from",
    "bin_to",
    "segment",
    "estimate",
    "standard_error",
    "low",
    "high",
    "possible_low",
    "possible_high",
    "before",
    "p_value",
    "adjusted_p_value",
    "told",
    "shift_if_fake",
    "reports",
    "epsilon",
    "version",
    "suspicious",
    "marks",
    "rank_first",
    "rank_last",
)
"""The columns of the long table that the SQL table keeps, beside the names of the period, its first
day, and whether it is final. To keep another one, add it here, and write a migration."""


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


class EstimateTable(Struct, kw_only=True):
    """Rows of the table of estimates.

    Attributes:
        application: whose metrics these are.
        period: how long periods are.
        rows: by metric and then by day; `final` says of each whether it may move.
    """

    application: str
    period: PeriodLength
    rows: list[Row]
