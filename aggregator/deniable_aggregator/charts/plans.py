"""Pictures of plans, for ``deniable plan --picture``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import altair as alt

from deniable_aggregator.charts.estimates import WIDTH
from deniable_aggregator.charts.files import save

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.planning.result import Plan

__all__ = ["plans_chart", "save"]

PLAN_HEIGHT: Final = 220
_DEVICES: Final = "#d1242f"


def plans_chart(plans: Sequence[Plan]) -> alt.VConcatChart:
    """The width of intervals over the number of devices, both axes logarithmic.

    Args:
        plans: one picture each, below one another, with a line for each candidate.
    """
    return alt.VConcatChart(vconcat=[_plan_chart(planned) for planned in plans])


def _plan_chart(planned: Plan) -> alt.LayerChart:
    rows = planned.curves()
    log = alt.Scale(type="log", nice=False)
    of = "the mean" if planned.is_mean else "a value that hardly anybody has"
    base = alt.Chart(alt.InlineData(values=rows))
    lines = base.mark_line().encode(
        x=alt.X("devices:Q", scale=log, axis=alt.Axis(title="devices", format="~s", tickCount=5)),
        y=alt.Y(
            "half_width:Q",
            scale=log,
            axis=alt.Axis(
                title=f"95% interval of {of}, ±",
                format="~g" if planned.is_mean else "~%",
                tickCount=4,
            ),
        ),
        color=alt.Color(
            "candidate:N",
            title=None,
            sort=list(dict.fromkeys(row["candidate"] for row in rows)),
        ),
        strokeWidth=alt.condition("datum.chosen", alt.value(3), alt.value(1.2)),
        strokeDash=alt.condition("datum.chosen", alt.value([1, 0]), alt.value([4, 3])),
        detail="chosen:N",
    )
    now = alt.Chart(alt.InlineData(values=[{"devices": planned.devices}]))
    rule = now.mark_rule(color=_DEVICES, strokeDash=[2, 2]).encode(x="devices:Q")
    spec = planned.metric.spec
    title = alt.TitleParams(
        spec.name,
        subtitle=f"{planned.mechanism.title}, epsilon {planned.mechanism.epsilon:.3g}, "
        f"{planned.devices:,} devices",
        anchor="start",
    )
    return alt.LayerChart(layer=[lines, rule], title=title, width=WIDTH, height=PLAN_HEIGHT)
