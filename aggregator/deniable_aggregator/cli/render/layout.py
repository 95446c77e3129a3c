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

LEAST_FOLDED: Final = 12
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

    Where there is no room, first the columns that fold give way, then other texts are broken
    between words; numbers never are.

    Args:
        columns: of texts.
        bars: at the end of each row.
        width: of the terminal, in characters.
        groups_end: after which rows there is a blank line; for no row if left out.
    """
    natural = list(map(text_width, columns))
    room = width - 1 - GAP * (len(columns) - 1)
    drawn = 0 if bars is None else _width_of_bars(room - GAP, natural, columns)
    widths = _shrunk(natural, columns, room - (drawn + GAP if drawn else 0))
    table = close_table()
    for column, size, wanted in zip(columns, widths, natural, strict=True):
        table.add_column(
            column.heading,
            justify=column.justify,
            no_wrap=size == wanted and not column.folds,
            overflow="fold",
            width=size if size < wanted else None,
        )
    if bars is not None and drawn:
        table.add_column(bars.heading, width=drawn)
    for index in range(len(columns[0].cells)):
        cells: list[str | IntervalBar] = [column.cells[index] for column in columns]
        if bars is not None and drawn:
            cells.append(bars.cells[index] or "")
        table.add_row(*cells, end_section=bool(groups_end) and groups_end[index])
    return table


def _shrunk(natural: Sequence[int], columns: Sequence[Texts], room: int) -> list[int]:
    """How wide each column is, so that together they have room; wider ones give way first.

    Args:
        natural: how wide they would be.
        columns: the columns.
        room: for all of them, in characters.
    """
    widths = list(natural)
    folding = [index for index, column in enumerate(columns) if column.folds]
    texts = [index for index, column in enumerate(columns) if column.justify != "right"]
    words = [_longest_word(column) for column in columns]
    for indices, least in (
        (folding, [COMFORTABLE] * len(columns)),
        ([index for index in texts if not columns[index].folds], words),
        (folding, [LEAST_FOLDED] * len(columns)),
    ):
        while sum(widths) > room:
            wide = [index for index in indices if widths[index] > least[index]]
            if not wide:
                break
            widths[max(wide, key=lambda index: widths[index])] -= 1
    return widths


def fits(columns: Sequence[Texts], width: int, *, bars: bool = True) -> bool:
    """Whether there is room for columns, none of them much folded.

    Args:
        columns: of the table.
        width: of the terminal, in characters.
        bars: whether bars need room beside them.
    """
    wanted = (
        min(size, COMFORTABLE) if column.folds else size
        for size, column in zip(map(text_width, columns), columns, strict=True)
    )
    return sum(wanted) + GAP * len(columns) + (LEAST_CELLS if bars else -1) < width


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
    return max(map(cell_len, lines), default=0)


def _longest_word(column: Texts) -> int:
    """How wide a column of texts must be so that no word is broken."""
    words = " ".join((column.heading, *column.cells)).split()
    return text_width(Texts("", words))


def _width_of_bars(room: int, natural: Sequence[int], columns: Sequence[Texts]) -> int:
    """How wide bars are beside columns; 0 if there is no room even where texts fold a little."""
    left = room - sum(natural)
    if left >= LEAST_CELLS:
        return min(left, MOST_CELLS)
    saved = sum(
        max(size - COMFORTABLE, 0)
        for size, column in zip(natural, columns, strict=True)
        if column.folds
    )
    return LEAST_CELLS if left + saved >= LEAST_CELLS else 0
