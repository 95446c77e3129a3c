"""Figures of accounts, for ``deniable account --picture``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import Curve, Curves, Figure
from deniable_shared.planning.upper_bounds import power

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXACT: Final = "exact"


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
    chance = f"Upper bounds, with delta {power(delta)}" if delta else "Upper bounds"
    return Figure(
        title=f"What {application} costs a device, by days",
        warnings=(),
        subtitle=(chance,),
        panels=(
            Curves(
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
            ),
        ),
        notes=("Thick: the tightest. Thin: other ways to add up the same reports.",),
        level=0.95,
    )
