"""``deniable change``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click
import msgspec
from click.core import ParameterSource

from deniable_aggregator.asking.questions import CHANGE
from deniable_aggregator.cli.support.question_options import question_options

if TYPE_CHECKING:
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.questions import ChangeQuery
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.cli.support.question_options import Asked

CHANGED: Final = 3
"""How the command exits with --fail-if-changed if something has changed."""

SAMPLED: Final[Margin] = "noise-and-sampling"
"""The margin of --fail-if-changed: devices that differ by chance are not a change."""


@click.command(short_help="Tests what has changed in METRIC between two periods.")
@question_options(
    CHANGE,
    click.option(
        "--fail-if-changed",
        is_flag=True,
        help="Exit with 3 if values, the mean or the whole distribution have changed. If nothing "
        "has, at most 5% of such jobs exit with 3. --margin is noise-and-sampling here unless it "
        "is given.",
    ),
)
def change(asked: Asked[ChangeQuery, Answer], fail_if_changed: bool) -> None:
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
        asked = replace(asked, query=msgspec.structs.replace(asked.query, margin=SAMPLED))
    came = asked.fetch()

    asked.show(came)
    if fail_if_changed and is_changed(came.decode(CHANGE.answer)):
        raise click.exceptions.Exit(CHANGED)


def _is_chosen(option: str) -> bool:
    """Whether whoever calls has given an option."""
    return click.get_current_context().get_parameter_source(option) != ParameterSource.DEFAULT


def is_changed(answer: Answer) -> bool:
    """Whether something has changed, by one test at the level of the answer (5%).

    The tests of values, of the distribution as a whole and of values together share that level
    (Bonferroni). Where nothing has changed, the smallest corrected p-value of the values is at most
    a level as often as the level says, with either correction. Quantiles do not count: their
    intervals are for one quantile each.

    Args:
        answer: the change. Whether it tests a population or the devices that reported, its margin
            says.
    """
    values = answer.of("difference in share", "difference in mean")
    p_values = [min((each.adjusted_p_value or 0.0 for each in values), default=1.0)]
    p_values += [each.p_value or 0.0 for each in answer.of("distance", "difference in combined")]
    assert answer.head.detection is not None
    return min(p_values) <= answer.head.detection.alpha / len(p_values)
