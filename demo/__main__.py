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

from demo import clients, screenshot
from demo.crowd import METRIC, Crowd
from demo.population import (
    FORGED_METRIC,
    PARTNER_KEY,
    RELEASE_KEY,
    candidates,
    deployment,
    held_today,
    population,
)
from demo.server import Server
from deniable_aggregator.asking.dates import utc_today
from deniable_aggregator.media.console import print_lines
from deniable_aggregator.media.pictures.files import SUFFIXES, save
from deniable_aggregator.media.terminal import print_table
from deniable_aggregator.simulating.beside import (
    beside,
    found_in_words,
    shares_of_strings,
    table_beside_truth,
)
from deniable_aggregator.simulating.draws import Selection
from deniable_aggregator.simulating.randomizing import let_pass
from deniable_aggregator.simulating.truth import Truth
from deniable_aggregator.telling.cautions import counted_line
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.tables import ordered
from field.clocked_server import READ

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.simulating.draws import Batch, Recorded
    from deniable_aggregator.simulating.population import Deployment

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
        calendar = deployment(utc_today())
        server = Server(directory, calendar)
        crowd = Crowd(server)
        recorded, lines = _collect(console, calendar, server, crowd, options)
        _report(console, Truth(calendar, recorded), server, options.picture)
        _report_crowd(crowd, server)
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
    calendar: Deployment,
    server: Server,
    crowd: Crowd,
    options: argparse.Namespace,
) -> tuple[Recorded, list[str]]:
    """Runs all devices; returns what they recorded, and lines of text about what is stored."""

    def others(day: int) -> Iterable[Batch]:
        crowd.pass_day(day)
        return ()

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("days: devices randomized, relayed over HTTP", total=calendar.days)
        recorded = let_pass(
            calendar,
            population(calendar, options.devices),
            server,
            processes=os.cpu_count() or 1,
            others=others,
            progress=lambda day: progress.update(task, completed=day + 1),
        )
        crowd.close()
        server.read_the_systems_clock(keep=options.keep)
        assert calendar.change is not None, "something is released"
        released = f"/v1/annotations/{calendar.date_of(calendar.change)}"
        server.administer("PUT", released, json={"text": RELEASE})
        task = progress.add_task("whole clients: record, store, upload", total=CLIENTS)
        held, batches = held_today(calendar, CLIENTS)
        own = clients.run(held, server.store.parent, server.endpoint, server.keys[RELEASE_KEY])
        server.count_everything()
        recorded.add(batches)
        progress.advance(task, CLIENTS)
    count = recorded.reports(calendar.metrics[0]) - CLIENTS
    return recorded, [
        f"{count:,} devices reported in {calendar.days} days up to yesterday: each sent "
        f"{len(calendar.metrics)} reports.",
        f"{recorded.forged(FORGED_METRIC):,} forged reports of {FORGED_METRIC} came with the write "
        f"key of the {PARTNER_KEY}: the table above is without it, and the page shows what it did.",
        f"{CLIENTS} whole clients recorded {own.recorded} values and sent {own.sent} reports; "
        f"each keeps {own.directory_bytes / 1024:.0f} KiB on its own disk.",
        "The aggregator keeps no row for any device, and of each day and metric the smaller of its "
        "sorted noise and its sums.",
    ]


def _report(console: Console, truth: Truth, server: Server, picture: Path) -> None:
    """Prints a table for each metric, and draws the picture."""
    metrics = truth.deployment.registry(1).metrics
    discovered = [name for name, metric in metrics.items() if metric.spec.letters is not None]
    with ThreadPoolExecutor() as pool:
        # The aggregator looks for unlisted strings in another process, while it answers the rest.
        found = {name: pool.submit(server.found_strings, name) for name in discovered}
        written = pool.submit(server.write_estimates)
        listed = [name for name in metrics if name not in found]
        covered, asked = _report_listed(truth, server, listed, picture)
        with console.status("looking for strings that nobody listed"):
            answers = {name: future.result() for name, future in found.items()}
            written.result()
    for name, answer in answers.items():
        rows = beside(answer, ordered([*answer.strings, *answer.prefixes], "largest"), truth)
        reports = answer.head.reports
        print_lines(["", f"{name}: {reports:,} reports, nobody listed its strings"])
        print_table(table_beside_truth(answer, rows))
        print_lines(found_in_words(metrics[name], answer, shares_of_strings(truth, name)))
    console.print(
        f"\n[bold]{covered} of {asked} intervals ({covered / asked:.1%}) of listed values cover "
        "the truth[/bold] that the aggregator never saw; 95% should."
    )
    console.print(f"Picture: [bold]{picture.resolve()}[/bold]")


def _report_listed(
    truth: Truth, server: Server, metrics: list[str], picture: Path
) -> tuple[int, int]:
    """Prints and draws what was estimated of known values.

    Returns:
        How many intervals cover the truth, and how many there are.
    """
    covered, asked, figures = 0, 0, []
    listed = candidates()
    for name in metrics:
        forged = PARTNER_KEY if name == FORGED_METRIC else ""
        answer = server.estimate(name, listed.get(name), forged)
        selection = Selection(without=(forged,) if forged else ())
        rows = beside(answer, ordered(answer.of("share"), "largest"), truth, selection)
        sizes = [
            beside(answer, answer.of(measure), truth, selection)
            for measure in ("set size", "items per device")
            if answer.of(measure)
        ]
        covered += sum(row.covers for row in rows)
        asked += len(rows)
        left_out = ""
        if len(rows) > TABLE_ROWS:
            told = [row.truth for row in rows if row.number.told]
            left_out = (
                f"... and {len(rows) - TABLE_ROWS} more; {len(told)} of {len(rows)} values are "
                f"above zero, {told.count(0.0)} of them wrongly"
            )
        print_lines(["", f"{name}: {counted_line(answer)}"])
        print_table(table_beside_truth(answer, rows[:TABLE_ROWS]))
        if left_out:
            print_lines([left_out])
        for size in sizes:
            print_table(table_beside_truth(answer, size))
        true_shares = {row.number.value or "": row.truth for row in rows}
        figures.append(figure_of(answer, true_shares, most=CHART_ROWS))
    save(figures, picture, columns=2)
    return covered, asked


def _report_crowd(crowd: Crowd, server: Server) -> None:
    """Prints what a relay brought, and what one report costs in its crowd."""
    answer = server.estimate(METRIC, None)
    rows = beside(answer, ordered(answer.of("share"), "largest"), crowd.truth)
    print_lines(["", f"{METRIC}, through a relay: {counted_line(answer)}"])
    print_table(table_beside_truth(answer, rows))
    print_lines([*crowd.sentences(), ""])


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
