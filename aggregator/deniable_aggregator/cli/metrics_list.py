"""``deniable metrics list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.asking.questions import METRICS
from deniable_aggregator.cli.support.question_options import question_command

if TYPE_CHECKING:
    from deniable_aggregator.answers.administration import Metrics


@question_command(METRICS)
def list_metrics(answer: Metrics) -> None:
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
    from deniable_aggregator.media.terminal import print_document
    from deniable_aggregator.telling.administration import metrics_document

    print_document(metrics_document(answer))
