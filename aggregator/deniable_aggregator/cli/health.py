"""``deniable health``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.answers.health_overview import HealthOverview
from deniable_aggregator.asking.questions import HEALTH, HEALTH_OVERVIEW
from deniable_aggregator.cli.support.question_options import question_options

if TYPE_CHECKING:
    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.questions import DaysQuery
    from deniable_aggregator.cli.support.question_options import Asked

SUSPICIOUS: Final = 3
"""How the command exits with --fail-if-suspicious or --fail-if-stopped if that is so."""


@click.command(short_help="Says whether reports look like those of devices.")
@question_options(
    HEALTH,
    click.option(
        "--fail-if-suspicious", is_flag=True, help="Exit with 3 if any reports are suspicious."
    ),
    click.option(
        "--fail-if-stopped",
        is_flag=True,
        help="Exit with 3 if the reports of a metric have stopped; without METRIC.",
    ),
    of_all=HEALTH_OVERVIEW,
)
def health(asked: Asked[DaysQuery, Any], fail_if_suspicious: bool, fail_if_stopped: bool) -> None:
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
    of_all = asked.question is HEALTH_OVERVIEW
    if of_all and asked.picture is not None:
        raise click.UsageError("--picture is for one metric: give METRIC")
    if fail_if_stopped and not of_all:
        raise click.UsageError("--fail-if-stopped is for all metrics: leave METRIC out")
    came = asked.fetch()

    def tell(answer: Any) -> None:
        from deniable_aggregator.cli.render.answers import print_health
        from deniable_aggregator.cli.render.health.overview_table import print_overview

        if of_all:
            print_overview(answer)
        else:
            print_health(answer, explain=asked.explain)

    asked.show(came, tell)
    if not (fail_if_suspicious or fail_if_stopped):
        return
    answer: Health | HealthOverview = came.decode(asked.question.answer)
    metrics = answer.metrics if isinstance(answer, HealthOverview) else []
    stopped = any(each.stopped_since is not None for each in metrics)
    if (fail_if_suspicious and answer.verdict == "suspicious") or (fail_if_stopped and stopped):
        raise click.exceptions.Exit(SUSPICIOUS)
