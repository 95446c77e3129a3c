"""``deniable series``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.trends import Series
from deniable_aggregator.answers.words import PERIOD_LENGTHS
from deniable_aggregator.cli.render.answers import print_series
from deniable_aggregator.cli.render.output import import_charts, picture_option, print_answer
from deniable_aggregator.cli.support.http_client import server_options
from deniable_aggregator.cli.support.question_options import (
    days_options,
    query,
    time_options,
    value_lists,
    version_option,
    without_key_option,
)

if TYPE_CHECKING:
    from pathlib import Path


@click.command(short_help="Estimates METRIC period by period.")
@click.argument("metric")
@click.option(
    "--by",
    type=click.Choice(PERIOD_LENGTHS),
    default=PERIOD_LENGTHS[0],
    show_default=True,
    help="How long a period is.",
)
@days_options
@picture_option
@partial(time_options, chosen="Only the N largest over all of these days.")
@version_option
@without_key_option
@server_options
def series(
    metric: str,
    by: str,
    since: str | None,
    until: str | None,
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
    as_json: bool,
    server: str,
    token: str,
) -> None:
    """Estimates METRIC period by period, each from its own reports alone.

    Whether two periods differ is not to be read from the overlap of their intervals: ask deniable
    change.

    \b
        deniable series theme --by week
        deniable series emoji --value 🐝 --value 🌻 --since 2026-01-01 --picture emoji.svg
        deniable series startup_seconds --by month --quantile 0.5 --quantile 0.95
    """  # noqa: D301  click reads the backslash as a sign
    parameters = {
        "by": by,
        "since": since,
        "until": until,
        "margin": margin,
        "interval": interval,
        "top": None if top is None else str(top),
        "segment": segment,
        "quantile": [str(each) for each in quantiles],
        "version": version,
        "without_key": without_key,
    }
    path = f"/v1/metrics/{metric}/series"
    answered = query(server, token, path, parameters, value_lists(values, candidates, combined))
    if picture is not None:
        chart = import_charts("trends").series_chart(answered.decode(Series))
        import_charts("files").save(chart, picture)
    if as_json:
        print_answer(answered.content)
        return
    print_series(answered.decode(Series))
