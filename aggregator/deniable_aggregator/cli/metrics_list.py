"""``deniable metrics list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.administration import Metrics
from deniable_aggregator.cli.support.output import json_option, print_answer
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from deniable_aggregator.asking import HttpSource


@click.command()
@json_option
@source_options
def list_metrics(as_json: bool, source: HttpSource) -> None:
    """Lists the metrics of a server, with what was reported of each.

    A metric has one line, whatever the number of its versions: type, reports, from when to when,
    how many a day, and the privacy loss (epsilon) of one report. Reports are counted over devices
    and days, so they are not people.

    \b
        deniable metrics list
        deniable metrics list --json
        deniable metrics show theme

    Whether the reports look honest says deniable health.
    """  # noqa: D301  click reads the backslash as a sign
    answered = source.ask_about_all("metrics")
    if as_json:
        print_answer(answered.content)
        return
    from deniable_aggregator.cli.render.metrics.metric_tables import print_metrics

    print_metrics(answered.decode(Metrics))
