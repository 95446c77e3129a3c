"""``make demo``, or ``python -m demo``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from demo import clients, discovery, fleet, screenshot
from demo.calendar import Calendar
from demo.population import REGISTRY, Population, draw
from demo.server import PARTNER_KEY, READ, RELEASE_KEY, Server
from demo.truth import covers, table_beside_truth
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.media.console import print_lines
from deniable_aggregator.media.pictures.files import SUFFIXES, save
from deniable_aggregator.media.terminal import print_table
from deniable_aggregator.telling.cautions import counted_line
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.tables import ordered
from deniable_shared.periods import epoch_at
from deniable_shared.registry import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.answer import Answer

DEVICES: Final = 200_000
CLIENTS: Final = 24
TABLE_ROWS: Final = 10
CHART_ROWS: Final = 12
RELEASE: Final = "Version 2.0 offers a dark theme"
PICTURE: Final = Path("demo.svg")
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo; returns the exit status."""
    options = _options(arguments)
    console = Console(highlight=False)
    directory = Path(tempfile.mkdtemp(prefix="deniable-demo-"))
    started = time.monotonic()
    server, keep = None, False
    try:
        console.print("[bold]Starting the aggregator[/bold] with a fresh store")
        calendar = Calendar(epoch_at(time.time()))
        server = Server(directory, calendar.days[0])
        population = draw(options.devices, CLIENTS, calendar)
        lines = _collect(console, population, calendar, server, directory, keep=options.keep)
        _report(console, population, server, options.picture)
        for line in lines:
            console.print(line)
        console.print(f"Everything took {time.monotonic() - started:.0f} seconds.\n")
        if options.screenshot is not None:
            for file in screenshot.take(server, options.screenshot):
                console.print(f"Screenshot: [bold]{file}[/bold]")
        _explore(console, server, directory, keep=options.keep)
        keep = options.keep
    except KeyboardInterrupt:
        console.print("Interrupted. Stopping, and deleting everything again.")
        return INTERRUPTED
    finally:
        if not keep:
            if server is not None:
                server.stop()
            shutil.rmtree(directory, ignore_errors=True)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description="Simulated devices with real values, the real client code, the real server.",
    )
    parser.add_argument("--devices", type=int, default=DEVICES, help="default: %(default)s")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="default: %(default)s")
    parser.add_argument("--keep", action="store_true", help="leave the server running")
    parser.add_argument("--screenshot", type=Path, help="draw the page into this file, a .png")
    options = parser.parse_args(arguments)
    if not options.devices >= 1:
        parser.error(f"--devices must be at least 1, got {options.devices}")
    if options.picture.suffix.lower() not in SUFFIXES:
        parser.error(f"--picture must end in {', '.join(SUFFIXES)}, got {options.picture}")
    if options.screenshot is not None and not screenshot.can_be_taken():
        parser.error(screenshot.NEEDED)
    folder = options.picture.absolute().parent
    if not os.access(options.picture if options.picture.exists() else folder, os.W_OK):
        # Checked now, not after two minutes of work.
        parser.error(f"--picture must be a file that can be written, got {options.picture}")
    return options


def _collect(
    console: Console,
    population: Population,
    calendar: Calendar,
    server: Server,
    directory: Path,
    *,
    keep: bool,
) -> list[str]:
    """Runs all devices; returns lines of text about what they sent and what is stored."""
    relayed = {day: population.days[day] for day in calendar.days}
    count = sum(map(len, relayed.values()))
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    )  # fmt: skip
    sent = forged = 0
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("devices randomized and relayed over HTTP", total=count)
        for batch in fleet.run(relayed):
            server.send(batch)
            sent += len(batch.body)
            if batch.day in calendar.forged and batch.key == RELEASE_KEY:
                reports = round(fleet.FORGED_PART * batch.devices)
                server.send(fleet.forged(batch.day, reports))
                forged += reports
            progress.advance(task, batch.devices)
        server.read_the_systems_clock(keep=keep)
        released = f"/v1/annotations/{day_of(calendar.release)}"
        server.administer("PUT", released, json={"text": RELEASE})
        task = progress.add_task("whole clients: record, store, upload", total=CLIENTS)
        own = clients.run(
            population.days[calendar.today], directory, server.endpoint, server.keys[RELEASE_KEY]
        )
        progress.advance(task, CLIENTS)
    metrics = load(REGISTRY).metrics
    return [
        f"{count:,} devices reported in {len(calendar.days)} days up to yesterday: each sent "
        f"{len(metrics)} reports, {sent / count:.0f} bytes of noise in all.",
        f"{forged:,} forged reports of {fleet.FORGED_METRIC} came with the write key of the "
        f"{PARTNER_KEY}: the table above is without it, and the page shows what it did.",
        f"{CLIENTS} whole clients recorded {own.recorded} values and sent {own.sent} reports; "
        f"each keeps {own.directory_bytes / 1024:.0f} KiB on its own disk.",
        "The aggregator keeps no row for any device, and of each day and metric the smaller of its "
        "sorted noise and its sums.",
    ]


def _report(console: Console, population: Population, server: Server, picture: Path) -> None:
    """Prints a table for each metric, and draws the picture."""
    metrics = load(REGISTRY).metrics
    discovered = [name for name, metric in metrics.items() if metric.spec.letters is not None]
    with ThreadPoolExecutor() as pool:
        # The aggregator looks for unlisted strings in another process, while it answers the rest.
        found = {name: pool.submit(server.discover, name) for name in discovered}
        written = pool.submit(server.write_estimates)
        listed = [name for name in metrics if name not in found]
        covered, asked = _report_listed(console, population, server, listed, picture)
        with console.status("looking for strings that nobody listed"):
            answers = {name: future.result() for name, future in found.items()}
            written.result()
    for name, answer in answers.items():
        discovery.report(console, metrics[name], answer, population.truth(name))
    console.print(
        f"\n[bold]{covered} of {asked} intervals ({covered / asked:.1%}) of listed values cover "
        "the truth[/bold] that the aggregator never saw; 95% should."
    )
    console.print(f"Picture: [bold]{picture.resolve()}[/bold]")


def _report_listed(
    console: Console, population: Population, server: Server, metrics: list[str], picture: Path
) -> tuple[int, int]:
    """Prints and draws what was estimated of known values.

    Returns:
        How many intervals cover the truth, and how many there are.
    """
    covered, asked, figures = 0, 0, []
    for name in metrics:
        forged = PARTNER_KEY if name == fleet.FORGED_METRIC else ""
        answer = server.estimate(name, population.candidates.get(name), forged)
        counts = _grouped(population, name, answer)
        truth = {item: count / population.size for item, count in counts.items()}
        rows = ordered(answer.of("share"), "largest")
        truths = [truth[row.value or ""] for row in rows]
        covered += sum(map(covers, rows, truths))
        asked += len(rows)
        more = ""
        if len(rows) > TABLE_ROWS:
            told = [share for row, share in zip(rows, truths, strict=True) if row.told]
            more = (
                f"... and {len(rows) - TABLE_ROWS} more; {len(told)} of {len(rows)} values are "
                f"above zero, {told.count(0.0)} of them wrongly"
            )
        shown = rows[:TABLE_ROWS]
        print_lines(["", f"{name}: {counted_line(answer)}"])
        print_table(table_beside_truth(answer, shown, truths[: len(shown)]))
        if more:
            console.print(more)
        figures.append(figure_of(answer, truth, most=CHART_ROWS))
    save(figures, picture, columns=2)
    return covered, asked


def _grouped(population: Population, metric: str, answer: Answer) -> dict[str, int]:
    """How many devices have each value that was asked for; ``other`` takes the rest."""
    counts = population.truth(metric)
    items = [row.value or "" for row in answer.of("share")]
    grouped = {item: counts[item] for item in items}
    other = load(REGISTRY).metrics[metric].spec.other
    if other is not None:
        grouped[other] = population.size - sum(
            count for item, count in grouped.items() if item != other
        )
    return grouped


def _explore(console: Console, server: Server, directory: Path, *, keep: bool) -> None:
    if not keep:
        console.print(
            "Everything was deleted again. [bold]make demo KEEP=1[/bold] leaves a server running, "
            "with a page to look at."
        )
        return
    binary = Path(sys.executable).with_name("deniable")
    console.print(
        f"The server is still running (process {server.pid}), with its data in {directory}.\n"
        f"  export DENIABLE_SERVER={server.endpoint} DENIABLE_TOKEN={server.keys[READ]}\n"
        f"  {binary} estimate theme\n"
        f"  {binary} series theme --by week\n"
        f"  {binary} health browser\n"
        f"  {binary} discover unlisted_browser\n"
        f"  kill {server.pid} && rm -r {directory}\n\n"
        f"[bold]Its page: {server.endpoint}/[/bold]\n"
        f"To sign in, paste this token: {server.keys[READ]}",
        soft_wrap=True,
    )


if __name__ == "__main__":
    sys.exit(main())
