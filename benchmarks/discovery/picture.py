"""``python -m benchmarks.discovery.picture FILE``: recall by devices, from results that are kept.

It takes what `python -m benchmarks.discovery` and `--lists` measured of the cells in `cells.CURVE`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.discovery import runs
from benchmarks.discovery.__main__ import OUTPUT
from benchmarks.discovery.cells import CURVE
from benchmarks.discovery.results import Results
from benchmarks.discovery.tables import FOUND, LIST, of

WIDTH, HEIGHT = 520, 260

KINDS: Final = {FOUND: "nobody listed them", LIST: "from a known list"}


def points(results: Results) -> list[dict[str, Any]]:
    """A point for every cell of which there are results."""
    found = []
    for cell in CURVE:
        for kind, name in KINDS.items():
            measured = list(results.runs(cell, kind).values())
            if measured:
                recall = of(measured, ["ranked"], ["top"])
                found.append(
                    {
                        "population": cell.population.replace("_", " "),
                        "devices": cell.devices,
                        "strings": name,
                        "recall": recall.value,
                    }
                )
    return found


def draw(results: Results, path: Path) -> None:
    """Draws a line for each population, and a dashed one for a known list of it."""
    import altair as alt  # an extra, and slow to import

    chart = alt.Chart(alt.InlineData(values=points(results)))
    chart.mark_line(point=True).encode(
        x=alt.X("devices:Q", title="devices, one report of epsilon 4 each").scale(type="log"),
        y=alt.Y("recall:Q", title="of the top 32, shown in the top 32").scale(domain=[0, 1]),
        color=alt.Color("population:N", title="population").scale(
            range=["#0072b2", "#d55e00", "#009e73"]
        ),
        strokeDash=alt.StrokeDash("strings:N", title="strings").scale(
            domain=list(KINDS.values()), range=[[1, 0], [3, 4]]
        ),
    ).properties(width=WIDTH, height=HEIGHT).save(str(path))


def main() -> None:
    """Draws what is kept."""
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} FILE")
    draw(Results(OUTPUT, runs.version()), Path(sys.argv[1]))


if __name__ == "__main__":
    main()
