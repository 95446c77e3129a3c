"""``deniable estimate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from deniable_aggregator.cli.api import call, server_options
from deniable_aggregator.cli.table import estimate_table

if TYPE_CHECKING:
    from datetime import datetime

_DAY = click.DateTime(formats=["%Y-%m-%d"])


@click.command()
@click.argument("metric")
@click.option(
    "--candidates",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A text file with one item per line: what to look for among strings.",
)
@click.option("--since", type=_DAY, help="The first day, such as 2026-01-31.")
@click.option("--until", type=_DAY, help="The last day.")
@click.option("--top", type=click.IntRange(1), help="Only the N largest.", metavar="N")
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also draw it, as .svg, .png or .html; needs the extra deniable[charts].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the server's answer as JSON.")
@server_options
def estimate(
    metric: str,
    candidates: Path | None,
    since: datetime | None,
    until: datetime | None,
    top: int | None,
    picture: Path | None,
    as_json: bool,
    server: str,
    token: str,
) -> None:
    """Estimates METRIC: which items, what share, how sure.

    Shares are unbiased and unrounded by any wish for tidiness: they may fall below zero, and need
    not add up to one. Each interval covers the share among the devices that reported 95 times in
    100.

    \b
        deniable estimate theme
        deniable estimate emoji --candidates emoji.txt --top 20
    """  # noqa: D301  click reads the backslash as a sign
    days = {"since": since, "until": until}
    params = {name: f"{day:%Y-%m-%d}" for name, day in days.items() if day is not None}
    if top is not None:
        params["top"] = str(top)
    path = f"/v1/metrics/{metric}/estimate"
    if candidates is None:
        answer = call(server, token, "GET", path, params=params)
    else:
        question = {"candidates": _lines(candidates)}
        answer = call(server, token, "POST", path, params=params, json=question)
    if picture is not None:
        _draw(answer, picture)
    if as_json:
        click.echo(json.dumps(answer, indent=2))
        return
    console = Console()
    console.print(estimate_table(answer))
    console.print(f"Shares are of the devices that reported; {answer['interval']['meaning']}.")
    if answer["pending_reports"]:
        console.print(f"{answer['pending_reports']:,} more reports are waiting to be counted.")


def _lines(path: Path) -> list[str]:
    """The different non-empty lines of a UTF-8 file, in their order."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path} must be UTF-8 text: {error}") from error
    items = list(dict.fromkeys(line for line in text.splitlines() if line))
    if not items:
        raise click.ClickException(f"{path} must hold at least one item")
    return items


def _draw(answer: dict[str, object], path: Path) -> None:
    try:
        from deniable_aggregator.charts import save, shares_chart
    except ImportError as error:
        raise click.ClickException(
            "pictures need an extra: pip install 'deniable[charts]'"
        ) from error
    save(shares_chart(answer), path)
