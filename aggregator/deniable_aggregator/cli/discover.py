"""``deniable discover``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.discoveries import Discovery, DiscoveryLists, DiscoveryQuery
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.listed_values import values_option
from deniable_aggregator.cli.support.numbers import IntegerIn
from deniable_aggregator.cli.support.output import (
    explain_option,
    json_option,
    picture_option,
    print_answer,
)
from deniable_aggregator.cli.support.pictures import draw
from deniable_aggregator.cli.support.progress import progress_bar
from deniable_aggregator.cli.support.question_options import (
    days_options,
    question,
    version_option,
    without_key_option,
)
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from deniable_aggregator.asking import HttpSource

PARTS: Final = 1_000
"""Of the progress bar."""


@click.command()
@click.argument("metric", shell_complete=complete_metric)
@days_options
@values_option(
    "--hints",
    "Strings that may be among them: these are found at smaller shares. A file with one per line, "
    "- for standard input, or list:NAME for a list that comes with Deniable (deniable lists). What "
    "the last window has found is a hint without that.",
)
@values_option(
    "--deny",
    "Strings that are not shown, given in the same way, beside the server's deny list; * stands "
    "for any characters, ? for one.",
)
@click.option("--top", type=IntegerIn(1), help="Only the N largest.", metavar="N")
@explain_option
@json_option
@picture_option
@version_option
@without_key_option
@source_options
def discover(
    metric: str,
    since: date | None,
    until: date | None,
    hints: tuple[str, ...],
    deny: tuple[str, ...],
    top: int | None,
    version: str | None,
    without_key: tuple[str, ...],
    explain: bool,
    as_json: bool,
    picture: Path | None,
    source: HttpSource,
) -> None:
    """Finds the popular strings of METRIC, though nobody listed them.

    The metric has type = "string" and discover = true in metrics.toml. The server looks for its
    strings, which takes seconds to a minute, and keeps the result: asking again is free until
    there are other reports. If you interrupt the command the server goes on.

    A string is shown if its reports stand out from the noise: at most 5% of those shown are
    expected to be held by no device. Longer strings need larger shares; of those too long only the
    first letters are shown, with an ellipsis and in a table of their own.

    Ask week by week to see what is new and what is gone: the result of days before these is what
    it is compared with.

    \b
        deniable discover search_term
        deniable discover search_term --since 2026-11-16 --until 2026-11-22
        deniable discover search_term --hints products.txt --deny rude.txt
        deniable discover search_term --picture found.svg
        deniable discover search_term --json > found.json
    """  # noqa: D301  click reads the backslash as a sign
    asked = question(
        DiscoveryQuery, since=since, until=until, version=version, without_key=without_key
    )
    with progress_bar("look for strings") as show:
        ended = source.ask_discovery(
            metric,
            asked,
            DiscoveryLists(hints, deny),
            lambda part, stage: show(round(PARTS * part), PARTS, stage),
        )
    answer: Discovery = ended.decode(Discovery)
    if not answer.result:
        raise click.ClickException("the server's answer has no result")
    if picture is not None:
        draw(answer.result, picture)
    if as_json:
        print_answer(ended.content)
        return
    from deniable_aggregator.cli.render.answers import print_discovery

    print_discovery(answer.result, top, explain=explain)
