"""The health of all metrics as a table, suspicious ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.days import days_shortly, key_in_words
from deniable_aggregator.answers.words import VERDICT_WORDS
from deniable_aggregator.cli.render.head import notice_lines
from deniable_aggregator.cli.render.layout import Texts, lay_out
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    literal_console,
    literal_text,
    print_lines,
    print_table,
)
from deniable_aggregator.sentences.checks import CHECK_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from deniable_aggregator.answers.common import NamedKey
    from deniable_aggregator.answers.health_overview import HealthOverview, MetricHealth

_NARROW: Final = 76
"""Narrower tables have no numbers of reports."""

_MOST_NAMED: Final = 10
"""Of metrics without reports."""


def print_overview(answer: HealthOverview) -> None:
    """Prints what to know first, a line for each metric, and where to look next.

    Args:
        answer: the health of all metrics.
    """
    if not answer.metrics:
        print_lines(["There are no metrics yet."])
        return
    heading = f"{answer.application}: do the reports of all metrics look honest?"
    print_lines([*notice_lines(answer.notices), heading, f"Days: {_asked(answer)}.", ""])
    print_table(overview_table(answer, literal_console().width))
    print_lines(["", *overview_notes(answer)])


def overview_table(answer: HealthOverview, width: int = UNBROKEN) -> Table:
    """One row per metric that has ever had reports.

    Args:
        answer: the health of all metrics.
        width: of the terminal, in characters.
    """
    metrics = [each for each in answer.metrics if each.last_day is not None]
    comma = ", " if width >= WIDE else ",\n"
    names = [literal_text(each.metric) for each in metrics]
    looks = [VERDICT_WORDS[each.verdict] for each in metrics]
    found = Texts("found", list(map(_found, metrics)), folds=True)
    last = Texts("last reports", [_last(each, comma) for each in metrics])
    if width < _NARROW:
        both = [f"{name}\n{look}" for name, look in zip(names, looks, strict=True)]
        return lay_out([Texts("metric,\nlook", both), last, found], None, width)
    reports = Texts("reports", [f"{each.reports:,}" for each in metrics], "right")
    columns = [Texts("metric", names), Texts("look", looks), reports, last, found]
    return lay_out(columns, None, width)


def overview_notes(answer: HealthOverview) -> Iterator[str]:
    """What could not be looked at, and what to do next; a line each.

    Args:
        answer: the health of all metrics.
    """
    for each in answer.metrics:
        name = literal_text(each.metric)
        # That there are no reports is to be seen in the table.
        if each.unanswered is not None and each.reports:
            yield f"{name}: {each.unanswered}"
        if each.not_checked:
            yield (
                f"{name}: {each.not_checked:,} earlier days were not checked. Narrow the days, or "
                f"look at deniable health {name}."
            )
    silent = [literal_text(each.metric) for each in answer.metrics if each.last_day is None]
    if silent:
        more = f" and {len(silent) - _MOST_NAMED:,} more" if silent[_MOST_NAMED:] else ""
        yield f"No reports yet: {', '.join(silent[:_MOST_NAMED])}{more}."
    for each in answer.metrics:
        if each.verdict in ("suspicious", "uneven"):
            yield f"Look at deniable health {literal_text(each.metric)}."


def _asked(answer: HealthOverview) -> str:
    if answer.since is None:
        return "all" if answer.until is None else f"until {answer.until}"
    return f"{answer.since} to {answer.until or answer.today}"


def _last(each: MetricHealth, comma: str) -> str:
    return f"{each.last_day}{f'{comma}stopped' if each.stopped_since else ''}"


def _found(each: MetricHealth) -> str:
    """What is odd, whose reports these are and on which days, such as "too many ones: partner"."""
    if each.worst is None:
        return "no reports in these days" if each.unanswered and each.last_day else ""
    parts = []
    if each.verdict == "suspicious":
        parts.append(
            f"{CHECK_WORDS[each.worst.result.check]}, {days_shortly(each.suspicious_days)}"
        )
        if each.suspicious_keys:
            parts.append(f"key {_names(each.suspicious_keys)}")
    uneven = [key for key in each.uneven_keys if key not in each.suspicious_keys]
    if uneven:
        parts.append(f"{_names(uneven)} answers unlike the other keys")
    return "; ".join(parts)


def _names(keys: Sequence[NamedKey]) -> str:
    return ", ".join(literal_text(key_in_words(key.key, key.label)) for key in keys)
