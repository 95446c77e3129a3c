"""A report that was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_analysis.display import notebook

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.report import Failure


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
        return "\n".join(map(notebook.plain, [*self._warnings(), f"wrote {self.path}"]))

    def _repr_html_(self) -> str:
        return notebook.warnings_box(self._warnings()) + notebook.paragraph(f"wrote {self.path}")

    def _warnings(self) -> list[str]:
        told = [f"not answered: {e.metric}, {e.question}: {e.message}" for e in self.failures]
        if self.suspicious:
            names = ", ".join(self.suspicious)
            told.insert(0, f"the reports of {names} are not all those of honest devices")
        return told
