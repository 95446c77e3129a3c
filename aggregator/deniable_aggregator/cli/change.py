"""``deniable change``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from deniable_aggregator.cli.api import server_options
from deniable_aggregator.cli.asking import ask_about, time_options
from deniable_aggregator.cli.printing import literal_console, print_json, uncounted, warnings
from deniable_aggregator.intervals import CORRECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@click.command()
@click.argument("metric")
@click.option("--before", required=True, metavar="FIRST..LAST", help="The days of the one period.")
@click.option("--after", required=True, metavar="FIRST..LAST", help="The days of the other.")
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default=CORRECTIONS[0],
    show_default=True,
    help="Of the tests, for the number of items.",
)
@time_options
@server_options
def change(
    metric: str,
    before: str,
    after: str,
    correction: str,
    items: tuple[str, ...],
    candidates: Path | None,
    about: str,
    interval: str,
    as_json: bool,
    server: str,
    token: str,
) -> None:
    """Tests what has changed in METRIC between two periods, and estimates by how much.

    The same devices may have reported in both, and nobody can tell. The test takes them to be
    different, so that it errs no more often than it says in either case.

    \b
        deniable change theme --before 2026-01-01..2026-01-31 --after 2026-02-01..2026-02-28
    """  # noqa: D301  click reads the backslash as a sign
    query = {
        "before": before,
        "after": after,
        "about": about,
        "interval": interval,
        "correction": correction,
    }
    answer = ask_about(server, token, f"/v1/metrics/{metric}/change", query, items, candidates)
    if as_json:
        print_json(answer)
        return
    console = literal_console()
    console.print(change_table(answer))
    console.print(f"Changes: {answer['unit']}. Intervals: {answer['interval']['meaning']}.")
    console.print(f"Test at {answer['test']['alpha']:.0%}: {answer['test']['meaning']}.")
    console.print(f"Devices: {answer['overlap']}.")
    for line in (*uncounted(answer), *warnings(metric, *answer["health"].values())):
        console.print(line)


def change_table(answer: Mapping[str, Any]) -> Table:
    """One row per item: before, after, the difference and whether it is one.

    Args:
        answer: what the server answered, or `Change.as_dict`.
    """
    form = "{:+.2%}" if "type" not in answer else "{:+.4g}"
    plain = form.replace("+", "")
    level = answer["interval"]["level"]
    counted = [f"{answer[name]['reports']:,}" for name in ("before", "after")]
    table = Table(
        title=f"{answer['metric']}: {counted[0]} reports before, {counted[1]} after",
        title_justify="left",
    )
    table.add_column("item" if "type" not in answer else "", overflow="fold")
    for name in ("before", "after", f"change, {level:.0%} interval", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("changed?", no_wrap=True)
    for row in answer["changes"]:
        difference, low, high = (form.format(row[name]) for name in ("change", "low", "high"))
        table.add_row(
            Text(row.get("item", "mean")),
            plain.format(row["before"]),
            plain.format(row["after"]),
            f"{difference}  [{low}, {high}]",
            f"{row['adjusted_p_value']:.3g}",
            "yes" if row["changed"] else "not shown",
        )
    return table
