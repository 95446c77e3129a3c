"""Attributes: each by itself, and which two go together or exclude each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.charts.making.lifts import HEADING as LIFTS
from deniable_aggregator.charts.making.shares import BOTH
from deniable_aggregator.pages.parts import Column, Table
from deniable_aggregator.sentences import counted, number_ends, share_in_words
from deniable_aggregator.sentences.shares import lift_in_words
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.estimates import Shares
    from deniable_aggregator.answers.lifts import Lift
    from deniable_aggregator.charts.figure import Figure

MOST_SAID: Final = 20
"""Clear pairs in words; the picture and the file have more."""

LARGEST_MATRIX: Final = 8
"""Rows of a matrix that can still be read."""

MOST_UNCLEAR: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsView:
    """What the page shows of pairs of attributes.

    Attributes:
        single: a picture of the attributes by themselves.
        asked: how many pairs were asked about, and what a lift is.
        clear: pairs that clearly go together or exclude each other, the surest first, a line each.
        matrix: lifts of every two; None if there are too many to be read.
        lifts: a picture of lifts; None if there are none.
        unclear: what is said of all other pairs; empty if there are none.
        others: these pairs.
        both: a picture of how large the shares of pairs are; None if there are none.
    """

    single: Figure
    asked: str
    clear: Sequence[str]
    matrix: Table | None
    lifts: Figure | None
    unclear: str
    others: Table | None
    both: Figure | None


def pairs_view(answer: Shares) -> PairsView | None:
    """What the page shows; None of a metric that does not observe pairs.

    Args:
        answer: shares.
    """
    if not answer.lifts:
        return None
    figure = figure_of(answer)
    panels = {panel.heading: panel for panel in figure.panels}
    of_pairs = {LIFTS, BOTH}
    single = tuple(panel for panel in figure.panels if panel.heading not in of_pairs)
    ordered = sorted(answer.lifts, key=lambda each: each.p_value)
    clear = [each for each in ordered if each.association != "unclear"]
    unclear = [each for each in ordered if each.association == "unclear"]
    pairs = counted(len(answer.lifts), "pair")
    more = len(clear) - MOST_SAID
    said = [lift_in_words(each) + "." for each in clear[:MOST_SAID]]
    if more > 0:
        said.append(f"{counted(more, 'more pair')} with a clear answer.")
    return PairsView(
        single=replace(figure, panels=single),
        asked=f"{pairs} compared with chance: 1 is what chance gives, 2 is twice as often.",
        clear=tuple(said),
        matrix=_matrix(answer.lifts, answer.interval.level),
        lifts=replace(figure, panels=(panels[LIFTS],)) if LIFTS in panels else None,
        unclear=f"{counted(len(unclear), 'pair')} can't be told from chance" if unclear else "",
        others=_others(unclear) if unclear else None,
        both=replace(figure, panels=(panels[BOTH],)) if BOTH in panels else None,
    )


def _matrix(lifts: Sequence[Lift], level: float) -> Table | None:
    names = list(dict.fromkeys(value for each in lifts for value in each.values))
    if not 2 < len(names) <= LARGEST_MATRIX:
        return None
    by_pair = {frozenset(each.values): each for each in lifts}

    def cell(one: str, other: str) -> str:
        found = by_pair.get(frozenset((one, other)))
        return "" if one == other or found is None else _times(found)

    return Table(
        name="pairs",
        caption=f"How many times as often together as by chance, {level:.0%} interval",
        columns=[Column(""), *(Column(visible(name)) for name in names)],
        rows=[[name, *(cell(name, other) for other in names)] for name in names],
        left_out="In brackets: can't be told from chance.",
    )


def _times(each: Lift) -> str:
    if each.low is None or each.high is None:
        return "too rare"
    text = " to ".join(number_ends(max(each.low, 0.0), max(each.high, 0.0)))
    return text if each.association != "unclear" else f"({text})"


def _others(unclear: Sequence[Lift]) -> Table:
    shown = unclear[:MOST_UNCLEAR]
    more = len(unclear) - len(shown)
    return Table(
        name="unclear-pairs",
        caption="Pairs that can't be told from chance",
        columns=[
            Column("pair", words=True),
            Column("both"),
            Column("by chance"),
            Column("times as often as by chance"),
        ],
        rows=[[" & ".join(each.values), *_shares(each), _times(each)] for each in shown],
        left_out=counted(more, "more pair") if more else "",
    )


def _shares(each: Lift) -> list[str]:
    """The share of both and what chance gives, to the digits that the lift's error supports."""
    half = 2 * (each.standard_error or 0.0) * abs(each.expected) or 0.005
    return [share_in_words(one, one - half, one + half) for one in (each.share, each.expected)]
