"""What is said of all metrics at once: their list, health, SQL table, and a written report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date  # noqa: TC003  read for the types of columns
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from deniable_aggregator.answers import health_overview
from deniable_aggregator.answers import row as estimate_table
from deniable_aggregator.answers.common import NamedKey, versions_by_name, whole_metric
from deniable_aggregator.answers.row import Row
from deniable_aggregator.telling.administration import metrics_document
from deniable_aggregator.telling.health import overview_document
from deniable_analysis import display
from deniable_analysis.frames import Backend, frame
from deniable_analysis.result import not_among
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deniable_aggregator.answers import administration
    from deniable_aggregator.answers.words import Verdict
    from deniable_aggregator.media.report import Failure


class MetricRow(Struct, frozen=True):
    """A metric, all its versions together: as the newest one says.

    Attributes:
        name: of the metric.
        type: of its values.
        description: what it is for.
        reports: how many reports were counted.
        first_day: the first day with reports.
        last_day: the last day with reports.
        every: how often a device reports.
        mechanism: the name of its mechanism.
        epsilon: the privacy loss of one report.
        versions: how many versions are registered.
        segments: what its shares can be asked within, such as "channel=beta channel=stable".
        expires: the last day on which devices record it.
    """

    name: str
    type: str
    description: str
    reports: int
    first_day: date | None
    last_day: date | None
    every: str
    mechanism: str
    epsilon: float
    versions: int
    segments: str | None
    expires: date | None


@dataclass(frozen=True, repr=False)
class MetricList:
    """The registered metrics: ``for metric in project.metrics``.

    Attributes:
        answer: as the server gave it, with one entry for each version of a metric.
    """

    answer: administration.Metrics

    @property
    def names(self) -> list[str]:
        """The names of the metrics."""
        return list(dict.fromkeys(each.name for each in self.answer.metrics))

    def rows(self) -> list[MetricRow]:
        """The metrics, all versions of each together."""
        return [_metric_row(some) for some in versions_by_name(self.answer.metrics).values()]

    def __iter__(self) -> Iterator[MetricRow]:
        return iter(self.rows())

    def __len__(self) -> int:
        return len(self.names)

    def frame(self, backend: Backend | None = None) -> Any:
        """One row for each metric.

        Args:
            backend: "pandas", "polars" or "pyarrow"; left out for the first that is installed.
        """
        return frame(MetricRow, self.rows(), backend, whole=True)

    def __repr__(self) -> str:
        if not self.answer.metrics:
            return visible(f"{self.answer.application} has no metrics")
        document = metrics_document(self.answer)
        lines = [f"Warning: {text}" for text in document.cautions]
        lines += [
            f"{each.name} ({each.type}, {each.reports:,} reports): {each.description}"
            for each in self
        ]
        return "\n".join(map(visible, lines))

    def _repr_html_(self) -> str:
        document = metrics_document(self.answer)
        tables = "".join(map(display.table, document.tables))
        warnings = display.warnings_box(document.cautions)
        return warnings + display.paragraph(document.finding) + tables


def _metric_row(versions: list[administration.Metric]) -> MetricRow:
    metric = whole_metric(versions)
    segments = metric.segments
    return MetricRow(
        name=metric.name,
        type=metric.type,
        description=metric.description,
        reports=metric.reports,
        first_day=metric.first_day,
        last_day=metric.last_day,
        every=metric.every,
        mechanism=metric.mechanism,
        epsilon=metric.epsilon,
        versions=len(versions),
        segments=(
            " ".join(f"{segments.name}={value}" for value in segments.values) if segments else None
        ),
        expires=metric.expires,
    )


class HealthRow(Struct, frozen=True):
    """One metric of an overview, as a row of its frame.

    Attributes:
        metric: its name.
        verdict: of all checks.
        reports: how many reports were counted.
        last_day: the last day with reports.
        stopped_since: the first day without reports, if they have stopped.
        suspicious_keys: the ids of keys whose reports fail a check, with spaces between.
        uneven_keys: the ids of keys that answer differently from the others.
        surge_keys: the ids of keys that brought far more reports than usual.
        suspicious_days: on how many days a check fails.
        uneven_days: on how many days keys are seen to differ.
        surge_days: on how many days far more reports came than usual.
        excluded_reports: reports that are left out because their keys are excluded.
        unanswered: why the reports could not be looked at.
    """

    metric: str
    verdict: str
    reports: int
    last_day: date | None
    stopped_since: date | None
    suspicious_keys: str | None
    uneven_keys: str | None
    surge_keys: str | None
    suspicious_days: int
    uneven_days: int
    surge_days: int
    excluded_reports: int
    unanswered: str | None


@dataclass(frozen=True, repr=False)
class HealthOverview:
    """Whether the reports of all metrics look like those of devices: ``health["theme"]``.

    Attributes:
        answer: as the server gave it.
    """

    answer: health_overview.HealthOverview

    @property
    def verdict(self) -> Verdict:
        """The worst of all metrics."""
        return self.answer.verdict

    @property
    def warnings(self) -> list[str]:
        """What to know first."""
        of_metrics = [
            f"{each.metric}: {notice.message}"
            for each in self.answer.metrics
            for notice in each.notices
            if notice.severity == "warning"
        ]
        return [*overview_document(self.answer).cautions, *of_metrics]

    @property
    def sentence(self) -> str:
        """How the reports of each metric look, in words, warnings first."""
        return " ".join(f"{line.rstrip('.')}." for line in self._lines())

    def __iter__(self) -> Iterator[health_overview.MetricHealth]:
        return iter(self.answer.metrics)

    def __len__(self) -> int:
        return len(self.answer.metrics)

    def __getitem__(self, metric: str) -> health_overview.MetricHealth:
        """What is known of one metric.

        Raises:
            ParameterError: if there is none of this name.
        """
        for each in self.answer.metrics:
            if each.metric == metric:
                return each
        raise not_among(metric, self._ipython_key_completions_())

    def _ipython_key_completions_(self) -> list[str]:
        return [each.metric for each in self.answer.metrics]

    def frame(self, backend: Backend | None = None) -> Any:
        """One row for each metric.

        Args:
            backend: "pandas", "polars" or "pyarrow"; left out for the first that is installed.
        """
        rows = [
            HealthRow(
                each.metric,
                each.verdict,
                each.reports,
                each.last_day,
                each.stopped_since,
                _ids(each.suspicious_keys),
                _ids(each.uneven_keys),
                _ids(each.surge_keys),
                len(each.suspicious_days),
                len(each.uneven_days),
                len(each.surge_days),
                each.excluded_reports,
                each.unanswered,
            )
            for each in self.answer.metrics
        ]
        return frame(HealthRow, rows, backend, whole=True)

    def __repr__(self) -> str:
        return "\n".join(map(visible, self._lines()))

    def _lines(self) -> list[str]:
        """What is to be known first, a line for each metric, and what to do next."""
        document = overview_document(self.answer)
        rows = [row.cells for table in document.tables for row in table.rows]
        lines = [": ".join(filter(None, (cells[0], cells[1], cells[-1]))) for cells in rows]
        return [*self.warnings, *lines, *document.below]

    def _repr_html_(self) -> str:
        document = overview_document(self.answer)
        return "".join(
            (
                display.warnings_box(self.warnings),
                display.paragraph(document.finding),
                *map(display.table, document.tables),
                *map(display.paragraph, document.below),
            )
        )


def _ids(keys: list[NamedKey]) -> str | None:
    return " ".join(dict.fromkeys(each.key for each in keys)) or None


@dataclass(frozen=True, repr=False)
class EstimateTable:
    """Estimates of closed periods of all metrics: ``for row in table``.

    Attributes:
        answer: as the server gave it.
    """

    answer: estimate_table.EstimateTable

    def __iter__(self) -> Iterator[Row]:
        return iter(self.answer.rows)

    def __len__(self) -> int:
        return len(self.answer.rows)

    def frame(self, backend: Backend | None = None) -> Any:
        """One row for each number, with all columns that the table keeps.

        Args:
            backend: "pandas", "polars" or "pyarrow"; left out for the first that is installed.
        """
        names = ("application", "metric", "since", *estimate_table.KEPT_COLUMNS, "final")
        return frame(Row, self.answer.rows, backend, names, whole=True)

    def __repr__(self) -> str:
        return visible(self._in_words())

    def _repr_html_(self) -> str:
        return display.paragraph(f"{self._in_words()} See .frame().")

    def _in_words(self) -> str:
        table = self.answer
        whose = f"Estimates of {table.application} by {table.period}"
        if not table.rows:
            return f"{whose}: none. The server writes them when a day closes."
        periods = sorted({(row.since, row.until) for row in table.rows})
        metrics = len({row.metric for row in table.rows})
        return (
            f"{whose}: {len(table.rows):,} rows, {len(periods):,} periods from {periods[0][0]} to "
            f"{periods[-1][1]}, metrics: {metrics:,}."
        )


@dataclass(frozen=True, repr=False)
class WrittenReport:
    """Where a report is, and what to know before it is sent on.

    Attributes:
        path: the file.
        suspicious: metrics with reports that are not all those of honest devices.
        failures: the questions that got no answer.
    """

    path: Path
    suspicious: tuple[str, ...]
    failures: tuple[Failure, ...]

    def __repr__(self) -> str:
        return "\n".join(map(visible, [*self._warnings(), f"wrote {self.path}"]))

    def _repr_html_(self) -> str:
        return display.warnings_box(self._warnings()) + display.paragraph(f"wrote {self.path}")

    def _warnings(self) -> list[str]:
        told = [f"not answered: {e.metric}, {e.question}: {e.message}" for e in self.failures]
        if self.suspicious:
            names = ", ".join(self.suspicious)
            told.insert(0, f"the reports of {names} are not all those of honest devices")
        return told
