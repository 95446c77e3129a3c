"""``deniable series``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.questions import SeriesQuery
from deniable_aggregator.answers.trends import Series
from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.cli.change import CHANGED
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.output import explain_option, picture_option, print_answer
from deniable_aggregator.cli.support.pictures import draw
from deniable_aggregator.cli.support.question_options import (
    days_options,
    question,
    time_options,
    value_lists,
    version_option,
    without_key_option,
)
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from deniable_aggregator.asking import HttpSource


@click.command(short_help="Estimates METRIC period by period.")
@click.argument("metric", shell_complete=complete_metric)
@click.option(
    "--by",
    type=click.Choice(PERIOD_LENGTHS),
    default=PERIOD_LENGTHS[0],
    show_default=True,
    help="How long a period is.",
)
@days_options
@click.option(
    "--alarm",
    is_flag=True,
    help="Also test whether the whole distribution has changed, each period against the one "
    "before, and exit with 3 if it clearly has.",
)
@picture_option
@explain_option
@partial(time_options, chosen="Only the N largest over all of these days.")
@version_option
@without_key_option
@source_options
def series(
    metric: str,
    by: str,
    since: date | None,
    until: date | None,
    alarm: bool,
    picture: Path | None,
    values: tuple[str, ...],
    candidates: tuple[str, ...],
    margin: str,
    interval: str | None,
    combined: tuple[str, ...],
    top: int | None,
    segment: str | None,
    quantiles: tuple[float, ...],
    version: str | None,
    without_key: tuple[str, ...],
    explain: bool,
    as_json: bool,
    source: HttpSource,
) -> None:
    """Estimates METRIC period by period, each from its own reports alone.

    Whether two periods differ is not to be read from the overlap of their intervals: ask deniable
    change, or with --alarm of all periods at once whether the distribution has changed. Of series
    in which nothing changes, at most 5% raise an alarm. A period that is not over is not tested.

    \b
        deniable series theme --by week
        deniable series emoji --value 🐝 --value 🌻 --since 2026-01-01 --picture emoji.svg
        deniable series theme --by week --since -8w --alarm
        deniable series startup_seconds --by month --quantile 0.5 --quantile 0.95
    """  # noqa: D301  click reads the backslash as a sign
    asked = question(
        SeriesQuery,
        by=by,
        since=since,
        until=until,
        margin=margin,
        interval=interval,
        top=top,
        segment=segment,
        alarm=alarm,
        quantile=quantiles,
        version=version,
        without_key=without_key,
    )
    answered = source.ask(metric, "series", asked, value_lists(values, candidates, combined))
    if as_json:
        print_answer(answered.content)
    else:
        from deniable_aggregator.cli.render.answers import print_series

        print_series(answered.decode(Series), explain=explain)
    if picture is not None:
        draw(answered.decode(Series), picture)
    found = answered.decode(Series).alarm if alarm else None
    if found and found.raised:
        raise click.exceptions.Exit(CHANGED)
