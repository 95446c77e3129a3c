"""The health of all metrics as a table, suspicious ones first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.days import days_shortly, key_in_words
from deniable_aggregator.cli.render.head import notice_lines
from deniable_aggregator.cli.render.health_tables import CHECK_WORDS, VERDICT_WORDS
from deniable_aggregator.cli.render.layout import Texts, lay_out
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    literal_console,
    literal_text,
    print_lines,
    print_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.health_overview import HealthOverview, MetricHealth


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
    """One row per metric.

    Args:
        answer: the health of all metrics.
        width: of the terminal, in characters.
    """
    metrics = answer.metrics
    comma = ", " if width >= WIDE else ",\n"
    columns = [
        Texts("metric", [literal_text(each.metric) for each in metrics]),
        Texts("look", [VERDICT_WORDS[each.verdict] for each in metrics]),
        Texts("worst check", list(map(_worst, metrics)), folds=True),
        Texts("keys that\nstand out", [_keys(each, comma) for each in metrics]),
    ]
    days = [days_shortly(each.suspicious_days) for each in metrics]
    if any(days):
        broken = days if width >= WIDE else [text.replace(", ", ",\n") for text in days]
        columns.append(Texts("suspicious days", broken))
    if width >= WIDE:
        columns.append(Texts("reports", [f"{each.reports:,}" for each in metrics], "right"))
    columns.append(Texts("last reports", list(map(_last, metrics))))
    return lay_out(columns, None, width)


def overview_notes(answer: HealthOverview) -> Iterator[str]:
    """What could not be looked at, and what to do next; a line each.

    Args:
        answer: the health of all metrics.
    """
    for each in answer.metrics:
        name = literal_text(each.metric)
        # That there are no reports at all is to be seen in the table.
        if each.unanswered is not None and each.last_day is not None:
            yield f"{name}: {each.unanswered}"
        if each.not_checked:
            yield (
                f"{name}: {each.not_checked:,} earlier days were not checked. Narrow the days, or "
                f"look at deniable health {name}."
            )
    for each in answer.metrics:
        if each.verdict in ("suspicious", "uneven"):
            yield f"Look at deniable health {literal_text(each.metric)}."


def _asked(answer: HealthOverview) -> str:
    if answer.since is None:
        return "all" if answer.until is None else f"until {answer.until}"
    return f"{answer.since} to {answer.until or answer.today}"


def _worst(each: MetricHealth) -> str:
    if each.worst is None:
        return ""
    found = each.worst.result
    return f"{CHECK_WORDS[found.check]}, {'passed' if found.verdict == 'ok' else 'failed'}"


def _keys(each: MetricHealth, comma: str) -> str:
    keys = (*each.suspicious_keys, *each.uneven_keys)
    return comma.join(literal_text(key_in_words(key.key, key.label)) for key in keys)


def _last(each: MetricHealth) -> str:
    if each.last_day is None:
        return "none yet"
    return f"{each.last_day}{', stopped' if each.stopped_since else ''}"
