"""``deniable metrics``: registry files and what is registered."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deniable_aggregator.cli.api import call, server_options
from deniable_aggregator.cli.check import check


@click.group()
def metrics() -> None:
    """Works with registry files, metrics.toml."""


@metrics.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@server_options
def register(file: Path, server: str, token: str) -> None:
    """Registers all metrics of FILE with a server; needs a key of scope admin.

    Register the very file that the application ships. It may be done again at any time: what is
    registered already stays, and what has changed is registered beside it, so that old versions
    of the application can still report.
    """
    answer = call(server, token, "POST", "/v1/metrics", content=file.read_bytes())
    table = Table("metric", "digest", "")
    for metric in answer["metrics"]:
        state = "new" if metric["new"] else "registered before"
        table.add_row(metric["name"], metric["digest"][:16], state)
    console = Console()
    console.print(f"{escape(str(file))}: {answer['application']}")
    console.print(table)


metrics.add_command(check)
