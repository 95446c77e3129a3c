"""The SQL table of estimates over HTTP: past days, weeks or months of all metrics at once."""

from __future__ import annotations

from datetime import date
from typing import Final

from msgspec import Struct

from deniable_aggregator.answers.questions import check_days
from deniable_aggregator.answers.row import Row
from deniable_aggregator.answers.words import MetricName, PeriodLength, Top

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
