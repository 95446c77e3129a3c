"""``deniable discover``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.asking.questions import DISCOVER
from deniable_aggregator.cli.support.numbers import IntegerIn
from deniable_aggregator.cli.support.output import print_answer
from deniable_aggregator.cli.support.pictures import draw
from deniable_aggregator.cli.support.progress import progress_bar
from deniable_aggregator.cli.support.question_options import question_options

if TYPE_CHECKING:
    from deniable_aggregator.answers.discoveries import Discovery, DiscoveryQuery
    from deniable_aggregator.cli.support.question_options import Asked

PARTS: Final = 1_000
"""Of the progress bar."""


@click.command()
@question_options(
    DISCOVER, click.option("--top", type=IntegerIn(1), help="Only the N largest.", metavar="N")
)
def discover(asked: Asked[DiscoveryQuery, Discovery], top: int | None) -> None:
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
    with progress_bar("look for strings") as show:
        ended = asked.source.fetch_discovery(
            asked.question,
            asked.query,
            asked.lists,
            lambda part, stage: show(round(PARTS * part), PARTS, stage),
        )
    answer: Discovery = ended.decode(DISCOVER.answer)
    if not answer.result:
        raise click.ClickException("the server's answer has no result")
    if asked.picture is not None:
        draw(answer.result, asked.picture)
    if asked.as_json:
        print_answer(ended.content)
        return
    from deniable_aggregator.media.terminal import print_document
    from deniable_aggregator.telling.tell import tell

    print_document(tell(answer.result, most=top), explain=asked.explain)
