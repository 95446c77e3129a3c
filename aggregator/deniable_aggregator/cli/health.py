"""``deniable health``."""

from __future__ import annotations

import click

from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.cli.render.answers import print_health
from deniable_aggregator.cli.render.output import json_option, print_answer
from deniable_aggregator.cli.support.http_client import server_options
from deniable_aggregator.cli.support.question_options import (
    days_options,
    query,
    without_key_option,
)


@click.command()
@click.argument("metric")
@days_options
@without_key_option
@json_option
@server_options
def health(
    metric: str,
    since: str | None,
    until: str | None,
    without_key: tuple[str, ...],
    as_json: bool,
    server: str,
    token: str,
) -> None:
    """Checks whether the reports of METRIC look like those of devices.

    The checks test what only noise decides, whatever the values are: how many ones reports have,
    which ones come together, whether rows and cohorts are drawn evenly. They are made for each day
    and for each key. A day is suspicious if a check fails at 4.2 standard deviations.

    If one key stands out, leave its reports out of all answers, or take them back:

    \b
        deniable health theme
        deniable keys exclude KEY --store deniable.db
        deniable keys include KEY --store deniable.db
    """  # noqa: D301  click reads the backslash as a sign
    parameters = {"since": since, "until": until, "without_key": without_key}
    answered = query(server, token, f"/v1/metrics/{metric}/health", parameters)
    if as_json:
        print_answer(answered.content)
        return
    print_health(answered.decode(Health))
