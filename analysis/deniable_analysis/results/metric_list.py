"""The registered metrics of an application."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date  # noqa: TC003  read for the types of columns
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from deniable_aggregator.answers.versions import versions_by_name, whole_metric
from deniable_analysis.display import notebook
from deniable_analysis.frames import frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers import administration
    from deniable_analysis.frames import Backend


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
        return [_row(some) for some in versions_by_name(self.answer.metrics).values()]

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
            return notebook.plain(f"{self.answer.application} has no metrics")
        lines = (
            f"{each.name} ({each.type}, {each.reports:,} reports): {each.description}"
            for each in self
        )
        return "\n".join(map(notebook.plain, lines))

    def _repr_html_(self) -> str:
        rows = [
            [each.name, each.type, each.description, str(each.last_day or "none yet"),
             f"{each.reports:,}", f"{each.epsilon:g}"]
            for each in self
        ]  # fmt: skip
        head = ["metric", "type", "what it is for", "last reports", "reports", "epsilon"]
        return notebook.table(head, rows, self.answer.application, 4)


def _row(versions: list[administration.Metric]) -> MetricRow:
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
