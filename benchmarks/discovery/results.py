"""Results of runs in one file, written after each run, so that a stopped measurement resumes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.discovery.cells import Cell


class Results:
    """Figures by cell and by what was measured: of each, a list of runs.

    Args:
        path: a JSON file; it need not be there yet.
        version: of the code that is measured. Figures of other versions are not shown, and are
            replaced by the first new run of their cell.
    """

    def __init__(self, path: Path, version: str) -> None:
        self._path, self._version = path, version
        self._kept: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._kept = json.loads(path.read_text(encoding="utf-8"))

    def runs(self, cell: Cell, kind: str) -> dict[int, dict[str, Any]]:
        """The finished runs of a cell, by their numbers.

        Args:
            cell: of the table.
            kind: "found", "list" or a mechanism of another project.
        """
        kept = self._kept.get(_name(cell, kind), {})
        if kept.get("version") != self._version_of(kind):
            return {}
        return {int(number): figures for number, figures in kept["runs"].items()}

    def add(self, cell: Cell, kind: str, number: int, figures: dict[str, Any]) -> None:
        """Keeps a run."""
        runs = {**self.runs(cell, kind), number: figures}
        self._kept[_name(cell, kind)] = {
            "version": self._version_of(kind),
            "runs": {str(each): runs[each] for each in sorted(runs)},
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(self._kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        new.replace(self._path)

    def _version_of(self, kind: str) -> str:
        return self._version if kind == "found" else ""


def _name(cell: Cell, kind: str) -> str:
    return f"{cell.name}, {kind}"
