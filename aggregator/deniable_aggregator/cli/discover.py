"""``deniable discover``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.discoveries import Discovery, DiscoveryLists
from deniable_aggregator.cli.render.answers import print_discovery
from deniable_aggregator.cli.render.output import json_option, print_answer
from deniable_aggregator.cli.support.http_client import call, server_options
from deniable_aggregator.cli.support.listed_values import values_option
from deniable_aggregator.cli.support.progress import progress_bar
from deniable_aggregator.cli.support.question_options import (
    days_options,
    version_option,
    without_key_option,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from deniable_aggregator.asking.connection import ServerAnswer

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 2.0
PARTS: Final = 1_000
"""Of the progress bar."""


@click.command()
@click.argument("metric")
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
@click.option("--top", type=click.IntRange(1), help="Only the N largest.", metavar="N")
@json_option
@version_option
@without_key_option
@server_options
def discover(
    metric: str,
    since: str | None,
    until: str | None,
    hints: tuple[str, ...],
    deny: tuple[str, ...],
    top: int | None,
    version: str | None,
    without_key: tuple[str, ...],
    as_json: bool,
    server: str,
    token: str,
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
        deniable discover search_term --json > found.json
    """  # noqa: D301  click reads the backslash as a sign
    named = {"since": since, "until": until, "version": version}
    params = [(name, value) for name, value in named.items() if value is not None]
    params += [("without_key", key) for key in without_key]
    lists = DiscoveryLists(hints, deny)
    path = f"/v1/metrics/{metric}/discoveries"
    body = None if lists == DiscoveryLists() else lists
    asked = call(server, token, "POST", path, params=params, json=body)
    ended = _wait(server, token, path, asked)
    answer: Discovery = ended.decode(Discovery)
    if answer.state == "failed":
        raise click.ClickException(visible(f"the run has failed. {answer.failure}"))
    if as_json:
        print_answer(ended.content)
        return
    found = answer.result
    if not found:
        raise click.ClickException("the server's answer has no result")
    print_discovery(found, top)


def _wait(server: str, token: str, path: str, asked: ServerAnswer) -> ServerAnswer:
    """Asks again until the run has ended."""
    answer: Discovery = asked.decode(Discovery)
    pause = FIRST_PAUSE_SECONDS
    with progress_bar("look for strings") as show:
        while answer.state in ("waiting", "running"):
            stage = answer.stage if answer.state == "running" else "wait to begin"
            show(round(PARTS * answer.progress), PARTS, visible(stage) or "look for strings")
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
            asked = call(server, token, "GET", f"{path}/{answer.id}")
            answer = asked.decode(Discovery)
    return asked
