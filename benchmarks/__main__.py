"""``make bench``: every figure that is promised, in one table and in build/benchmarks.json."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks import counting, hadamard, ingest, randomizers, sdk
from benchmarks.timing import Row, at_least, at_most

ROOT: Final = Path(__file__).parent.parent
OUTPUT: Final = ROOT / "build" / "benchmarks.json"
PEERS_PYTHON: Final = ROOT / ".venv-peers" / "bin" / "python"
INGEST_SECONDS: Final = 4


def ingest_rows() -> list[Row]:
    """Durable ingest beside an empty endpoint; nothing where there is no load generator."""
    if shutil.which("wrk") is None or shutil.which("taskset") is None:
        return []
    found = ingest.measure(INGEST_SECONDS)
    empty = ("empty Flask endpoint", found["empty_requests_per_second"])
    rows = []
    over = found["relay_over_sqlite"]
    rows.append(at_least("a relay's rate over the aggregator's, SQLite", over, "times", 0.8))
    for kind, name, share in (("sqlite", "SQLite", 0.8), ("postgresql", "PostgreSQL", 0.6)):
        if f"{kind}_relay" not in found:
            continue
        relay, overload = found[f"{kind}_relay"], found[f"{kind}_overload"]
        rate = found[f"{kind}_requests_per_second"]
        rows += [
            Row(f"ingest, {name}, durable", rate, "uploads/s", beside=(empty,)),
            at_least("ingest over the empty endpoint", found[f"{kind}_over_empty"], "times", share),
            Row(f"ingest, {name}, p50", found[f"{kind}_p50_ms"], "ms"),
            Row(f"ingest, {name}, p99", found[f"{kind}_p99_ms"], "ms"),
            at_least(
                f"relays, {name}, into tallies", relay["reports_per_second"], "reports/s", 1e6
            ),
        ]
        waited = overload["accepted_p99_ms"]
        if waited is not None:
            rows.append(at_most(f"overload, {name}, p99 of accepted", waited, "ms", 250))
    return rows


def peer_figures() -> dict[str, Any]:
    """What the public projects reach in this run, or nothing where they are not installed."""
    if not PEERS_PYTHON.exists():
        return {}
    script = str(Path(__file__).with_name("peers.py"))
    result = subprocess.run(
        [str(PEERS_PYTHON), script], capture_output=True, text=True, check=False
    )
    try:
        found: dict[str, Any] = json.loads(result.stdout)
    except ValueError:
        return {"peers": {"error": result.stderr.strip().splitlines()[-1:]}}
    return found


def table(rows: list[Row]) -> Table:
    """The rows for people."""
    drawn = Table("what", title="Deniable, on this machine", title_justify="left")
    drawn.add_column("figure", justify="right", no_wrap=True)
    drawn.add_column("wanted")
    drawn.add_column("met")
    drawn.add_column("in the same run")
    for row in rows:
        met = {None: "", True: "yes", False: "[red]no[/red]"}[row.met]
        beside = ", ".join(
            f"{name} {_figure(value)} ({row.value / value:.3g} times)" for name, value in row.beside
        )
        drawn.add_row(row.name, f"{_figure(row.value)} {row.unit}", row.wanted, met, beside)
    return drawn


def peers_table(peers: dict[str, Any]) -> Table:
    """The public projects: figures, or why there is none."""
    drawn = Table("project", "mechanism", "figures", title="Others, in the same run")
    for project, mechanisms in peers.items():
        for mechanism, figures in mechanisms.items():
            if isinstance(figures, dict):
                text = ", ".join(
                    f"{name.replace('_', ' ')} {_figure(value)}" for name, value in figures.items()
                )
            else:
                text = str(figures)
            drawn.add_row(project, mechanism, text)
    return drawn


def _figure(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) and value < 100 else (
        f"{value:,.0f}" if isinstance(value, int | float) else str(value)
    )  # fmt: skip


def main() -> None:
    """Measures, prints and writes."""
    console = Console(highlight=False)
    rows: list[Row] = []
    sections = {
        "randomizers": randomizers.rows,
        "counting and estimating": counting.rows,
        "Hadamard responses, subsets and hashes": hadamard.rows,
        "the client in its host": sdk.rows,
        "ingest over HTTP": ingest_rows,
    }
    with console.status("measuring") as status:
        for name, section in sections.items():
            status.update(f"measuring {name}")
            found = section()
            rows += found
            if not found:
                console.print(f"{name}: left out, needs wrk and taskset")
        status.update("measuring other projects")
        peers = peer_figures()
    console.print(table(rows))
    if peers:
        console.print(peers_table(peers))
    OUTPUT.parent.mkdir(exist_ok=True)
    document = {"rows": [asdict(row) for row in rows], "peers": peers}
    OUTPUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    console.print(f"Written to {OUTPUT.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
