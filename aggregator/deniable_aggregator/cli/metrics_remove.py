"""``deniable metrics remove``: removes a metric from a server, with all of its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from deniable_aggregator.answers.administration import Metrics, RemovedMetric
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.output import json_option, print_json
from deniable_aggregator.cli.support.server_options import connection_options
from deniable_aggregator.telling.wording import counted

if TYPE_CHECKING:
    from deniable_aggregator.asking.connection import Connection


@click.command()
@click.argument("name", shell_complete=complete_metric)
@connection_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def remove(name: str, connection: Connection, yes: bool, as_json: bool) -> None:
    """Removes the metric NAME, all of its versions and all that was reported of it, for good.

    Needs a key of scope admin. What devices still report of it is refused, and they drop it;
    registering the metric again begins anew. A backup still has what was removed. The space is
    freed within minutes, step by step, while the server runs. The audit log says who removed it.
    """
    if not yes:
        listed = connection.request("GET", "/v1/metrics").decode(Metrics)
        versions = [metric for metric in listed.metrics if metric.name == name]
        if not versions:
            raise click.ClickException(f"{listed.application} has no metric {name}")
        reports = sum(
            metric.reports + metric.pending_reports + metric.excluded_reports for metric in versions
        )
        click.confirm(
            f"Remove {name} of {listed.application}: {counted(len(versions), 'version')}, "
            f"{counted(reports, 'report')}? They cannot be brought back",
            abort=True,
            err=True,
        )
    answer = connection.request("DELETE", f"/v1/metrics/{quote(name, safe='')}")
    removed = answer.decode(RemovedMetric)
    if as_json:
        print_json(removed)
        return
    click.echo(
        f"removed {removed.name} of {removed.application}: "
        f"{counted(len(removed.versions), 'version')}, "
        f"{counted(removed.reports, 'counted report')}"
    )
