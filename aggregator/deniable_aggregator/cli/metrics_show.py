"""``deniable metrics show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.metrics import MetricDetails
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.output import json_option, print_answer
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from deniable_aggregator.asking import HttpSource


@click.command()
@click.argument("metric", shell_complete=complete_metric)
@json_option
@source_options
def show(metric: str, as_json: bool, source: HttpSource) -> None:
    """Shows METRIC: its values, segments and versions, who brought reports, and what they reveal.

    These are the words that questions take: values for --value and --combined, segments for
    --segment, keys for --without-key, and the ids of versions for --version.

    \b
        deniable metrics show theme
        deniable metrics show theme --json
    """  # noqa: D301  click reads the backslash as a sign
    answered = source.ask(metric)
    if as_json:
        print_answer(answered.content)
        return
    from deniable_aggregator.cli.render.metrics.metric_text import metric_text
    from deniable_shared.characters import visible_lines

    click.echo(visible_lines(metric_text(answered.decode(MetricDetails))))
