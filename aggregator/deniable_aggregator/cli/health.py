"""``deniable health``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.health_overview import HealthOverview
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.output import (
    explain_option,
    json_option,
    picture_option,
    print_answer,
)
from deniable_aggregator.cli.support.pictures import draw
from deniable_aggregator.cli.support.question_options import (
    days_options,
    question,
    without_key_option,
)
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from deniable_aggregator.asking import HttpSource, ServerAnswer

SUSPICIOUS: Final = 3
"""How the command exits with --fail-if-suspicious or --fail-if-stopped if that is so."""


@click.command(short_help="Says whether reports look like those of devices.")
@click.argument("metric", required=False, shell_complete=complete_metric)
@days_options
@without_key_option
@click.option(
    "--fail-if-suspicious", is_flag=True, help="Exit with 3 if any reports are suspicious."
)
@click.option(
    "--fail-if-stopped",
    is_flag=True,
    help="Exit with 3 if the reports of a metric have stopped; without METRIC.",
)
@explain_option
@json_option
@picture_option
@source_options
def health(
    metric: str | None,
    since: date | None,
    until: date | None,
    without_key: tuple[str, ...],
    fail_if_suspicious: bool,
    fail_if_stopped: bool,
    explain: bool,
    as_json: bool,
    picture: Path | None,
    source: HttpSource,
) -> None:
    """Says whether the reports of METRIC, or of all metrics, look like those of devices.

    The checks test what only noise decides, whatever the values are: how many ones reports have,
    which ones come together, whether rows and cohorts are drawn evenly. They are made for each day
    and for each key. A day is suspicious if a check fails at 4.2 standard deviations.

    Without METRIC there is a line for each metric, suspicious ones first. Reports have stopped if
    the last two whole days have none (eight of a metric with one report a week or once, 32 of one
    with one a month).

    If one key stands out, leave its reports out of all answers, or take them back:

    \b
        deniable health --since -7d
        deniable health --since -1d --fail-if-suspicious --fail-if-stopped
        deniable health theme --picture health.svg
        deniable keys exclude KEY --store deniable.db
        deniable keys include KEY --store deniable.db

    The exit status is 0 whatever is found, or 3 as the options say.
    """  # noqa: D301  click reads the backslash as a sign
    asked = question(DaysQuery, since=since, until=until, without_key=without_key)
    if metric is None and picture is not None:
        raise click.UsageError("--picture is for one metric: give METRIC")
    if metric is None:
        status = _all_metrics(source, asked, as_json, fail_if_suspicious, fail_if_stopped)
    elif fail_if_stopped:
        raise click.UsageError("--fail-if-stopped is for all metrics: leave METRIC out")
    else:
        answered = source.ask(metric, "health", asked)
        if picture is not None:
            draw(answered.decode(Health), picture)
        status = _one_metric(answered, explain, as_json, fail_if_suspicious)
    raise click.exceptions.Exit(status)


def _one_metric(
    answered: ServerAnswer, explain: bool, as_json: bool, fail_if_suspicious: bool
) -> int:
    """Prints the health of a metric, and returns the exit status."""
    from deniable_aggregator.cli.render.answers import print_health

    if as_json:
        print_answer(answered.content)
    else:
        print_health(answered.decode(Health), explain=explain)
    if not fail_if_suspicious:
        return 0
    return SUSPICIOUS if answered.decode(Health).verdict == "suspicious" else 0


def _all_metrics(
    source: HttpSource,
    asked: DaysQuery,
    as_json: bool,
    fail_if_suspicious: bool,
    fail_if_stopped: bool,
) -> int:
    """Prints the health of all metrics, and returns the exit status."""
    from deniable_aggregator.cli.render.health.overview_table import print_overview

    answered = source.ask_about_all("health", asked)
    if as_json:
        print_answer(answered.content)
    else:
        print_overview(answered.decode(HealthOverview))
    if not (fail_if_suspicious or fail_if_stopped):
        return 0
    answer = answered.decode(HealthOverview)
    stopped = any(each.stopped_since is not None for each in answer.metrics)
    suspicious = answer.verdict == "suspicious"
    failed = (fail_if_suspicious and suspicious) or (fail_if_stopped and stopped)
    return SUSPICIOUS if failed else 0
