"""Tables of texts with a bar at the end of each row, laid out for the width of the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len

from deniable_aggregator.cli.render.bars import LEAST_CELLS, MOST_CELLS
from deniable_aggregator.cli.render.output import UNBROKEN, close_table
from deniable_shared.characters import visible_lines
from deniable_shared.commands.ascii import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import JustifyMethod
    from rich.table import Table

    from deniable_aggregator.cli.render.bars import IntervalBar

GAP: Final = 2
"""Blanks between two columns of `close_table`."""

LEAST_FOLDED: Final = 8
COMFORTABLE: Final = 20
"""A value is not folded into less than this to make room for a bar."""


class Texts(NamedTuple):
    """A column of texts.

    Attributes:
        heading: may have several lines.
        cells: one for each row; they may have several lines.
        justify: "right" for numbers.
        folds: whether it gives way where there is no room: its texts are broken, nothing is lost.
    """

    heading: str
    cells: Sequence[str]
    justify: JustifyMethod = "left"
    folds: bool = False


class Bars(NamedTuple):
    """The column of bars.

    Attributes:
        heading: what their scale is.
        cells: one for each row; None for a row without.
    """

    heading: str
    cells: Sequence[IntervalBar | None]


def lay_out(
    columns: Sequence[Texts],
    bars: Bars | None,
    width: int = UNBROKEN,
    groups_end: Sequence[bool] = (),
) -> Table:
    """A table, as wide as its texts or the terminal; bars have what is left, or are left out.

    Args:
        columns: one of them folds.
        bars: at the end of each row.
        width: of the terminal, in characters.
        groups_end: after which rows there is a blank line; for no row if left out.
    """
    natural = [text_width(column) for column in columns]
    folding = sum(size for size, column in zip(natural, columns, strict=True) if column.folds)
    room = width - 1 - GAP * (len(columns) - 1) - (sum(natural) - folding)
    drawn = 0 if bars is None else _width_of_bars(room - GAP, folding)
    folded = max(min(folding, room - (drawn + GAP if drawn else 0)), LEAST_FOLDED)
    table = close_table()
    for column in columns:
        table.add_column(
            column.heading,
            justify=column.justify,
            no_wrap=not column.folds,
            overflow="fold",
            width=folded if column.folds and folded < folding else None,
        )
    if bars is not None and drawn:
        table.add_column(bars.heading, width=drawn)
    for index in range(len(columns[0].cells)):
        cells: list[str | IntervalBar] = [column.cells[index] for column in columns]
        if bars is not None and drawn:
            cells.append(bars.cells[index] or "")
        table.add_row(*cells, end_section=bool(groups_end) and groups_end[index])
    return table


def fits(columns: Sequence[Texts], width: int) -> bool:
    """Whether there is room for a bar beside columns, none of them much folded.

    Args:
        columns: of the table.
        width: of the terminal, in characters.
    """
    wanted = (
        min(size, COMFORTABLE) if column.folds else size
        for size, column in zip(map(text_width, columns), columns, strict=True)
    )
    return sum(wanted) + GAP * len(columns) + LEAST_CELLS < width


def text_width(column: Texts) -> int:
    """How many characters wide the longest line of a column is.

    Args:
        column: its heading and its cells.
    """
    lines = [
        line
        for text in (column.heading, *column.cells)
        for line in printable(visible_lines(text)).split("\n")
    ]
    return max(map(cell_len, lines))


def _width_of_bars(room: int, folding: int) -> int:
    """How wide bars are beside texts that want `folding` characters; 0 if there is no room."""
    if room - folding >= LEAST_CELLS:
        return min(room - folding, MOST_CELLS)
    return LEAST_CELLS if room - LEAST_CELLS >= min(folding, COMFORTABLE) else 0
