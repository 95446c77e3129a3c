"""Figures of plans, for ``deniable plan --picture``; they need nothing but the shared package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.charts.figure import Curve, Curves, Figure

if TYPE_CHECKING:
    from deniable_shared.planning.result import Plan

LEVEL = 0.95


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
    of = "the mean" if plan.is_mean else "a value that hardly anybody has"
    mechanism = plan.mechanism
    return Figure(
        title=description or spec.name,
        warnings=(plan.refusal.reason,) if plan.refusal else (),
        subtitle=(
            *([f"Metric {spec.name}"] if description else []),
            f"{mechanism.title}, epsilon {mechanism.epsilon:.3g}, {plan.devices:,} devices",
        ),
        panels=(
            Curves(
                axis=f"{LEVEL:.0%} interval of {of}, ±",
                unit="number" if plan.is_mean else "share",
                curves=tuple(
                    Curve(name=name, chosen=chosen, points=tuple(each))
                    for (name, chosen), each in points.items()
                ),
                across="devices",
                chosen="the metric's own",
                marked=plan.devices,
                mark="planned",
            ),
        ),
        notes=("Thick: the mechanism of the metric. Thin: others that could carry it.",),
        level=LEVEL,
    )
