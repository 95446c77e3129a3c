"""Which attributes go together, and which exclude each other, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.layout import Bars, Texts, lay_out
from deniable_aggregator.cli.render.output import UNBROKEN, WIDE, literal_text
from deniable_aggregator.cli.render.rounding import decimals, fixed, number_with_ends

if TYPE_CHECKING:
    from rich.table import Table

    from deniable_aggregator.answers.estimates import Shares
    from deniable_aggregator.answers.lifts import Lift

ASSOCIATION_WORDS: Final = {
    "together": "go together",
    "apart": "exclude each other",
    "unclear": "can't tell",
}
"""Whether two attributes occur together more often than by chance."""


def lift_table(answer: Shares, width: int = UNBROKEN) -> Table:
    """One row per pair: how often both occur, how often by chance, and their ratio, the lift.

    Args:
        answer: shares with lifts.
        width: of the terminal, in characters.
    """
    lifts = list(answer.lifts or ())
    scale = Scale.over([1.0, *(end for each in lifts for end in (each.low, each.high) if end)])
    bars = [
        None
        if each.lift is None or each.low is None or each.high is None
        else IntervalBar(
            each.low,
            each.lift,
            each.high,
            scale,
            hollow=each.association == "unclear",
            zero=1.0,
        )
        for each in lifts
    ]
    columns = [
        Texts("pair", [literal_text(" & ".join(each.values)) for each in lifts], folds=True),
        Texts(f"lift,\n{answer.interval.level:.0%} interval", list(map(_lift, lifts)), "right"),
        Texts("", [ASSOCIATION_WORDS[each.association] for each in lifts]),
    ]
    if width >= WIDE:
        both = [_percent(each.share, each) for each in lifts]
        chance = [_percent(each.expected, each) for each in lifts]
        columns[1:1] = [Texts("both", both, "right"), Texts("by\nchance", chance, "right")]
    return lay_out(columns, Bars(f"{scale.heading('')}, 1 marked", bars), width)


def _lift(each: Lift) -> str:
    if each.lift is None or each.low is None or each.high is None:
        return "can't tell"
    return number_with_ends(each.lift, each.low, each.high)


def _percent(share: float, each: Lift) -> str:
    """A share to the digits that the lift's error supports."""
    error = (each.standard_error or 0.0) * abs(each.expected) * 2 or 0.01
    return f"{fixed(100 * share, decimals(100 * error))}%"
