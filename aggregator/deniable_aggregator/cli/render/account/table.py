"""What metrics cost, as a table: a row for each, and one for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.telling.document import Column, Row, Table
from deniable_shared.planning import upper_bounds

if TYPE_CHECKING:
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
    metrics = account.metrics
    headings = ["metric", "reports", "epsilon", "sum", "advanced", "Renyi", "exact"]
    named = [(each.metric, _reports(each), upper(each.epsilon)) for each in metrics]
    figures = [each.figures for each in metrics]
    shuffled = account.shuffled_among is not None
    rows = [
        Row(
            cells=(*names, *_figures(each, shuffled=shuffled)),
            group_ends=place == len(metrics) - 1,
        )
        for place, (names, each) in enumerate(
            zip([*named, (TOGETHER, "", "")], [*figures, account.together], strict=True)
        )
    ]
    return Table(
        name="account",
        caption="What reports cost",
        columns=[
            Column(heading=each, words=each == "metric", folds=each == "metric")
            for each in [*headings, *(["shuffled"] if shuffled else [])]
        ],
        rows=rows,
    )


def _figures(figures: Figures, *, shuffled: bool) -> list[str]:
    methods = [figures.sum, figures.advanced, figures.renyi, figures.exact]
    return [upper(each) for each in [*methods, *([figures.shuffled] if shuffled else [])]]


def upper(epsilon: float | None) -> str:
    """An upper bound, rounded up; "none" if a method has none."""
    if epsilon is None:
        return "none"
    return upper_bounds.upper(epsilon)


def _reports(metric: MetricAccount) -> str:
    return f"{metric.reports:,}{'*' if metric.permanent else ''}"
