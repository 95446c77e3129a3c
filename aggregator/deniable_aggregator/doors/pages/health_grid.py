"""Metrics by days: what is known of the reports of each metric on each day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal

from deniable_aggregator.answers.common import (
    QUIET_DAYS,
    stopped_since,
    versions_by_name,
    whole_metric,
)
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.telling.checks import day_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.answers.administration import Metric
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.common import Run
    from deniable_aggregator.answers.row import Row

CellKind = Literal[
    "ok",
    "suspicious",
    "uneven",
    "surge",
    "missing",
    "left_out",
    "rest",
    "open",
    "unknown",
    "before",
]
"""Of a metric's day: no check fails; a check fails; a key answers unlike the others; far more
reports than usual; no reports; all reports are left out; none due, as devices report more seldom;
the day is not over; nobody has looked at its reports yet; or the metric had no reports before."""

CELL_WORDS: Final[Mapping[CellKind, str]] = {
    "suspicious": "a check fails",
    "uneven": "a key answers unlike the others",
    "surge": "far more reports than usual",
    "missing": "no reports",
    "left_out": "left out",
    "unknown": "not looked at",
    "open": "not over",
    "rest": "none due",
    "ok": "no check fails",
    "before": "before the first report",
}


_ODD: Final[tuple[Literal["suspicious", "uneven", "surge"], ...]] = (
    "suspicious",
    "uneven",
    "surge",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDays:
    """A metric's row.

    Attributes:
        metric: its name.
        description: what it is for; may be empty.
        cells: one per day.
        reports: how many there are of these days, as far as was worked out.
        last_day: the last day of all with reports, or None.
        stopped_since: the first day without reports, if they have stopped.
        excluded_reports: how many are left out, of all days, because their keys are excluded.
    """

    metric: str
    description: str
    cells: tuple[CellKind, ...]
    reports: int
    last_day: date | None
    stopped_since: date | None
    excluded_reports: int

    @property
    def worst(self) -> CellKind | Literal["stopped"]:
        """What is worst of these days."""
        for kind in _ODD:
            if kind in self.cells:
                return kind
        if self.stopped_since is not None:
            return "stopped"
        return "ok" if "ok" in self.cells else "unknown"


_WORST_FIRST: Final = ("suspicious", "uneven", "surge", "stopped", "ok", "unknown")


def days_of(asked: DayRange) -> list[date]:
    """Each day of a period."""
    return [asked.since + timedelta(n) for n in range((asked.until - asked.since).days + 1)]


def not_in_table(metrics: Iterable[Metric], rows: Iterable[Row], asked: DayRange) -> list[str]:
    """Names of metrics with reports of these days, of which the table of estimates has no row.

    Args:
        metrics: all of their versions.
        rows: of the table, of these days.
        asked: the days.
    """
    known = {row.metric for row in rows}
    return sorted(
        {
            each.name
            for each in metrics
            if each.name not in known
            and each.first_day is not None
            and each.last_day is not None
            and each.first_day <= asked.until
            and each.last_day >= asked.since
        }
    )


def metric_days(
    metrics: Sequence[Metric],
    rows: Iterable[Row],
    looked_at: Mapping[str, Answer],
    asked: DayRange,
    today: date,
) -> list[MetricDays]:
    """A row for each metric, the worst first.

    Args:
        metrics: all of their versions.
        rows: of the table of estimates: one for each metric and day with reports.
        looked_at: metrics whose reports were checked just now, by name.
        asked: the days.
        today: the server's day.
    """
    by_metric: dict[str, dict[date, Row]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, {})[row.since] = row
    written = max((day for found in by_metric.values() for day in found), default=None)
    found = []
    for name, versions in versions_by_name(metrics).items():
        cells = _cells_of_table(by_metric.get(name, {}), written)
        if name in looked_at:
            cells = _cells_of_checks(looked_at[name])
        found.append(
            _metric_days(whole_metric(versions), cells, asked, today, by_metric.get(name, {}))
        )
    return sorted(
        found,
        key=lambda each: (
            _WORST_FIRST.index(each.worst),
            -Counter(each.cells)["suspicious"],
            -Counter(each.cells)["uneven"],
            -Counter(each.cells)["surge"],
            each.metric,
        ),
    )


class _Cells:
    """What is known of the days of a metric.

    Attributes:
        by_day: what was found, by day.
        known_until: days without reports that are later may just not have been looked at.
    """

    def __init__(self, by_day: dict[date, CellKind], known_until: date | None) -> None:
        self.by_day = by_day
        self.known_until = known_until


def _cells_of_table(rows: Mapping[date, Row], written: date | None) -> _Cells:
    by_day: dict[date, CellKind] = {}
    for day, row in rows.items():
        marks = (row.marks or "").split()
        by_day[day] = (
            "suspicious"
            if row.suspicious or "suspicious" in marks
            else "uneven"
            if "uneven" in marks
            else "surge"
            if "surge" in marks
            else "ok"
        )
    return _Cells(by_day, written if rows else None)


def _cells_of_checks(health: Answer) -> _Cells:
    by_day: dict[date, CellKind] = {}
    for check in day_verdicts(health):
        if by_day.get(check.day) != "suspicious":
            by_day[check.day] = check.verdict
    for days in health.head.covered:
        of_runs: tuple[tuple[CellKind, Sequence[Run]], ...] = (
            ("unknown", days.not_looked_at),
            ("left_out", days.left_out),
        )
        for kind, some in of_runs:
            for run in some:
                by_day |= {
                    day: kind
                    for day in days_of(DayRange(run.since, run.until))
                    if day not in by_day
                }
        odd: tuple[tuple[CellKind, Sequence[date]], ...]
        odd = ("surge", days.surges), ("uneven", days.uneven)
        for kind, some_days in odd:
            for day in some_days:
                if by_day.get(day) != "suspicious":
                    by_day[day] = kind
    return _Cells(by_day, max((days.until for days in health.head.covered), default=None))


def _metric_days(
    metric: Metric,
    cells: _Cells,
    asked: DayRange,
    today: date,
    rows: Mapping[date, Row],
) -> MetricDays:
    first, last = metric.first_day, metric.last_day

    def kind(day: date) -> CellKind:
        found = cells.by_day.get(day)
        if found in _ODD:
            return found
        if day >= today:
            return "open"
        if found is not None:
            return found
        if first is None or day < first:
            return "before"
        # What comes after the last report is missing, whether that was worked out or not.
        known = cells.known_until is not None and day <= cells.known_until
        if not known and (last is None or day <= last):
            return "unknown"
        return "rest" if _is_between(day) else "missing"

    def _is_between(day: date) -> bool:
        """Whether no reports are due, as devices have reported and do so more seldom than daily."""
        quiet = 0 if metric.every == "day" else QUIET_DAYS[metric.every]
        before = (day - timedelta(n) for n in range(1, quiet))
        return any(each in cells.by_day or each == last or each < asked.since for each in before)

    return MetricDays(
        metric=metric.name,
        description=metric.description,
        cells=tuple(kind(day) for day in days_of(asked)),
        reports=sum(row.reports or 0 for row in rows.values()),
        last_day=last,
        stopped_since=stopped_since(metric.every, metric.expires, last, today),
        excluded_reports=metric.excluded_reports,
    )
