"""Prints a whole answer: what to know first, the tables, and what their numbers mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.cli.render.change_table import (
    change_notes,
    change_table,
)
from deniable_aggregator.cli.render.discovery_table import (
    discovery_notes,
    discovery_tables,
)
from deniable_aggregator.cli.render.head import counted, days_line, notice_lines, title
from deniable_aggregator.cli.render.health.contrast_table import contrast_table
from deniable_aggregator.cli.render.health.day_table import (
    health_notes,
    health_summary,
    health_table,
)
from deniable_aggregator.cli.render.number_tables import (
    distribution_table,
    number_line,
    number_notes,
    quantiles_table,
)
from deniable_aggregator.cli.render.output import literal_console, print_lines, print_table
from deniable_aggregator.cli.render.series_table import (
    series_notes,
    series_table,
)
from deniable_aggregator.cli.render.share_notes import notes, picked_line
from deniable_aggregator.cli.render.share_table import share_tables
from deniable_aggregator.cli.render.version_tables import version_tables
from deniable_aggregator.sentences import explanation, finding
from deniable_aggregator.sentences.checks import checks_explained
from deniable_aggregator.sentences.discoveries import discovery_explanation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from deniable_aggregator.answers.discoveries import FoundStrings
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.trends import Change, Series

NOT_PEOPLE: Final = (
    "Reports, not people: a device reports once a day, week or month, as the metric says, and over "
    "several of them it counts several times."
)


def print_estimate(answer: Estimate, *, largest_first: bool = False, explain: bool = False) -> None:
    """Prints the shares of a metric, its mean or its distribution.

    Args:
        answer: the estimate.
        largest_first: sort shares; their intervals stay.
        explain: also print what the numbers mean.
    """
    if largest_first and isinstance(answer, Shares | SegmentShares):
        answer.estimates.sort(key=lambda row: -row.share)
    width = literal_console().width
    print_lines(_head_of_estimate(answer))
    if isinstance(answer, Mean):
        print_lines([number_line(answer)])
    elif isinstance(answer, Distribution):
        print_table(distribution_table(answer, width))
        print_lines(["", number_line(answer)])
        print_table(quantiles_table(answer, width))
    else:
        _print_parts(share_tables(answer, width))
    _print_parts(version_tables(answer, width))
    if isinstance(answer, Mean | Distribution):
        _print_below(number_notes(answer), explanation(answer), explain=explain)
    else:
        _print_below(notes(answer), explanation(answer), explain=explain)


def _head_of_estimate(answer: Estimate) -> Iterator[str]:
    yield from notice_lines(answer.notices)
    also = ""
    if isinstance(answer, SegmentShares):
        also = f"where {answer.segment.name} is {answer.segment.value}"
    yield title(answer.metric, answer.description, also)
    yield finding(answer)
    yield days_line(answer.days, answer.health)
    yield counted(answer.reports, answer.versions)
    if isinstance(answer, Shares | SegmentShares) and (line := picked_line(answer)):
        yield line
    yield ""


def print_series(answer: Series, *, explain: bool = False) -> None:
    """Prints a metric period by period.

    Args:
        answer: the series.
        explain: also print what the numbers mean.
    """
    print_lines(
        [
            *notice_lines(answer.notices),
            title(answer.metric, answer.description, f"by {answer.by}"),
            finding(answer),
            days_line(answer.days, answer.health),
            counted(answer.reports, answer.versions),
            "",
        ]
    )
    print_table(series_table(answer, literal_console().width))
    _print_below(series_notes(answer), explanation(answer), explain=explain)


def print_change(answer: Change, *, explain: bool = False) -> None:
    """Prints what has changed between two periods.

    Args:
        answer: the change.
        explain: also print what the numbers mean.
    """
    before, after = answer.before, answer.after
    print_lines(
        [
            *notice_lines(answer.notices),
            title(answer.metric, answer.description, "before and after"),
            finding(answer),
            days_line(before.days, answer.health.before, "Before"),
            days_line(after.days, answer.health.after, "After"),
            f"{before.reports:,} reports before, {after.reports:,} after.",
            "",
        ]
    )
    print_table(change_table(answer, literal_console().width))
    _print_below(change_notes(answer), explanation(answer), explain=explain)


def print_health(answer: Health, *, explain: bool = False) -> None:
    """Prints whether reports look honest, day by day and key by key.

    Args:
        answer: the health.
        explain: also print what the numbers mean.
    """
    width = literal_console().width
    print_lines(
        [
            *notice_lines(answer.notices),
            title(answer.metric, "", "do its reports look honest?"),
            finding(answer),
            days_line(answer.days, health_summary(answer)),
            "",
        ]
    )
    print_table(health_table(answer, width))
    if answer.key_contrasts:
        print_lines(["", "Each key against all others, on the same days"])
        print_table(contrast_table(answer, width))
    _print_below(health_notes(answer), checks_explained(answer), explain=explain)


def print_discovery(answer: FoundStrings, top: int | None = None, *, explain: bool = False) -> None:
    """Prints strings that nobody listed.

    Args:
        answer: what was found.
        top: only so many strings in each table.
        explain: also print what the numbers mean.
    """
    print_lines(
        [
            *notice_lines(answer.notices),
            title(answer.metric, answer.description, "found without a list"),
            finding(answer),
            days_line(answer.days, answer.health),
            counted(answer.reports, [answer.version]),
            "",
        ]
    )
    _print_parts(discovery_tables(answer, top, literal_console().width))
    below = discovery_notes(answer, top)
    _print_below(below, discovery_explanation(answer), explain=explain)


def _print_below(short: Iterable[str], long: Iterable[str], *, explain: bool) -> None:
    """Prints the lines below the tables, and what the numbers mean, or how to see that."""
    print_lines(["", *short])
    print_lines(["", NOT_PEOPLE, *long] if explain else ["What these numbers mean: add --explain."])


def _print_parts(parts: Iterable[Table | str]) -> None:
    for each in parts:
        if isinstance(each, str):
            print_lines(["", each])
        else:
            print_table(each)
