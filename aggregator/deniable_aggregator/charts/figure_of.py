"""The figure of an answer, whatever was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.answers.estimates import Distribution, Estimate, Mean
from deniable_aggregator.answers.integrity import Health
from deniable_aggregator.answers.trends import Change, Series
from deniable_aggregator.charts.making.changes import change_figure
from deniable_aggregator.charts.making.discoveries import discovery_figure
from deniable_aggregator.charts.making.health import health_figure
from deniable_aggregator.charts.making.numbers import distribution_figure, mean_figure
from deniable_aggregator.charts.making.series import series_figure
from deniable_aggregator.charts.making.shares import shares_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.charts.figure import Figure

MOST_ROWS: Final = 25

Drawn = Estimate | Series | Change | FoundStrings | Health
"""Answers that have a picture."""


def figure_of(
    answer: Drawn, truth: Mapping[str, float] | None = None, *, most: int = MOST_ROWS
) -> Figure:
    """The figure of an answer.

    Args:
        answer: of a question about one metric.
        truth: true shares by value, where they are known.
        most: how many values are drawn; of a series at most 8.
    """
    if isinstance(answer, Series):
        return series_figure(answer, most)
    if isinstance(answer, Change):
        return change_figure(answer, most)
    if isinstance(answer, FoundStrings):
        return discovery_figure(answer, most)
    if isinstance(answer, Health):
        return health_figure(answer, most)
    if isinstance(answer, Distribution):
        return distribution_figure(answer)
    if isinstance(answer, Mean):
        return mean_figure(answer)
    return shares_figure(answer, truth, most)
