"""``deniable change``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.answers.questions import ChangeQuery
from deniable_aggregator.answers.trends import Change
from deniable_aggregator.answers.words import FALSE_FINDS
from deniable_aggregator.cli.support.completion import complete_metric
from deniable_aggregator.cli.support.days import period
from deniable_aggregator.cli.support.output import explain_option, picture_option, print_answer
from deniable_aggregator.cli.support.pictures import draw
from deniable_aggregator.cli.support.question_options import (
    question,
    time_options,
    value_lists,
    version_option,
    without_key_option,
)
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.asking import HttpSource
    from deniable_aggregator.dates import DayRange

CHANGED: Final = 3
"""How the command exits with --fail-if-changed if something has changed."""


@click.command(short_help="Tests what has changed in METRIC between two periods.")
@click.argument("metric", shell_complete=complete_metric)
@click.option(
    "--before",
    type=period,
    required=True,
    metavar="FIRST..LAST",
    help="The days of the one period, such as 2026-01-01..2026-01-31 or -14d..-8d, or one day.",
)
@click.option(
    "--after",
    type=period,
    required=True,
    metavar="FIRST..LAST",
    help="The days of the other, such as -7d..yesterday; without LAST until today.",
)
@click.option(
    "--false-finds",
    type=click.Choice(FALSE_FINDS),
    default=FALSE_FINDS[0],
    show_default=True,
    help="How many of the changes called clear may be false.",
)
@click.option(
    "--fail-if-changed",
    is_flag=True,
    help="Exit with 3 if there is a clear change: of a value, the mean or the whole distribution.",
)
@picture_option
@explain_option
@partial(time_options, chosen="Only the N largest changes.")
@version_option
@without_key_option
@source_options
def change(
    metric: str,
    before: DayRange,
    after: DayRange,
    false_finds: str,
    fail_if_changed: bool,
    values: tuple[str, ...],
    candidates: tuple[str, ...],
    margin: str,
    interval: str | None,
    combined: tuple[str, ...],
    top: int | None,
    segment: str | None,
    quantiles: tuple[float, ...],
    picture: Path | None,
    version: str | None,
    without_key: tuple[str, ...],
    explain: bool,
    as_json: bool,
    source: HttpSource,
) -> None:
    """Tests what has changed in METRIC between two periods, and estimates by how much.

    Nobody can tell whether the same devices reported in both. The test assumes that they are
    different, so that it errs no more often than it says in either case.

    \b
        deniable change theme --before 2026-01-01..2026-01-31 --after 2026-02-01..2026-02-28
        deniable change theme --before -14d..-8d --after -7d..yesterday
        deniable change startup_seconds --before 2026-01-05..2026-01-11 \\
            --after 2026-01-12..2026-01-18 --quantile 0.95 --fail-if-changed
    """  # noqa: D301  click reads the backslash as a sign
    asked = question(
        ChangeQuery,
        before=f"{before.since}..{before.until}",
        after=f"{after.since}..{after.until}",
        margin=margin,
        interval=interval,
        false_finds=false_finds,
        top=top,
        segment=segment,
        quantile=quantiles,
        version=version,
        without_key=without_key,
    )
    answered = source.ask(metric, "change", asked, value_lists(values, candidates, combined))
    if as_json:
        print_answer(answered.content)
    else:
        from deniable_aggregator.cli.render.answers import print_change

        print_change(answered.decode(Change), explain=explain)
    if picture is not None:
        draw(answered.decode(Change), picture)
    if fail_if_changed and is_changed(answered.decode(Change)):
        raise click.exceptions.Exit(CHANGED)


def is_changed(answer: Change) -> bool:
    """Whether there is a clear change, by a test that allows for the number of values.

    Quantiles do not count: their intervals are for one quantile each.

    Args:
        answer: the change.
    """
    from deniable_aggregator.cli.render.change_table import with_combined

    return bool(answer.shape and answer.shape.changed) or any(
        row.changed for row in with_combined(answer)
    )
