"""What metrics cost, as a table: a row for each, and one for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.cli.render.layout import Texts, lay_out
from deniable_aggregator.cli.render.output import literal_console, literal_text
from deniable_shared.planning import upper_bounds

if TYPE_CHECKING:
    from rich.table import Table

    from deniable_aggregator.accounting.account import Account, MetricAccount
    from deniable_aggregator.accounting.figures import Figures

TOGETHER = "together"
ANSWERS = "answers"
"""Stands for the reports of a metric that are drawn from permanent answers."""


def account_table(account: Account) -> Table:
    """One row per metric, the last one for all together.

    Args:
        account: of a registry.
    """
    metrics, width = account.metrics, literal_console().width
    rows = [*(each.figures for each in metrics), account.together]
    columns = [
        Texts("metric", [*(literal_text(each.metric) for each in metrics), TOGETHER], folds=True),
        Texts("reports", [*(_reports(each) for each in metrics), ""], "right"),
        Texts("epsilon", [*(upper(each.epsilon) for each in metrics), ""], "right"),
        Texts("sum", list(map(_sum, rows)), "right"),
        Texts("advanced", [upper(each.advanced) for each in rows], "right"),
        Texts("Renyi", [upper(each.renyi) for each in rows], "right"),
        Texts("exact", [upper(each.exact) for each in rows], "right"),
    ]
    if account.shuffled_among is not None:
        columns.append(Texts("shuffled", [upper(each.shuffled) for each in rows], "right"))
    groups_end = [index == len(metrics) - 1 for index in range(len(rows))]
    return lay_out(columns, None, width, groups_end)


def upper(epsilon: float | None) -> str:
    """An upper bound, rounded up; "none" if a method has none."""
    if epsilon is None:
        return "none"
    return upper_bounds.upper(epsilon)


def _reports(metric: MetricAccount) -> str:
    return f"{metric.reports:,}{'*' if metric.permanent else ''}"


def _sum(figures: Figures) -> str:
    return upper(figures.sum)
