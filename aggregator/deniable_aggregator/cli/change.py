"""``deniable change``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    close_table,
    columns_or_lines,
    fakes,
    import_charts,
    literal_console,
    picture_option,
    print_json,
    print_table,
    repeated,
    uncounted,
    warnings,
)
from deniable_aggregator.cli.support.http_client import server_options
from deniable_aggregator.cli.support.question_options import query_items, sum_items, time_options
from deniable_aggregator.statistics.intervals import CORRECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.table import Table

MOST_NAMED: Final = 10
"""Of the items that are not compared."""

LEAST_P: Final = 1e-6
"""Smaller p-values are not told apart."""

ALIKE: Final = 0.995
"""Errors whose ratio is above this are the same to a reader."""


@click.command(short_help="Tests what has changed in METRIC between two periods.")
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
@picture_option
@partial(time_options, chosen="Only the N largest changes.")
@server_options
def change(
    metric: str,
    before: str,
    after: str,
    correction: str,
    items: tuple[str, ...],
    candidates: Path | None,
    about: str,
    interval: str | None,
    added: tuple[str, ...],
    top: int | None,
    picture: Path | None,
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
        "top": None if top is None else str(top),
    }
    path = f"/v1/metrics/{metric}/change"
    answer = query_items(server, token, path, query, items, candidates, sum_items(added))
    if picture is not None:
        import_charts().save(import_charts("trends").change_chart(answer), picture)
    if as_json:
        print_json(answer)
        return
    console = literal_console()
    form = "{:.2%}" if "type" not in answer else "{:.4g}"
    print_table(change_table(answer, console.width))
    console.print(f"Changes: {answer['unit']}. Intervals: {answer['interval']['meaning']}.")
    console.print(
        f"Test at {answer['test']['alpha']:.0%}: {answer['test']['meaning']}. Not shown means that "
        "the reports do not tell, and not that nothing has changed."
    )
    radii = [row["poisoning_radius"] for row in _with_sum(answer)]
    console.print(fakes(answer, radii, "a change", form))
    for when, other in (("before", "after"), ("after", "before")):
        listed = [row["item"] for row in answer["not_compared"] if row["known"] == when]
        if listed:
            names = ", ".join(listed[:MOST_NAMED]) + (", ..." if listed[MOST_NAMED:] else "")
            console.print(
                f"Not compared: {names} ({len(listed):,}), known only {when}. What they were "
                f"{other} is unknown, which is not 0."
            )
    console.print(_same_devices(answer))
    for line in dict.fromkeys((*repeated(answer["before"]), *repeated(answer["after"]))):
        console.print(line)
    for line in (*uncounted(answer), *warnings(metric, *answer["health"].values())):
        console.print(line)


def _same_devices(answer: Mapping[str, Any]) -> str:
    """What is to be known of devices that may have reported in both periods."""
    line = (
        "Devices: nobody can tell how many reported in both periods. Errors and tests take it that "
        "none did, which is the most careful."
    )
    ratios = [
        row["standard_error_same_devices"] / row["standard_error"]
        for row in answer["changes"]
        if row["standard_error_same_devices"] is not None and row["standard_error"] > 0
    ]
    if ratios and min(ratios) < ALIKE:
        line += (
            f" If as many as possible did, what they have in common cancels out, and errors are "
            f"down to {min(ratios):.2f} times as large."
        )
    return line


def _with_sum(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of a table: items, and a sum if one was asked for."""
    if "sum" not in answer:
        return list(answer["changes"])
    return [*answer["changes"], {**answer["sum"], "item": " + ".join(answer["sum"]["items"])}]


def _written(p_value: float) -> str:
    return f"{p_value:.3g}" if p_value >= LEAST_P else f"<{LEAST_P:g}"


def change_table(answer: Mapping[str, Any], width: int = UNBROKEN) -> Table:
    """One row per item: before, after, the difference and whether it is one.

    Args:
        answer: what the server answered, or `Change.as_dict`.
        width: of the terminal, in characters.
    """
    form = "{:+.2%}" if "type" not in answer else "{:+.4g}"
    plain = form.replace("+", "")
    level = answer["interval"]["level"]
    counted = [f"{answer[name]['reports']:,}" for name in ("before", "after")]
    table = close_table(
        title=f"{answer['metric']}: {counted[0]} reports before, {counted[1]} after"
    )
    table.add_column("item" if "type" not in answer else "", overflow="fold")
    space = "  " if width >= WIDE else "\n"
    for name in ("before", "after", f"change,{space[:1]}{level:.0%} interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in columns_or_lines(width, "p, corrected", "changed?"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in _with_sum(answer):
        difference, low, high = (form.format(row[name]) for name in ("change", "low", "high"))
        p_value = row["adjusted_p_value"] if "adjusted_p_value" in row else row["p_value"]
        table.add_row(
            Text(row.get("item", "mean")),
            plain.format(row["before"]),
            plain.format(row["after"]),
            f"{difference}{space}[{low}, {high}]",
            *columns_or_lines(width, _written(p_value), "yes" if row["changed"] else "not shown"),
        )
    return table
