"""``make bench PART=accuracy``: how close estimates come to the least error that is possible.

For each epsilon and number of items: the measured squared error of what the planner chooses over
the optimum (Ye and Barg), for known dictionaries and for open domains; the error of the most
common item beside it; how often intervals cover; and the same of other projects in the same run.
Everything of ours goes through the shipped client and aggregator, see `benchmarks.simulation`.

    python -m benchmarks.accuracy [--quick]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from scipy import stats

from benchmarks.simulation import Case, Mean, Outcome, measure, optimum_of_item
from deniable_shared import mechanism_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT: Final = Path(__file__).parent.parent
OUTPUT: Final = ROOT / "build" / "accuracy.json"
PEERS_PYTHON: Final = ROOT / ".venv-peers" / "bin" / "python"
WORKERS: Final = 2
WIDTH: Final = 126
"""Narrower tables would lose figures."""

EPSILONS: Final = ("0.5", "1", "2", "4")
KNOWN: Final = {
    4: ((6_000, 250), (200, 4_000)),
    16: ((2_000, 500), (200, 4_000)),
    64: ((800, 1_000), (150, 4_000)),
    256: ((300, 1_500), (100, 5_000)),
    1_024: ((150, 2_000), (100, 5_000)),
    16_384: ((12, 10_000), (40, 4_000)),
    65_536: ((6, 10_000), (25, 4_000)),
}
"""By number of items: repetitions and devices of each, uniform and Zipf."""

OPEN_UNIFORM: Final = (8, 50_000)
OPEN_ZIPF: Final = (60, 4_000)
OPEN_ZIPF_MANY: Final = (20, 4_000)
MANY: Final = 16_384

KNOWN_LIMIT: Final = 1.05
OPEN_LIMIT: Final = 1.10
QUICK: Final = 10
"""How many times fewer repetitions a quick run has."""

QUICK_PEERS: Final = ("0.05", "400")
"""Seconds and reports for each figure of another project in a quick run."""

ERRORS: Final = 2.0
"""A figure misses its limit if it lies above by more standard errors than these."""

BIASED: Final = 1e-5
"""An estimate is called biased if an unbiased one would err so much with this probability."""


def cases(*, quick: bool) -> list[Case]:
    """All lines of the table."""
    found = [
        Case("known", epsilon, size, uniform, zipf)
        for size, (uniform, zipf) in KNOWN.items()
        for epsilon in EPSILONS
    ]
    found += [
        Case("open", epsilon, size, OPEN_UNIFORM, OPEN_ZIPF if size < MANY else OPEN_ZIPF_MANY)
        for size in KNOWN
        for epsilon in EPSILONS
    ]
    if quick:
        found = [
            replace(case, uniform=_fewer(case.uniform), zipf=_fewer(case.zipf)) for case in found
        ]
    return found


def measured(asked: Sequence[Case], console: Console) -> list[Outcome]:
    """Measures all cases, the longest first, in two processes."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress, ProcessPoolExecutor(WORKERS) as pool:
        task = progress.add_task("measuring Deniable", total=len(asked))
        waiting = {pool.submit(measure, case): case for case in sorted(asked, key=_cost)}
        done = {}
        for future in as_completed(waiting):
            done[waiting[future]] = future.result()
            progress.advance(task)
    return [done[case] for case in asked]


def table(outcomes: Sequence[Outcome], domain: str, limit: float) -> Table:
    """The lines of one kind of domain."""
    words = {"known": "Known dictionaries", "open": "Open domains, sketches: function x buckets"}
    drawn = Table(title=words[domain], title_justify="left")
    drawn.add_column("eps", justify="right", no_wrap=True)
    drawn.add_column("items", justify="right", no_wrap=True)
    drawn.add_column("chosen", no_wrap=True)
    drawn.add_column("bytes", justify="right")
    drawn.add_column("error/optimum", justify="right", no_wrap=True)
    drawn.add_column("theory", justify="right")
    drawn.add_column(f"<= {limit:g}")
    drawn.add_column("top item", justify="right", no_wrap=True)
    drawn.add_column("covered", justify="right", no_wrap=True)
    drawn.add_column("picked", justify="right", no_wrap=True)
    for outcome in outcomes:
        if outcome.case.domain != domain:
            continue
        drawn.add_row(
            outcome.case.epsilon,
            f"{outcome.case.size:,}",
            outcome.mechanism,
            str(outcome.report_bytes),
            shown(outcome.ratio),
            f"{outcome.expected:.3f}",
            "yes" if met(outcome.ratio, limit) else "[red]no[/red]",
            shown(outcome.top, 2),
            shown(outcome.coverage),
            shown(Mean(1 - outcome.missed.value, outcome.missed.error)),
            end_section=outcome.case.epsilon == EPSILONS[-1],
        )
    return drawn


@contextmanager
def peers_running(*, quick: bool) -> Iterator[Callable[[], list[str]]]:
    """Runs the other projects' script meanwhile.

    Yields:
        Waits for it and gives the lines it printed; none where the projects are not installed.
    """
    if not PEERS_PYTHON.exists():
        yield list
        return
    script = [str(PEERS_PYTHON), str(Path(__file__).with_name("accuracy_peers.py"))]
    with TemporaryFile("w+") as printed:
        process = subprocess.Popen(
            [*script, *(QUICK_PEERS if quick else ())],
            stdout=printed,
            stderr=subprocess.DEVNULL,
        )

        def finish() -> list[str]:
            process.wait()
            printed.seek(0)
            return printed.read().splitlines()

        try:
            yield finish
        finally:
            process.kill()
            process.wait()


def peer_figures(lines: Sequence[str]) -> list[dict[str, Any]]:
    """What the other projects' script printed, over the same optimum."""
    found = []
    for line in lines:
        figures: dict[str, Any] = json.loads(line)
        if "error" not in figures:
            size, epsilon = figures["size"], figures["epsilon"]
            best = mechanism_choice.least_total_error(size, epsilon)
            of_top = optimum_of_item(size, epsilon, figures["top_share"])
            figures["ratio"] = [value / best for value in figures.pop("squared_error")]
            figures["top"] = [value / of_top for value in figures.pop("top_squared_error")]
        found.append(figures)
    return found


def peers_table(figures: Sequence[dict[str, Any]]) -> Table:
    """The other projects, a line for each mechanism and number of items, or why there is none."""
    drawn = Table(
        title="Others, in the same run: error/optimum, and of the top item", title_justify="left"
    )
    drawn.add_column("project, mechanism", no_wrap=True)
    drawn.add_column("items", justify="right", no_wrap=True)
    for epsilon in EPSILONS:
        drawn.add_column(f"eps {epsilon}", justify="right", no_wrap=True)
    drawn.add_column("top item", justify="right", no_wrap=True)
    for (project, mechanism, size), found in _by_line(figures).items():
        by_epsilon = {each["epsilon"]: each for each in found if "ratio" in each}
        cells = [f"{project} {mechanism}", f"{size:,}" if size else ""]
        there = [by_epsilon.get(float(epsilon)) for epsilon in EPSILONS]
        cells += [shown(Mean(*each["ratio"]), 2) if each else "-" for each in there]
        cells.append(", ".join(f"{each['top'][0]:.1f}" if each else "-" for each in there))
        drawn.add_row(*cells)
    return drawn


def peers_remarks(figures: Sequence[dict[str, Any]]) -> list[str]:
    """What did not run, and whose estimates are biased, and by how much."""
    remarks = []
    for (project, mechanism, size), found in _by_line(figures).items():
        name = f"{project} {mechanism}, {size:,} items".replace(" , 0 items", "")
        broken = sorted({each["error"] for each in found if "error" in each})
        remarks += [f"{name}: {error}" for error in broken]
        biased = []
        for each in found:
            if "error" in each:
                continue
            bias = Mean(*each["top_bias"])
            limit = float(stats.t.isf(BIASED / 2, each["top_runs"] - 1)) * bias.error
            if abs(bias.value) > limit:
                biased.append(f"{bias.value:+.3f} ± {bias.error:.3f} (epsilon {each['epsilon']:g})")
        if biased:
            share = found[0]["top_share"]
            remarks.append(f"{name}: biased, the top share of {share:.3f} by {', '.join(biased)}")
    return remarks


def _by_line(figures: Sequence[dict[str, Any]]) -> dict[tuple[str, str, int], list[dict[str, Any]]]:
    lines: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for each in figures:
        key = (each["project"], each.get("mechanism", ""), each.get("size", 0))
        lines.setdefault(key, []).append(each)
    return lines


def pooled(outcomes: Sequence[Outcome], name: str) -> Mean:
    """The mean over all lines of a figure, with its standard error."""
    figures = [getattr(outcome, name) for outcome in outcomes]
    error = math.sqrt(sum(figure.error**2 for figure in figures)) / len(figures)
    return Mean(sum(figure.value for figure in figures) / len(figures), error)


def met(ratio: Mean, limit: float) -> bool:
    """Whether a ratio does not lie above its limit by more than it may by chance."""
    return ratio.value - ERRORS * ratio.error <= limit


def shown(mean: Mean, digits: int = 3) -> str:
    """A mean and its standard error."""
    return f"{mean.value:.{digits}f} ± {mean.error:.{digits}f}"


def _fewer(repeated: tuple[int, int]) -> tuple[int, int]:
    runs, devices = repeated
    return max(2, runs // QUICK), devices


def _cost(case: Case) -> float:
    """Longer cases come first: sketches, and many items."""
    reports = math.prod(case.uniform) + math.prod(case.zipf)
    return -reports * (5 if case.domain == "open" else 1) - 50 * case.size


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    quick = parser.parse_args().quick
    console = Console(highlight=False, width=max(Console().width, WIDTH))
    start = time.monotonic()
    with peers_running(quick=quick) as finish:
        outcomes = measured(cases(quick=quick), console)
        with console.status("waiting for the other projects' figures"):
            figures = peer_figures(finish())
    for domain, limit in (("known", KNOWN_LIMIT), ("open", OPEN_LIMIT)):
        console.print(table(outcomes, domain, limit))
    coverage, missed = pooled(outcomes, "coverage"), pooled(outcomes, "missed")
    console.print(
        f"95% intervals of single items cover {shown(coverage, 4)} over all lines; those of "
        f"items shown because they were detected {1 - missed.value:.4f} ± {missed.error:.4f}."
    )
    console.print("Squared errors are over the optimum: 1 is the least that any mechanism reaches.")
    if figures:
        console.print(peers_table(figures))
        for remark in peers_remarks(figures):
            console.print(remark, markup=False)
    else:
        console.print("Other projects are not installed: make bench PART=accuracy installs them.")
    OUTPUT.parent.mkdir(exist_ok=True)
    document = {
        "seconds": time.monotonic() - start,
        "quick": quick,
        "limits": {"known": KNOWN_LIMIT, "open": OPEN_LIMIT},
        "outcomes": [asdict(outcome) for outcome in outcomes],
        "coverage": coverage,
        "missed": missed,
        "peers": figures,
    }
    OUTPUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    console.print(f"Written to {OUTPUT.relative_to(ROOT)} after {document['seconds']:,.0f} s")


if __name__ == "__main__":
    main()
