"""How many popular strings that nobody listed are found, and how many finds are false.

    python -m benchmarks.discovery [CELL ...] [--runs 10] [--processes 2]

A cell is one population, number of devices, epsilon and model, such as "english 1e6 4"; without any
all are measured that are not held out. A part of a name stands for all cells that begin so. Each
run is kept in build/discovery.json when it is finished, and is not repeated until the letter code,
the mechanism or the decoder changes.

A run takes 1 to 5 seconds to draw a million reports and those of its decoder, and half a minute
more once for the strings of a language; 10^7 devices take ten times as long to draw. Words need
`pip install wordfreq==3.1.1`, user agents and browsers `fake-useragent==2.2.0`.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.discovery import peers, runs
from benchmarks.discovery.cells import CELLS, Cell
from benchmarks.discovery.populations import HELD_OUT
from benchmarks.discovery.results import Results
from benchmarks.discovery.tables import FOUND, LIST, peers_table, table

if TYPE_CHECKING:
    from collections.abc import Sequence

OUTPUT: Final = Path(__file__).parents[2] / "build" / "discovery.json"


def chosen(names: Sequence[str]) -> list[Cell]:
    """The cells of these names, or that begin so; without names, all that are not held out.

    Raises:
        SystemExit: if no cell has such a name.
    """
    if not names:
        return [cell for cell in CELLS if cell.population not in HELD_OUT]
    found = [
        [cell for cell in CELLS if cell.name == name]
        or [cell for cell in CELLS if cell.name.startswith(name)]
        for name in names
    ]
    for name, cells in zip(names, found, strict=True):
        if not cells:
            raise SystemExit(f"no cell is called {name!r}: --list shows all")
    return list(dict.fromkeys(cell for cells in found for cell in cells))


def measure(
    cells: Sequence[Cell], count: int, processes: int, results: Results, console: Console
) -> None:
    """Measures what is missing; runs of one population follow each other in one process."""
    wanted = [
        (cell, number)
        for cell in sorted(cells, key=lambda cell: (cell.population, cell.without))
        for number in range(count)
        if number not in results.runs(cell, FOUND)
    ]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with (
        Progress(*columns, TimeElapsedColumn(), console=console) as progress,
        ProcessPoolExecutor(processes) as pool,
    ):
        task = progress.add_task("measuring", total=len(wanted))
        waiting = {pool.submit(runs.run, *each): each for each in wanted}
        for future in as_completed(waiting):
            cell, number = waiting[future]
            progress.update(task, description=cell.name, advance=1)
            error = future.exception()
            if error is not None:
                progress.console.print(f"{cell.name}, run {number}: {error!r}", markup=False)
            else:
                results.add(cell, FOUND, number, future.result())


def measure_lists(cells: Sequence[Cell], count: int, results: Results) -> None:
    """Measures known lists where that has not been done."""
    for cell in cells:
        if not cell.without and not cell.by_clients:
            done = results.runs(cell, LIST)
            for number in range(count):
                if number not in done:
                    results.add(cell, LIST, number, runs.ranked_from_list(cell, number))


def measure_peers(cells: Sequence[Cell], count: int, results: Results, python: Path) -> None:
    """Measures the other projects' mechanisms where that has not been done."""
    for cell in cells:
        for mechanism in () if cell.without or cell.by_clients else peers.MECHANISMS:
            done: dict[int, Any] = results.runs(cell, mechanism)
            for number in range(count):
                if number not in done:
                    results.add(cell, mechanism, number, peers.run(cell, mechanism, number, python))


def main() -> None:
    """Measures, keeps and prints."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.discovery",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cells", nargs="*", metavar="CELL", help="names, or how they begin")
    parser.add_argument("--runs", type=int, default=10, help="of each cell (default 10)")
    parser.add_argument("--processes", type=int, default=2, help="at a time (default 2)")
    parser.add_argument("--list", action="store_true", help="only name all cells")
    parser.add_argument("--table", action="store_true", help="only print what is kept")
    parser.add_argument("--lists", action="store_true", help="measure known lists instead")
    parser.add_argument(
        "--peers", action="store_true", help="measure pure-ldp instead: minutes for every run"
    )
    parser.add_argument("--peers-python", type=Path, default=peers.PYTHON, metavar="PYTHON")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    arguments = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    cells = chosen(arguments.cells)
    if arguments.list:
        console.print("\n".join(cell.name for cell in CELLS))
        return
    results = Results(arguments.output, runs.version())
    if arguments.peers:
        measure_peers(cells, arguments.runs, results, arguments.peers_python)
    elif arguments.lists:
        measure_lists(cells, arguments.runs, results)
    elif not arguments.table:
        measure(cells, arguments.runs, arguments.processes, results, console)
    console.print(table(results, cells), markup=False)
    console.print(peers_table(results, cells, peers.MECHANISMS), markup=False)


if __name__ == "__main__":
    main()
