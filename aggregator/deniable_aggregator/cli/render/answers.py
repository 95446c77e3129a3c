"""Prints a whole answer: what to know first, the tables, and what their numbers mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import days_in_words
from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.cli.render.change_table import change_notes, change_table
from deniable_aggregator.cli.render.discovery_table import discovery_notes, discovery_tables
from deniable_aggregator.cli.render.health_tables import (
    contrast_table,
    health_notes,
    health_table,
)
from deniable_aggregator.cli.render.number_tables import (
    distribution_table,
    number_line,
    number_notes,
)
from deniable_aggregator.cli.render.output import literal_console, print_head, print_table
from deniable_aggregator.cli.render.series_table import series_notes, series_table
from deniable_aggregator.cli.render.share_table import estimate_table, notes
from deniable_aggregator.cli.render.version_tables import version_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.answers.discoveries import FoundStrings
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.trends import Change, Series


def print_estimate(answer: Estimate, *, largest_first: bool = False) -> None:
    """Prints the shares of a metric, its mean or its distribution.

    Args:
        answer: the estimate.
        largest_first: sort shares; their intervals stay.
    """
    if largest_first and isinstance(answer, Shares | SegmentShares):
        answer.estimates.sort(key=lambda row: -row.share)
    print_head(answer.notices, f"Days: {days_in_words(answer.days)}.")
    if isinstance(answer, Mean):
        literal_console().print(number_line(answer))
        lines = list(number_notes(answer))
    elif isinstance(answer, Distribution):
        print_table(distribution_table(answer))
        lines = list(number_notes(answer))
    else:
        print_table(estimate_table(answer))
        lines = notes(answer)
    for each in version_tables(answer):
        if isinstance(each, str):
            literal_console().print(each)
        else:
            print_table(each)
    _print_lines(lines)


def print_series(answer: Series) -> None:
    """Prints a metric period by period.

    Args:
        answer: the series.
    """
    print_head(answer.notices, f"Days: {days_in_words(answer.days)}.")
    print_table(series_table(answer, literal_console().width))
    _print_lines(series_notes(answer))


def print_change(answer: Change) -> None:
    """Prints what has changed between two periods.

    Args:
        answer: the change.
    """
    periods = (("Before", answer.before), ("After", answer.after))
    lines = (f"{when}: {days_in_words(period.days)}." for when, period in periods)
    print_head(answer.notices, *lines)
    print_table(change_table(answer, literal_console().width))
    _print_lines(change_notes(answer))


def print_health(answer: Health) -> None:
    """Prints whether reports look honest, day by day and key by key.

    Args:
        answer: the health.
    """
    print_head(answer.notices, f"Days: {days_in_words(answer.days)}.")
    print_table(health_table(answer, literal_console().width))
    if answer.key_contrasts:
        print_table(contrast_table(answer))
    _print_lines(health_notes(answer))


def print_discovery(answer: FoundStrings, top: int | None = None) -> None:
    """Prints strings that nobody listed.

    Args:
        answer: what was found.
        top: only so many strings in each table.
    """
    print_head(answer.notices, f"Days: {days_in_words(answer.days)}.")
    for table in discovery_tables(answer, top):
        print_table(table)
    _print_lines(discovery_notes(answer, top))


def _print_lines(lines: Iterable[str]) -> None:
    console = literal_console()
    for line in lines:
        console.print(line)
