"""``deniable change``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

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

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.asking import HttpSource
    from deniable_aggregator.dates import DayRange

CHANGED: Final = 3
"""How the command exits with --fail-if-changed if something has changed."""

SAMPLED: Final[Margin] = "noise-and-sampling"
"""The margin of --fail-if-changed: devices that differ by chance are not a change."""


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
    help="Exit with 3 if values, the mean or the whole distribution have changed. If nothing has, "
    "at most 5% of such jobs exit with 3. --margin is noise-and-sampling here unless it is given.",
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

    --fail-if-changed is for jobs. With --margin noise values would be tested of the very devices
    that reported, which differ from day to day though nothing has changed: so margins are
    noise-and-sampling then. The test of values, that of the distribution as a whole and that of
    --combined share the level of 5%: with two of them each has 2.5%.

    \b
        deniable change theme --before 2026-01-01..2026-01-31 --after 2026-02-01..2026-02-28
        deniable change theme --before -14d..-8d --after -7d..yesterday
        deniable change startup_seconds --before 2026-01-05..2026-01-11 \\
            --after 2026-01-12..2026-01-18 --quantile 0.95 --fail-if-changed
    """  # noqa: D301  click reads the backslash as a sign
    if fail_if_changed and not _is_chosen("margin"):
        margin = SAMPLED
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


def _is_chosen(option: str) -> bool:
    """Whether whoever calls has given an option."""
    return click.get_current_context().get_parameter_source(option) != ParameterSource.DEFAULT


def is_changed(answer: Change) -> bool:
    """Whether something has changed, by one test at the level of the answer (5%).

    The tests of values, of the distribution as a whole and of values together share that level
    (Bonferroni). Where nothing has changed, the smallest corrected p-value of the values is at most
    a level as often as the level says, with either correction. Quantiles do not count: their
    intervals are for one quantile each.

    Args:
        answer: the change. Whether it tests a population or the devices that reported, its margin
            says.
    """
    p_values = [min((row.adjusted_p_value for row in answer.changes), default=1.0)]
    p_values += [each.p_value for each in (answer.shape, answer.combined) if each]
    return min(p_values) <= answer.test.alpha / len(p_values)
