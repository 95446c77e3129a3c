"""``deniable series``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    close_table,
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
from deniable_aggregator.cli.render.share_table import IntervalBar
from deniable_aggregator.cli.support.http_client import server_options
from deniable_aggregator.cli.support.question_options import (
    days_options,
    query_items,
    sum_items,
    time_options,
)
from deniable_aggregator.trends.series import BY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rich.table import Table

_MEDIAN = 0.5


@click.command(short_help="Shows how METRIC goes on, period by period.")
@click.argument("metric")
@click.option(
    "--by", type=click.Choice(BY), default=BY[0], show_default=True, help="How long a period is."
)
@days_options
@picture_option
@partial(time_options, chosen="Only the N largest over all of these days.")
@server_options
def series(
    metric: str,
    by: str,
    since: str | None,
    until: str | None,
    picture: Path | None,
    items: tuple[str, ...],
    candidates: Path | None,
    about: str,
    interval: str | None,
    added: tuple[str, ...],
    top: int | None,
    as_json: bool,
    server: str,
    token: str,
) -> None:
    """Shows how METRIC goes on: every period is estimated by itself, from its own reports.

    Whether two periods differ is not to be read from the overlap of their intervals: ask deniable
    change.

    \b
        deniable series theme --by week
        deniable series emoji --item 🐝 --item 🌻 --since 2026-01-01 --picture emoji.svg
        deniable series startup_seconds --by month
    """  # noqa: D301  click reads the backslash as a sign
    query = {
        "by": by,
        "since": since,
        "until": until,
        "about": about,
        "interval": interval,
        "top": None if top is None else str(top),
    }
    path = f"/v1/metrics/{metric}/series"
    answer = query_items(server, token, path, query, items, candidates, sum_items(added))
    if picture is not None:
        import_charts().save(import_charts("trends").series_chart(answer), picture)
    if as_json:
        print_json(answer)
        return
    console = literal_console()
    print_table(series_table(answer, console.width))
    console.print(f"Unit: {answer['unit']}. Intervals: {answer['interval']['meaning']}.")
    shares = "type" not in answer
    radii = [
        row["poisoning_radius"] for period in answer["periods"] for row in _rows(period, answer)
    ]
    whose = "a share of a period" if shares else "an estimate of a period"
    console.print(fakes(answer, radii, whose, "{:.2%}" if shares else "{:.4g}"))
    if top is not None:
        chosen = f"Chosen out of {answer['items_asked_for']:,} items"
        console.print(f"{chosen}, by their shares over all of these days.")
    for line in repeated(answer):
        console.print(line)
    for line in (*uncounted(answer), *warnings(metric, answer["health"])):
        console.print(line)


def series_table(answer: Mapping[str, Any], width: int = UNBROKEN) -> Table:
    """One row per period and item, with the interval as a picture where there is room for it.

    Args:
        answer: what the server answered, or `Series.as_dict`.
        width: of the terminal, in characters.
    """
    shares = "type" not in answer
    rows = [row for period in answer["periods"] for row in _rows(period, answer)]
    scale = max([1e-9, *(row["high"] for row in rows)])
    level = answer["interval"]["level"]
    title = f"{answer['metric']} by {answer['by']}: {answer['reports']:,} reports"
    bars = shares and width >= WIDE
    table = close_table(title=title, expand=bars)
    table.add_column("period", no_wrap=True)
    table.add_column("reports", justify="right", no_wrap=True)
    table.add_column("item" if shares else "", overflow="fold")
    table.add_column(f"{'share' if shares else 'value'}, {level:.0%} interval", no_wrap=True)
    if bars:
        table.add_column(f"0 to {scale:.1%}", ratio=1)
    form = "{:.2%}" if shares else "{:.4g}"
    for period in answer["periods"]:
        days, reports = _days(period, width), f"{period['reports']:,}"
        found = list(_rows(period, answer))
        for index, row in enumerate(found):
            where = (days, reports) if index == 0 else ("", "")
            value, low, high = (form.format(row[name]) for name in ("share", "low", "high"))
            cells: list[str | Text | IntervalBar] = [
                *where,
                Text(row["item"]),
                f"{value}  [{low}, {high}]",
            ]
            if bars:
                cells.append(IntervalBar(row["low"], row["share"], row["high"], scale))
            table.add_row(*cells)
        if not found:
            table.add_row(days, reports, "", "-")
    return table


def _days(period: Mapping[str, Any], width: int) -> str:
    """The days of a period, the last in a line of its own where there is little room."""
    since, until = period["since"], period["until"]
    if since == until:
        return str(since)
    return f"{since} to {until}" if width >= WIDE else f"{since} to\n{until}"


def _rows(period: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What is shown of a period: items, or its mean, and of a distribution its median."""
    if not period["reports"]:
        return
    if "type" not in answer:
        yield from period["estimates"]
        if "sum" in period:
            yield {**period["sum"], "item": " + ".join(period["sum"]["items"])}
    elif answer["type"] == "number":
        yield {
            "item": "mean",
            "share": period["mean"],
            "low": period["low"],
            "high": period["high"],
            "poisoning_radius": period["poisoning_radius"],
        }
    else:
        mean = period["mean"]
        yield {"item": "mean", "share": mean["value"], **mean}
        for row in period["quantiles"]:
            if row["quantile"] == _MEDIAN:
                yield {"item": "median", "share": row["value"], **row}
