"""How much more, or less, often the values of pairs occur together than by chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import Dot, Dots, interval_of
from deniable_aggregator.sentences import counted
from deniable_aggregator.sentences.shares import PAIR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.lifts import Lift

HEADING: Final = "Together more or less often than by chance"


def lifts_panel(lifts: Sequence[Lift], level: float, most: int) -> Dots:
    """Lifts of pairs on a logarithmic axis, on which twice and half as often are equally far.

    Args:
        lifts: of pairs.
        level: of their intervals.
        most: how many are drawn: those that differ most clearly from chance.
    """
    known = [each for each in lifts if each.lift is not None]
    clearest = sorted(known, key=lambda each: each.p_value)[:most]
    dots = [
        Dot(
            label=PAIR.join(each.values),
            interval=interval_of(
                each.lift,
                -math.inf if each.low is None else each.low,
                math.inf if each.high is None else each.high,
                level=level,
                standard_error=each.standard_error,
                told=each.association != "unclear",
            ),
        )
        for each in sorted(clearest, key=lambda each: -(each.lift or 0.0))
    ]
    said = []
    if len(known) > most:
        said.append(f"the {most} clearest of {len(known):,} pairs")
    if len(lifts) > len(known):
        said.append(f"{counted(len(lifts) - len(known), 'pair')} too rare to tell")
    return Dots(
        heading=HEADING,
        axis="how many times as often as if they were independent",
        unit="ratio",
        reference=1.0,
        dots=tuple(dots),
        left_out="; ".join(said),
    )
