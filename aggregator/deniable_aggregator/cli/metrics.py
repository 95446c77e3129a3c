"""``deniable metrics register``: tells a server which metrics an application has."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Column

from deniable_aggregator.answers.administration import Registered
from deniable_aggregator.cli.render.output import close_table, print_table
from deniable_aggregator.cli.support.http_client import call, server_options
from deniable_shared.characters import visible


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@server_options
def register(file: Path, server: str, token: str) -> None:
    """Registers all metrics of FILE with a server; needs a key of scope admin.

    Register the very file that the application ships. It may be done again at any time: what is
    registered already stays, and what has changed is registered beside it, so that old versions
    of the application can still report.
    """
    answer = call(server, token, "POST", "/v1/metrics", content=file.read_bytes())
    registered = answer.decode(Registered)
    whole = [Column(name, no_wrap=True) for name in ("version", "")]
    table = close_table(Column("metric", overflow="fold"), *whole)
    for metric in registered.metrics:
        state = "new" if metric.new else "registered before"
        table.add_row(metric.name, metric.version[:16], state)
    click.echo(f"{file}: {visible(registered.application)}")
    print_table(table)
