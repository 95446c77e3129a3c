"""Figures of plans and of accounts, which need nothing but the shared package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling.figure import Curve, Curves, Figure
from deniable_shared.planning.upper_bounds import power

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_shared.planning.result import Plan

EXACT: Final = "exact"
"""The name of the tightest way to add reports up."""

LEVEL: Final = 0.95


def plan_figure(plan: Plan) -> Figure:
    """How wide the intervals of a metric will be, by the number of devices.

    Args:
        plan: of the metric.
    """
    spec, description = plan.metric.spec, plan.metric.description.strip()
    points: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for row in plan.curves():
        points.setdefault((row["candidate"], row["chosen"]), []).append(
            (row["devices"], row["half_width"])
        )
    whose = "the mean" if plan.is_mean else "a value that hardly anybody has"
    mechanism = plan.mechanism
    panel = Curves(
        axis=f"{LEVEL:.0%} interval of {whose}, ±",
        unit="number" if plan.is_mean else "share",
        across="devices",
        chosen="the metric's own",
        curves=tuple(
            Curve(name=name, chosen=chosen, points=tuple(each))
            for (name, chosen), each in points.items()
        ),
        marked=plan.devices,
        mark="planned",
    )
    return Figure(
        title=description or spec.name,
        warnings=(plan.refusal.reason,) if plan.refusal else (),
        subtitle=(
            *([f"Metric {spec.name}"] if description else []),
            f"{mechanism.title}, epsilon {mechanism.epsilon:.3g}, {plan.devices:,} devices",
        ),
        panels=(panel,),
        notes=("Thick: the mechanism of the metric. Thin: others that could carry it.",),
        level=LEVEL,
    )


def account_figure(
    *,
    application: str,
    delta: float,
    curves: Mapping[str, Sequence[tuple[int, float]]],
    spent: int | None,
) -> Figure:
    """What all reports of a device cost together, by the number of days.

    Args:
        application: whose registry it is.
        delta: of all of them but the sum.
        curves: of each way to add reports up its name, and epsilon by days, above 0.
        spent: after how many days the device's own budget ends them; None if it does not.
    """
    panel = Curves(
        axis="epsilon of all reports together",
        unit="number",
        across="days",
        chosen="the tightest",
        curves=tuple(
            Curve(name=name, chosen=name == EXACT, points=tuple(points))
            for name, points in curves.items()
        ),
        marked=spent,
        mark="budget spent",
    )
    return Figure(
        title=f"What {application} costs a device, by days",
        subtitle=(f"Upper bounds, with delta {power(delta)}" if delta else "Upper bounds",),
        panels=(panel,),
        notes=("Thick: the tightest. Thin: other ways to add up the same reports.",),
        level=LEVEL,
    )
