"""The figure of an answer, whatever was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.making.shares import shares_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.answers.estimates import SegmentShares, Shares
    from deniable_aggregator.charts.figure import Figure

MOST_ROWS: Final = 25


def figure_of(
    answer: Shares | SegmentShares,
    truth: Mapping[str, float] | None = None,
    *,
    most: int = MOST_ROWS,
) -> Figure:
    """The figure of an answer.

    Args:
        answer: of a question about one metric.
        truth: true shares by value, where they are known.
        most: how many values are drawn.
    """
    return shares_figure(answer, truth, most)
