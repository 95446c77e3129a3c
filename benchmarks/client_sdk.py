"""``make bench PART=sdk``: compares Deniable with SDKs that applications use today, in a table.

Every SDK has its own environment and every scenario its own process; this program is the server.
Prints the table and writes build/client_sdk.json.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.sdks.environments import IMPORTS, Environment, environment, import_milliseconds
from benchmarks.sdks.scenarios import DELIVERIES, EVENTS, Delivery, Embedding, observe

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parent.parent
ENVIRONMENTS: Final = ROOT / ".venv-sdks"
OUTPUT: Final = ROOT / "build" / "client_sdk.json"
OURS: Final = ("deniable", "deniable-flush")
"""Two columns for Deniable: programs that end with `close`, and those that call `flush` before."""

WORKING_PROGRAMS, WAITING_PROGRAMS, RESUMED_PROGRAMS = 2, 6, 24
"""How many programs run at a time: if they work, if they mostly wait, and in untimed next runs."""

LIMIT_SECONDS, QUICK_LIMIT_SECONDS = 16.0, 5.0
"""A program that has not ended by then is killed."""

WIDE_COLUMNS: Final = 170
"""The width of the table if it is not printed on a terminal."""

EQUAL_SECONDS: Final = 0.1
EQUAL_RATIO: Final = 1.1
"""Times of exits that differ by less, and other figures whose ratio is less, count as equal."""

_SHORT: Final = {"opentelemetry-sdk": "opentelemetry", "segment-analytics-python": "segment"}


class Row:
    """A row of the table: one figure for each SDK.

    Args:
        name: what was measured.
        unit: the figures' unit, or nothing.
        figures: by column; None if there is none.
        more: whether more is better; otherwise less is.
        shown: texts of cells that need more than a figure, by column.
    """

    def __init__(
        self,
        name: str,
        unit: str,
        figures: Mapping[str, float | None],
        *,
        more: bool = False,
        shown: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.unit = unit
        self.figures = dict(figures)
        self.more = more
        self.shown = dict(shown or {})

    def is_best(self, column: str) -> bool:
        """Whether no other figure is better by more than noise."""
        own = self.figures.get(column)
        if own is None:
            return False
        others = [figure for figure in self.figures.values() if figure is not None]
        if self.more:
            return own >= max(others)
        if self.unit == "s":
            return own <= min(others) + EQUAL_SECONDS
        return own <= min(others) * EQUAL_RATIO

    def cell(self, column: str) -> str:
        """The text of a cell; bold if the figure is the best or equal to it."""
        figure = self.figures.get(column)
        text = self.shown.get(column) or ("" if figure is None else _number(figure))
        return f"[bold]{text}[/bold]" if text and self.is_best(column) else text

    def document(self) -> dict[str, Any]:
        """The row as JSON."""
        best = [column for column in self.figures if self.is_best(column)]
        return {"name": self.name, "unit": self.unit, "figures": self.figures, "best": best}


def deliveries(
    environments: Mapping[str, Environment], columns: list[str], limit_seconds: float
) -> dict[tuple[str, str], Delivery]:
    """Runs every SDK through all scenarios that count what the server receives."""
    embeddings = [
        Embedding(column, environments[_distribution(column)].python, scenario)
        for scenario in DELIVERIES
        for column in columns
    ]
    for states, programs in (
        ({"up", "slow"}, WORKING_PROGRAMS),
        ({"refusing", "hanging"}, WAITING_PROGRAMS),
    ):
        with ThreadPoolExecutor(programs) as pool:
            chosen = [one for one in embeddings if one.scenario.state in states]
            list(pool.map(lambda one: one.run(limit_seconds), chosen))
    with ThreadPoolExecutor(RESUMED_PROGRAMS) as pool:
        ends = pool.map(Embedding.resume, embeddings)
        return {
            (one.sdk, one.scenario.name): end for one, end in zip(embeddings, ends, strict=True)
        }


def delivery_rows(
    found: Mapping[tuple[str, str], Delivery], columns: list[str], limit_seconds: float
) -> list[Row]:
    """Up to three rows for each scenario: delivered at first, after one more run, time of exit."""
    rows = []
    for scenario in DELIVERIES:
        name = scenario.name
        ends = {column: found[column, name] for column in columns}
        before = {column: float(end.before) for column, end in ends.items()}
        finally_ = {column: float(end.finally_) for column, end in ends.items()}
        noted = {column: f"{end.finally_}, {end.note}" for column, end in ends.items() if end.note}
        sent = f"of {EVENTS + scenario.later}"
        rows.append(Row(f"{name}: delivered at the end", f"of {EVENTS}", before, more=True))
        rows.append(Row(f"{name}: after one more run", sent, finally_, more=True, shown=noted))
        if scenario.timed:
            seconds = {column: end.seconds for column, end in ends.items()}
            killed = {column: f"> {limit_seconds:.0f}" for column in columns if ends[column].killed}
            rows.append(Row(f"{name}: exit takes", "s", seconds, shown=killed))
    again = {
        column: float(sum(end.duplicates for (sdk, _), end in found.items() if sdk == column))
        for column in columns
    }
    return [*rows, Row("arrived more than once, in all of these", "", again)]


def cost_rows(environments: Mapping[str, Environment], *, quick: bool) -> list[Row]:
    """What recording, starting and installing cost; one process at a time."""
    calls, rounds, forks, starts = (4_000, 1, 40, 3) if quick else (20_000, 3, 100, 15)
    ours = environments[OURS[0]].python
    hung, bursts, ready, imports = {}, {}, {}, {}
    for sdk, found in environments.items():
        busy = observe(sdk, found.python, "busy", "up", forks)
        hung[sdk] = busy.get("hung")
        bursts[sdk] = _burst(sdk, found.python, "burst", calls, rounds)
        ready[sdk] = median(
            observe(sdk, found.python, "start", "refusing", 1)["start_seconds"] * 1e3
            for _ in range(starts)
        )
        imports[sdk] = import_milliseconds(found.python, IMPORTS[sdk], starts)
    word = {OURS[0]: _burst(OURS[0], ours, "burst_word", calls, rounds)}
    lazy = {OURS[0]: import_milliseconds(ours, "import deniable", starts)}
    name = f"{calls:,} calls, server down"
    sizes = {sdk: float(len(found.distributions)) for sdk, found in environments.items()}
    return [
        Row("fork while threads record: children that hang", f"of {forks}", hung),
        Row(f"{name}: one call, p50", "µs", _column(bursts, "p50")),
        Row(f"{name}: one call, p99", "µs", _column(bursts, "p99")),
        Row(f"{name}: memory growth", "MB", _column(bursts, "grown_bytes", 1e-6)),
        Row("memory before that, beyond Python's own", "MB", _column(bursts, "ready_bytes", 1e-6)),
        Row(f"{name}: 1,024 bits, p50", "µs", _column(word, "p50")),
        Row(f"{name}: 1,024 bits, p99", "µs", _column(word, "p99")),
        Row("the guide's imports", "ms", imports),
        Row("import deniable", "ms", lazy),
        Row("import, set up, record once", "ms", ready),
        Row("distributions installed", "", sizes),
    ]


def _burst(sdk: str, python: Path, action: str, calls: int, rounds: int) -> dict[str, float]:
    """The lowest figures of a few rounds, which other programs have disturbed least."""
    found = [observe(sdk, python, action, "refusing", calls) for _ in range(rounds)]
    return {
        name: min(figures[name] for figures in found if name in figures)
        for name in ("p50", "p99", "ready_bytes", "grown_bytes")
        if any(name in figures for figures in found)
    }


def table(rows: list[Row], columns: list[str], environments: Mapping[str, Environment]) -> Table:
    """The rows as a table."""
    drawn = Table("what", "unit", title="The best figures are bold", title_justify="left")
    for column in columns:
        found = environments[_distribution(column)]
        title = _SHORT.get(column, column).replace("-", " ")
        drawn.add_column(f"{title}\n{found.version}", justify="right")
    for row in rows:
        drawn.add_row(row.name, row.unit, *(row.cell(column) for column in columns))
    return drawn


def rows_where_behind(rows: list[Row]) -> list[str]:
    """One line for each row in which neither of Deniable's columns is best or equal to it."""
    lines = []
    for row in rows:
        if any(row.is_best(column) for column in OURS):
            continue
        ours = ", ".join(
            f"{column} {_number(figure)}"
            for column in OURS
            if (figure := row.figures.get(column)) is not None
        )
        others = ", ".join(
            f"{_SHORT.get(column, column)} {_number(figure)}"
            for column, figure in row.figures.items()
            if figure is not None and row.is_best(column)
        )
        lines.append(f"{row.name} ({row.unit}): {ours}; best {others}")
    return lines


def _column(found: Mapping[str, Mapping[str, Any]], name: str, unit: float = 1) -> dict[str, Any]:
    return {
        sdk: figures[name] * unit if name in figures else None for sdk, figures in found.items()
    }


def _distribution(column: str) -> str:
    return OURS[0] if column in OURS else column


def _number(figure: float) -> str:
    return f"{figure:.0f}" if figure == int(figure) else f"{figure:,.3g}"


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls, shorter time limits")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    options = parser.parse_args()
    console = Console(highlight=False, stderr=options.json)
    if not console.is_terminal:
        console.width = WIDE_COLUMNS
    loads = [os.getloadavg()[0]]
    limit_seconds = QUICK_LIMIT_SECONDS if options.quick else LIMIT_SECONDS
    listed = {sdk: environment(sdk, options.environments) for sdk in IMPORTS}
    for sdk in listed:
        if listed[sdk] is None:
            console.print(f"{sdk} is not installed in {options.environments}: left out")
    environments = {sdk: found for sdk, found in listed.items() if found is not None}
    if OURS[0] not in environments:
        parser.error("nothing to compare: make bench PART=sdk installs Deniable and the others")
    columns = [*OURS, *(sdk for sdk in environments if sdk != OURS[0])]
    with console.status("measuring what is delivered"):
        found = deliveries(environments, columns, limit_seconds)
    with console.status("measuring what it costs"):
        rows = delivery_rows(found, columns, limit_seconds)
        rows += cost_rows(environments, quick=options.quick)
    loads.append(os.getloadavg()[0])
    document = {
        "cores": os.cpu_count(),
        "loads": loads,
        "environments": {
            sdk: {"version": one.version, "distributions": one.distributions}
            for sdk, one in environments.items()
        },
        "deliveries": [
            {"sdk": sdk, "scenario": name, **asdict(delivery)}
            for (sdk, name), delivery in found.items()
        ],
        "rows": [row.document() for row in rows],
    }
    OUTPUT.parent.mkdir(exist_ok=True)
    text = json.dumps(document, indent=1)
    OUTPUT.write_text(text + "\n", encoding="utf-8")
    if options.json:
        print(text)
        return
    console.print(table(rows, columns, environments))
    console.print("Rows in which another SDK is better:", *rows_where_behind(rows), sep="\n  ")
    busy = " before and ".join(f"{load:.1f}" for load in loads)
    console.print(f"{os.cpu_count()} cores; load {busy} after; other programs distort p99 most")


if __name__ == "__main__":
    main()
