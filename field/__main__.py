"""``make field``, or ``python -m field``."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from field.asking import ask
from field.deployment import FORGER, Deployment
from field.judge import NOT_ANSWERED, OK, WRONG, Verdict, judge
from field.population import METRICS
from field.questions import after_exclusion, questions
from field.server import Server
from field.simulation import run
from field.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from field.findings import Finding

DAYS: Final = 63
SEED: Final = 2026
SMALL: Final = 1.0
FULL: Final = 5.0
LEAST_WIDTH: Final = 120
SLOW_SECONDS: Final = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the trial; returns the exit status: 1 if anything is wrong."""
    options = _options(arguments)
    console = Console(highlight=False, stderr=options.json)
    console.width = max(console.width, LEAST_WIDTH)
    deployment = Deployment(options.days, options.seed, SMALL if options.small else FULL)
    directory = Path(tempfile.mkdtemp(prefix="deniable-field-"))
    started = time.monotonic()
    server = None
    try:
        server = Server(directory, deployment)
        findings = _try(deployment, server, directory, options.metric, console, started)
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    verdicts = judge(findings)
    for finding in findings if options.show else ():
        if finding.line == options.show:
            console.print(str(finding), soft_wrap=True, markup=False)
    if options.json:
        print(json.dumps([asdict(each) for each in verdicts], indent=1))
    else:
        console.print(_table(verdicts))
    wrong = [each for each in verdicts if each.verdict == WRONG]
    for each in wrong:
        console.print(f"[bold]{each.line}, {each.measure}[/bold]: {each.detail}", soft_wrap=True)
    console.print(
        f"{len(findings)} numbers compared, {len(wrong)} of {len(verdicts)} lines wrong, "
        f"{time.monotonic() - started:.0f} seconds."
    )
    return 1 if wrong else 0


def _try(
    deployment: Deployment,
    server: Server,
    directory: Path,
    metrics: Sequence[str],
    console: Console,
    started: float,
) -> list[Finding]:
    def progress(day: int) -> None:
        if day % 7 == 6:
            console.print(f"{time.monotonic() - started:4.0f} s  day {day + 1} has passed")

    recorded = run(deployment, server, directory, metrics, progress)
    server.count_everything()
    console.print(f"{time.monotonic() - started:4.0f} s  all reports are counted")
    truth = Truth(deployment, recorded)
    findings: list[Finding] = []
    listed = [each for each in questions(deployment) if each.metric in metrics]
    for asked, question in enumerate(listed, 1):
        begun = time.monotonic()
        findings += ask(question, server, truth)
        seconds = time.monotonic() - begun
        if seconds > SLOW_SECONDS:
            console.print(f"       {question.metric}, {question.text}: {seconds:.1f} s")
        if asked % 50 == 0:
            console.print(f"{time.monotonic() - started:4.0f} s  {asked} of {len(listed)} asked")
    server.administer(f"/v1/keys/{server.key_ids[FORGER]}/exclude")
    for question in after_exclusion(deployment):
        if question.metric in metrics:
            findings += ask(question, server, truth)
    return findings


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(title="The field trial", title_justify="left")
    for heading in ("line", "measure", "figure", "error", "wanted", "compared", "verdict"):
        number = heading in ("figure", "error", "compared")
        table.add_column(heading, justify="right" if number else "left")
    style = {WRONG: "bold red", NOT_ANSWERED: "yellow", OK: ""}
    for each in verdicts:
        whole = float(each.figure).is_integer() and each.measure in ("wrong", "refused")
        table.add_row(
            each.line, each.measure, f"{each.figure:.0f}" if whole else f"{each.figure:.3f}",
            "" if math.isnan(each.error) else f"{each.error:.3f}", each.wanted, str(each.compared),
            each.verdict, style=style[each.verdict],
        )  # fmt: skip
    return table


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m field",
        description="A simulated deployment on the real server: is every printed number right?",
    )
    parser.add_argument("--days", type=int, default=DAYS, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    parser.add_argument("--small", action="store_true", help="fewer devices, as CI runs it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--show", metavar="LINE", help="print every number of one line")
    parser.add_argument(
        "--metric", action="append", choices=list(METRICS), help="only this one; may be repeated"
    )
    options = parser.parse_args(arguments)
    options.metric = options.metric or list(METRICS)
    return options


if __name__ == "__main__":
    sys.exit(main())
