"""``deniable health``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    close_table,
    json_option,
    literal_console,
    print_json,
    print_table,
)
from deniable_aggregator.cli.support.http_client import server_options
from deniable_aggregator.cli.support.question_options import ask, days_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.table import Table


@click.command()
@click.argument("metric")
@days_options
@json_option
@server_options
def health(
    metric: str, since: str | None, until: str | None, as_json: bool, server: str, token: str
) -> None:
    """Says whether the reports of METRIC look like those of devices.

    Each day's reports, and those that each key brought, are tested for what noise alone decides and
    no value changes: how many ones they have, which come together, whether rows and cohorts are
    drawn evenly. A day is suspicious if a test fails at 4.2 standard deviations.

    Where one key stands out, its reports can be left out of all answers, and be taken back:

    \b
        deniable health theme
        deniable keys exclude KEY --store deniable.db
        deniable keys include KEY --store deniable.db
    """  # noqa: D301  click reads the backslash as a sign
    query = {"since": since, "until": until}
    answer = ask(server, token, f"/v1/metrics/{metric}/health", query, {})
    if as_json:
        print_json(answer)
        return
    console = literal_console()
    print_table(health_table(answer, console.width))
    for line in health_notes(answer):
        console.print(line)


def health_table(answer: Mapping[str, Any], width: int = UNBROKEN) -> Table:
    """One row per day and spec: its verdict and its oddest check.

    Args:
        answer: what the server answered.
        width: of the terminal, in characters.
    """
    table = close_table(title=f"{answer['metric']}: {answer['verdict']}")
    table.add_column("day", no_wrap=True)
    table.add_column("reports", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("oddest check", overflow="fold")
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("keys that\nstand out", no_wrap=True)
    for day in answer["days"]:
        oddest = _oddest(day)
        table.add_row(
            day["day"],
            f"{day['reports']:,}",
            day["verdict"],
            "" if oddest is None else oddest["check"],
            "" if oddest is None else f"{oddest['p']:.2g}",
            (", " if width >= WIDE else ",\n").join(day["stand_out"]),
        )
    return table


def health_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """What failed, in words, and what no check can see; a line each.

    Args:
        answer: as above.
    """
    for day in answer["days"]:
        for whose, checks in _checks(day):
            for check in checks:
                if check["verdict"] == "suspicious":
                    said = f"{check['found']}; it should be that {check['asks']}"
                    yield f"{day['day']}{whose}, {check['check']}: {said}."
    if answer["warning"] is not None:
        yield answer["warning"]
    if answer["days_left_out"]:
        yield f"{answer['days_left_out']:,} earlier days were not looked at: narrow --until."
    if answer["excluded_reports"]:
        yield f"{answer['excluded_reports']:,} reports of excluded keys are left out."
    shown = [odd for day in answer["days"] if (odd := _oddest(day)) is not None]
    for name, asks in {odd["check"]: odd["asks"] for odd in shown}.items():
        yield f"The check {name}: in honest reports {asks}."
    yield (
        f"{answer['checks_made']:,} checks were made. p is how often honest reports look at least "
        f"so odd; a check fails below {answer['alarm']['p_below']:.2g}, which honest reports get "
        "to less than once in a thousand answers."
    )
    yield answer["invisible"]


def _oddest(day: Mapping[str, Any]) -> Mapping[str, Any] | None:
    made = [check for _, checks in _checks(day) for check in checks if check["p"] is not None]
    return min(made, key=lambda check: float(check["p"]), default=None)


def _checks(day: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Whose checks, and they."""
    yield "", day["checks"]
    for each in day["keys"]:
        yield f", key {each['key']}", each["checks"]
