"""``make field``, or ``python -m field``."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from field.deployment import deployment
from field.judge import NOT_ANSWERED, OK, WRONG, judge
from field.picture import draw
from field.population import METRICS
from field.trial import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from field.judge import Verdict

DAYS: Final = 63
SEED: Final = 2026
SMALL: Final = 1.0
FULL: Final = 4.0
LEAST_WIDTH: Final = 120
STYLES: Final = {OK: "", WRONG: "bold red", NOT_ANSWERED: "yellow"}
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the trial; returns the exit status: 1 if anything is wrong."""
    options = _options(arguments)
    console = Console(highlight=False, markup=False, soft_wrap=True, stderr=options.json)
    console.width = max(console.width, LEAST_WIDTH)
    calendar = deployment(options.days, options.seed)
    scale = SMALL if options.small else FULL
    started = time.monotonic()
    try:
        findings = find(calendar, scale, options.metric or list(METRICS), console.print)
    except KeyboardInterrupt:
        console.print("Interrupted. The server was stopped, and its data deleted.")
        return INTERRUPTED
    for finding in findings:
        if finding.line == options.show:
            console.print(str(finding))
    if options.plot:
        draw(findings, options.plot)
    verdicts = judge(findings)
    if options.json:
        print(json.dumps([asdict(each) for each in verdicts], indent=1))
    else:
        console.print(_table(verdicts))
    wrong = [each for each in verdicts if each.verdict == WRONG]
    for each in wrong:
        console.print(f"WRONG: {each.line}, {each.measure}: {each.detail}")
    for each in verdicts:
        if each.verdict == NOT_ANSWERED:
            console.print(f"Not answered: {each.line}: {each.detail}")
    console.print(
        f"{len(findings):,} numbers compared, {len(wrong)} of {len(verdicts)} lines wrong, "
        f"{time.monotonic() - started:.0f} seconds, {_cpu_seconds():.0f} of CPU, "
        f"seed {options.seed}."
    )
    return 1 if wrong else 0


def _cpu_seconds() -> float:
    """What this process and those that it has started have worked, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(title="The field trial", title_justify="left")
    for heading in ("line", "measure", "figure", "error", "wanted", "width", "compared", "verdict"):
        number = heading in ("figure", "error", "width", "compared")
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for each in verdicts:
        counted = each.measure in ("wrong", "refused")
        table.add_row(
            each.line,
            each.measure,
            f"{each.figure:.0f}" if counted else f"{each.figure:.3f}",
            "" if math.isnan(each.error) else f"{each.error:.3f}",
            each.wanted,
            "" if math.isnan(each.width) else f"{each.width:.3g}",
            f"{each.compared:,}",
            each.verdict,
            style=STYLES[each.verdict],
        )
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
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw truth against intervals, as SVG"
    )
    parser.add_argument("--show", metavar="LINE", help="print every number of one line")
    parser.add_argument(
        "--metric", action="append", choices=list(METRICS), help="only this one; may be repeated"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
