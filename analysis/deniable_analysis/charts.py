"""Answers as charts of Altair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.extras import require

if TYPE_CHECKING:
    import altair


def chart(answer: Any) -> altair.TopLevelMixin:
    """The figure of an answer, as a chart.

    Args:
        answer: of any kind that can be drawn.

    Raises:
        MissingExtraError: if Altair is not installed.
    """
    require("analysis", "altair")
    import altair

    from deniable_aggregator.charts.figure_of import figure_of
    from deniable_aggregator.charts.vega.specification import vega_lite

    return altair.Chart.from_dict(vega_lite(figure_of(answer)))
