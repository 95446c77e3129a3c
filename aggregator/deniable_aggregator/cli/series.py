"""``deniable series``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.asking.questions import SERIES
from deniable_aggregator.cli.change import CHANGED
from deniable_aggregator.cli.support.question_options import question_options

if TYPE_CHECKING:
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.questions import SeriesQuery
    from deniable_aggregator.cli.support.question_options import Asked


@click.command(short_help="Estimates METRIC period by period.")
@question_options(SERIES)
def series(asked: Asked[SeriesQuery, Answer]) -> None:
    """Estimates METRIC period by period, each from its own reports alone.

    Whether two periods differ is not to be read from the overlap of their intervals: ask deniable
    change, or with --alarm of all periods at once whether the distribution has changed: then the
    exit status is 3. Of series in which nothing changes, at most 5% raise an alarm. A period that
    is not over is not tested.

    \b
        deniable series theme --by week
        deniable series emoji --value 🐝 --value 🌻 --since 2026-01-01 --picture emoji.svg
        deniable series theme --by week --since -8w --alarm
        deniable series startup_seconds --by month --quantile 0.5 --quantile 0.95
    """  # noqa: D301  click reads the backslash as a sign
    came = asked.fetch()

    asked.show(came)
    alarm = came.decode(SERIES.answer).head.alarm if asked.query.alarm else None
    if alarm is not None and alarm.raised:
        raise click.exceptions.Exit(CHANGED)
