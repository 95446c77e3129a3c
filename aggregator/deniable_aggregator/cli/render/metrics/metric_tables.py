"""The metrics of a server as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.cli.render.layout import Texts, lay_out
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    literal_console,
    literal_text,
    print_lines,
    print_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    count = len(_grouped(answer))
    print_lines([f"{answer.application}: {count:,} metric{'' if count == 1 else 's'}", ""])
    print_table(metrics_table(answer, literal_console().width))
    print_lines(["", *metrics_notes(answer)])


def metrics_table(answer: Metrics, width: int = UNBROKEN) -> Table:
    """One row per metric.

    Args:
        answer: all versions of all metrics.
        width: of the terminal, in characters.
    """
    metrics = _grouped(answer)
    newest = [_newest(versions) for versions in metrics]
    days = [_days(versions) for versions in metrics]
    reports = [f"{sum(each.reports for each in versions):,}" for versions in metrics]
    per_day = [a_day for _, _, a_day in days]
    epsilons = [f"{each.epsilon:.3g} {EVERY.get(each.every, each.every)}" for each in newest]
    names = [literal_text(each.name) for each in newest]
    types = [_type(versions) for versions in metrics]
    if width >= ROOMY:
        columns = [
            Texts("metric", names),
            Texts("type", types),
            Texts("reports", reports, "right"),
            Texts("a day", per_day, "right"),
            Texts("first day", [first for first, _, _ in days]),
            Texts("last day", [last for _, last, _ in days]),
            Texts("epsilon", epsilons),
            Texts("what it is", [literal_text(each.description) for each in newest], folds=True),
        ]
        return lay_out(columns, None, width)
    about = [
        "\n".join(filter(None, (name, literal_text(each.description), kind)))
        for name, each, kind in zip(names, newest, types, strict=True)
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
    for versions in _grouped(answer):
        name = literal_text(versions[0].name)
        pending = sum(each.pending_reports for each in versions)
        excluded = sum(each.excluded_reports for each in versions)
        if pending:
            yield f"{name}: {pending:,} more reports wait to be counted."
        if excluded:
            yield f"{name}: {excluded:,} reports are left out, as their keys are excluded."
    yield (
        "Reports are of devices and days, not of people. deniable metrics show METRIC says a "
        "metric's values and versions, deniable health whether reports look honest."
    )


def _grouped(answer: Metrics) -> list[list[Metric]]:
    grouped: dict[str, list[Metric]] = {}
    for each in answer.metrics:
        grouped.setdefault(each.name, []).append(each)
    return list(grouped.values())


def _newest(versions: Sequence[Metric]) -> Metric:
    return max(versions, key=lambda each: each.registered)


def _type(versions: Sequence[Metric]) -> str:
    newest = _newest(versions)
    text = str(newest.type)
    if newest.type == "string":
        text += ", discovers" if newest.discovers else ", needs values"
    if newest.segments:
        text += f" by {literal_text(newest.segments.name)}"
    return f"{text}, {len(versions)} versions" if len(versions) > 1 else text


def _days(versions: Sequence[Metric]) -> tuple[str, str, str]:
    """The first and last day with reports, and how many reports there are a day."""
    first = min((each.first_day for each in versions if each.first_day), default=None)
    last = max((each.last_day for each in versions if each.last_day), default=None)
    if first is None or last is None:
        return "none yet", "", ""
    days = (last - first).days + 1
    return str(first), str(last), f"{sum(each.reports for each in versions) / days:,.0f}"
