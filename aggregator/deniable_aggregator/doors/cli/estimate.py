"""``deniable estimate``, ``series``, ``change``, ``compare``, ``health`` and ``discover``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.answers.health_overview import HealthOverview
from deniable_aggregator.asking.questions import (
    CHANGE,
    COMPARE,
    DISCOVER,
    ESTIMATE,
    HEALTH,
    HEALTH_OVERVIEW,
    SERIES,
)
from deniable_aggregator.doors.cli.output import draw, print_answer
from deniable_aggregator.doors.cli.parameters import IntegerIn
from deniable_aggregator.doors.cli.question_options import Asked, question_command, question_options
from deniable_aggregator.doors.cli.server_options import progress_bar

if TYPE_CHECKING:
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.discoveries import Discovery, DiscoveryQuery
    from deniable_aggregator.answers.measured import Measure
    from deniable_aggregator.answers.questions import (
        ChangeQuery,
        CompareQuery,
        DaysQuery,
        SeriesQuery,
    )
    from deniable_aggregator.telling.tables import Order


@question_command(
    ESTIMATE,
    click.option(
        "--sort",
        "largest_first",
        is_flag=True,
        help="The largest first in the table. Unlike with --top, all are shown and intervals stay.",
    ),
)
def estimate(answer: Answer, *, largest_first: bool, explain: bool) -> None:
    """Estimates METRIC: which values, what share, how sure.

    Shares are raw: unbiased, not clipped and not rescaled. They may fall below zero, and need not
    add up to one.

    Which interval is which (--interval), all at 95%:

    \b
        one     covers one value that you had in mind before looking. The
                default for whole metrics and lists of values.
        all     covers all values asked for together (Bonferroni): for "none
                of these is above 1%". Wider.
        picked  covers 95% of the values shown, although they are shown because
                their estimates are large (false coverage rate). The default
                with --top and --detected. Plain intervals of such values cover
                less.

    Where few reports are expected, intervals are exact binomial ones. They allow for the noise of
    the very devices that reported; --margin noise-and-sampling adds the error of having drawn these
    devices from a population.

    Values stand in the order of the registry or of your list; --sort puts the largest first. What
    can't be told from zero is shown by its upper end, such as "below 0.6%".

    A value is told from zero if a test finds it, corrected for all values asked for: few keeps
    the share of false ones below 5% on average, none the probability of any.

    Of a number it prints the mean, of a distribution the histogram, the mean and quantiles, all for
    the population. --reconstruction ems is for histograms of many bins that are known to be smooth.

    With --segment it also says how far the values within the segment are from those of all devices,
    and warns of a segment whose devices are nearly all alike: what is true of nearly a whole
    segment is learnt of each of its devices, whatever epsilon is.

    --postprocess adds a column, the raw one stays: norm-sub (adjusted to add up to 100%, for whole
    distributions and combined shares; the default for these), power (if the shares follow a power
    law), base-cut (only what stands out), ibu (most likely shares). For the largest values raw is
    best.

    \b
        deniable estimate theme
        deniable estimate emoji --candidates list:emoji --top 20
        deniable estimate emoji --candidates list:emoji --candidates mine.txt
        deniable lists countries | deniable estimate country --candidates -
        deniable estimate carrier --combined AA,DL --margin noise-and-sampling
        deniable estimate theme --segment beta
        deniable estimate age_group --segment beta --ordered --closeness 0.3
        deniable estimate theme --sort --without-key partner
        deniable estimate theme --split version
        deniable estimate startup_seconds --quantile 0.5 --quantile 0.999
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.media.terminal import print_document
    from deniable_aggregator.telling.tell import tell

    order: Order = "largest" if largest_first else "listed"
    print_document(tell(answer, order=order), explain=explain)


CHANGED: Final = 3
"""How the command exits with --fail-if-changed if something has changed."""


@click.command(short_help="Tests what has changed in METRIC between two periods.")
@question_options(
    CHANGE,
    click.option(
        "--fail-if-changed",
        is_flag=True,
        help="Exit with 3 if there is a clear change of values, the mean or the whole "
        "distribution. If nothing has changed, at most 5% of such jobs exit with 3.",
    ),
)
def change(asked: Asked[ChangeQuery, Answer], fail_if_changed: bool) -> None:
    """Tests what has changed in METRIC between two periods, and estimates by how much.

    Nobody can tell whether the same devices reported in both. The test assumes that they are
    different, so that it errs no more often than it says in either case.

    A change is clear beyond noise and sampling: other devices report on other days though nothing
    has changed. The test of values or of the mean, that of the distribution as a whole and that of
    --combined share the level of 5%: with two of them each has 2.5%.

    \b
        deniable change theme --before 2026-01-01..2026-01-31 \\
            --after 2026-02-01..2026-02-28
        deniable change theme --before -14d..-8d --after -7d..yesterday
        deniable change startup_seconds --before 2026-01-05..2026-01-11 \\
            --after 2026-01-12..2026-01-18 --quantile 0.95 --fail-if-changed
    """  # noqa: D301  click reads the backslash as a sign
    came = asked.fetch()

    asked.show(came)
    if fail_if_changed and is_changed(came.decode(CHANGE.answer)):
        raise click.exceptions.Exit(CHANGED)


@click.command(short_help="Compares two segments, versions or keys of METRIC.")
@question_options(COMPARE)
def compare(asked: Asked[CompareQuery, Answer]) -> None:
    """Compares two segments, versions or keys of METRIC, or groups of keys: second minus first.

    The same test, intervals and words as of deniable change: a difference is clear beyond noise and
    sampling. Two segments of the same reports have their errors in common, which is allowed for.

    A side with fewer than 100 reports (part_reports of the server) is refused.

    \b
        deniable compare crash --key release-41 --key release-42 --since -7d
        deniable compare crash --key eu+us --key asia
        deniable compare mode --segment beta --segment stable
        deniable compare startup_seconds --version 3f2a --version 90cc
    """  # noqa: D301  click reads the backslash as a sign
    asked.show(asked.fetch())


def is_changed(answer: Answer) -> bool:
    """Whether there is a clear change, as of `telling.clear_changes`.

    Quantiles do not count: their intervals are for one quantile each.

    Args:
        answer: the change.
    """
    measures: tuple[Measure, ...] = (
        "difference in share", "difference in mean", "difference in combined", "distance",
    )  # fmt: skip
    return any(each.told for each in answer.of(*measures))


@click.command(short_help="Estimates METRIC period by period.")
@question_options(SERIES)
def series(asked: Asked[SeriesQuery, Answer]) -> None:
    """Estimates METRIC period by period, each from its own reports alone.

    Whether two periods differ is not to be read from the overlap of their intervals: ask deniable
    change, or with --alarm of all periods at once whether the distribution has changed: then the
    exit status is 3. Of series in which nothing changes, at most 5% raise an alarm. A period that
    is not over is not tested.

    \b
        deniable series theme --by week
        deniable series emoji --value 🐝 --value 🌻 --picture emoji.svg
        deniable series theme --by week --since -8w --alarm
        deniable series startup_seconds --by month --quantile 0.5 --quantile 0.95
    """  # noqa: D301  click reads the backslash as a sign
    came = asked.fetch()

    asked.show(came)
    alarm = came.decode(SERIES.answer).head.alarm if asked.query.alarm else None
    if alarm is not None and alarm.raised:
        raise click.exceptions.Exit(CHANGED)


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

    def show_all(answer: HealthOverview) -> None:
        from deniable_aggregator.media.terminal import print_document
        from deniable_aggregator.telling.health import overview_document

        print_document(overview_document(answer))

    asked.show(came, show_all if of_all else None)
    if not (fail_if_suspicious or fail_if_stopped):
        return
    answer: Answer | HealthOverview = came.decode(asked.question.answer)
    if isinstance(answer, HealthOverview):
        verdict = answer.verdict
        stopped = any(metric.stopped_since is not None for metric in answer.metrics)
    else:
        verdict, stopped = answer.head.verdict, False
    if (fail_if_suspicious and verdict == "suspicious") or (fail_if_stopped and stopped):
        raise click.exceptions.Exit(SUSPICIOUS)


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
