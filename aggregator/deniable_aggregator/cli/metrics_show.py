"""``deniable metrics show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.asking.questions import METRIC
from deniable_aggregator.cli.support.question_options import question_command

if TYPE_CHECKING:
    from deniable_aggregator.answers.metrics import MetricDetails


@question_command(METRIC)
def show(answer: MetricDetails) -> None:
    """Shows METRIC: its values, segments and versions, who brought reports, and what they reveal.

    These are the words that questions take: values for --value and --combined, segments for
    --segment, keys for --without-key, and the ids of versions for --version.

    \b
        deniable metrics show theme
        deniable metrics show theme --json
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.cli.render.metrics.metric_text import metric_text
    from deniable_shared.characters import visible_lines

    click.echo(visible_lines(metric_text(answer)))
