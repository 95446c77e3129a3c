"""The metrics of a server as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.versions import versions_by_name, whole_metric
from deniable_aggregator.cli.render.layout import Texts, lay_out
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    literal_console,
    literal_text,
    print_lines,
    print_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.administration import Metric, Metrics

ROOMY: Final = 140
"""Narrower tables have descriptions below the names."""

EVERY: Final = {"day": "a day", "week": "a week", "month": "a month", "once": "once"}
"""How often a device reports."""

_EMPTY: Final = (
    "There are no metrics yet. With a key of scope admin: deniable metrics register metrics.toml"
)


def print_metrics(answer: Metrics) -> None:
    """Prints one line for each metric, its versions together.

    Args:
        answer: all versions of all metrics.
    """
    if not answer.metrics:
        print_lines([_EMPTY])
        return
    count = len(versions_by_name(answer.metrics))
    print_lines([f"{answer.application}: {count:,} metric{'' if count == 1 else 's'}", ""])
    print_table(metrics_table(answer, literal_console().width))
    print_lines(["", *metrics_notes(answer)])


def metrics_table(answer: Metrics, width: int = UNBROKEN) -> Table:
    """One row per metric.

    Args:
        answer: all versions of all metrics.
        width: of the terminal, in characters.
    """
    versions = versions_by_name(answer.metrics)
    metrics = [whole_metric(some) for some in versions.values()]
    days = [_days(each) for each in metrics]
    reports = [f"{each.reports:,}" for each in metrics]
    per_day = [a_day for _, _, a_day in days]
    epsilons = [f"{each.epsilon:.3g} {EVERY.get(each.every, each.every)}" for each in metrics]
    names = [literal_text(each.name) for each in metrics]
    types = [_type(each, len(versions[each.name])) for each in metrics]
    if width >= ROOMY:
        columns = [
            Texts("metric", names),
            Texts("type", types),
            Texts("reports", reports, "right"),
            Texts("a day", per_day, "right"),
            Texts("first day", [first for first, _, _ in days]),
            Texts("last day", [last for _, last, _ in days]),
            Texts("epsilon", epsilons),
            Texts("what it is", [literal_text(each.description) for each in metrics], folds=True),
        ]
        return lay_out(columns, None, width)
    about = [
        "\n".join(filter(None, (name, literal_text(each.description), kind)))
        for name, each, kind in zip(names, metrics, types, strict=True)
    ]
    columns = [
        Texts("metric", about, folds=True),
        Texts("reports,\na day", list(map("\n".join, zip(reports, per_day, strict=True))), "right"),
        Texts("first and\nlast day", [f"{first}\n{last}" for first, last, _ in days]),
        Texts("epsilon", epsilons),
    ]
    return lay_out(columns, None, width, [True] * len(metrics))


def metrics_notes(answer: Metrics) -> Iterator[str]:
    """What waits and what is left out, and where there is more; a line each.

    Args:
        answer: all versions of all metrics.
    """
    for each in map(whole_metric, versions_by_name(answer.metrics).values()):
        name = literal_text(each.name)
        if each.pending_reports:
            yield f"{name}: {each.pending_reports:,} more reports wait to be counted."
        if each.excluded_reports:
            yield (
                f"{name}: {each.excluded_reports:,} reports are left out, as their keys are "
                "excluded."
            )
    yield (
        "Reports are of devices and days, not of people. deniable metrics show METRIC says a "
        "metric's values and versions, deniable health whether reports look honest."
    )


def _type(metric: Metric, versions: int) -> str:
    text = str(metric.type)
    if metric.type == "string":
        text += ", discovers" if metric.discovers else ", needs values"
    if metric.segments:
        text += f" by {literal_text(metric.segments.name)}"
    return f"{text}, {versions} versions" if versions > 1 else text


def _days(metric: Metric) -> tuple[str, str, str]:
    """The first and last day with reports, and how many reports there are a day."""
    if metric.first_day is None or metric.last_day is None:
        return "none yet", "", ""
    days = (metric.last_day - metric.first_day).days + 1
    return str(metric.first_day), str(metric.last_day), f"{metric.reports / days:,.0f}"
