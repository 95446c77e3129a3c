"""Rows of the SQL table of estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable_aggregator.answers import estimate_table
from deniable_aggregator.answers.row import Row
from deniable_analysis.display import notebook
from deniable_analysis.frames import frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_analysis.frames import Backend


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
        return notebook.plain(self._in_words())

    def _repr_html_(self) -> str:
        return notebook.paragraph(f"{self._in_words()} See .frame().")

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
