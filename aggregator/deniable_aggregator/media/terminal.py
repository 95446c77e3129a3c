"""Answers on the terminal: intervals drawn with characters, tables and sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from rich.cells import cell_len
from rich.measure import Measurement
from rich.text import Text

from deniable_aggregator.media.console import (
    UNBROKEN,
    close_table,
    literal_console,
    print_drawn,
    print_lines,
)
from deniable_shared.characters import visible, visible_lines
from deniable_shared.commands.ascii import ascii_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions
    from rich.table import Table as DrawnTable

    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.document import Column, Document, Row, Table
    from deniable_aggregator.telling.interval import Interval


LEAST_CELLS: Final = 12
MOST_CELLS: Final = 48
LEAST_DRAWN: Final = 3
"""Of fewer cells than that only the mark is drawn: with one end it would look one-sided."""

SMALLEST_SPAN: Final = 1e-9
MOST_DECIMALS: Final = 12
_CROSSED: Final = {" ": "│", "─": "┼", "━": "┿"}
"""How the line at zero looks where something else is drawn."""


class Scale(NamedTuple):
    """What the left and the right end of a bar stand for.

    Attributes:
        low: at the left: 0, or the lowest end below it.
        high: at the right.
    """

    low: float
    high: float

    @classmethod
    def over(cls, ends: Iterable[float]) -> Self:
        """The scale on which all of these are seen, and zero.

        Args:
            ends: of intervals.
        """
        listed = [0.0, *ends]
        low = min(listed)
        return cls(low, max(*listed, low + SMALLEST_SPAN))

    def cell(self, value: float, width: int) -> int:
        """Where a value stands in a bar of so many characters, from 0; those outside at an end."""
        place = round((value - self.low) / (self.high - self.low) * (width - 1))
        return min(max(place, 0), width - 1)

    def heading(self, unit: Unit) -> str:
        """The two ends, such as "-0.4 to 18.2%".

        Args:
            unit: of the numbers.
        """
        factor = 100 if unit in ("share", "points") else 1
        low, high = factor * self.low, factor * self.high
        digits = max(0, 1 - math.floor(math.log10(max(high - low, SMALLEST_SPAN) / 2)))
        places = min(digits, MOST_DECIMALS)
        ends = f"{round(low, places) + 0.0:,.{places if low else 0}f} to {high:,.{places}f}"
        return ends + {"share": "%", "points": " points"}.get(unit, "")


class IntervalBar:
    """An interval: ``├──━●━──┤``; its middle half is heavy, ``│`` stands at zero.

    The mark is hollow where the estimate can't be told from zero, and ``x`` is the truth where it
    is known. The bar fills its column.

    Args:
        interval: with an estimate.
        scale: that of all bars of a table.
        truth: the true number, if it is known.
        zero: where the line is drawn: what nothing would be; None for no line.
    """

    def __init__(
        self,
        interval: Interval,
        scale: Scale,
        *,
        truth: float | None = None,
        zero: float | None = 0.0,
    ) -> None:
        self._low, self._high = interval.low, interval.high
        self._estimate = interval.low if interval.estimate is None else interval.estimate
        self._core = interval.core_low, interval.core_high
        self._scale, self._hollow, self._truth = scale, not interval.told, truth
        self._zero = zero

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Draws the bar."""
        drawn = self.draw(min(options.max_width, MOST_CELLS))
        yield Text(ascii_text(drawn) if options.ascii_only else drawn)

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        """The narrowest legible width, and the widest useful one."""
        most = options.max_width
        return Measurement(min(LEAST_CELLS, most), min(MOST_CELLS, most))

    def draw(self, width: int) -> str:
        """The bar in `width` characters."""
        cells = [" "] * width
        start, end = self._cell(self._low, width), self._cell(self._high, width)
        cells[start : end + 1] = "─" * (end - start + 1)
        left, right = self._core
        for cell in range(self._cell(left, width), self._cell(right, width) + 1):
            cells[cell] = "━"
        if self._zero is not None:
            zero = self._cell(self._zero, width)
            cells[zero] = _CROSSED[cells[zero]]
        if end - start < LEAST_DRAWN - 1:
            cells[start : end + 1] = " " * (end - start + 1)
            if self._zero is not None and start <= self._cell(self._zero, width) <= end:
                cells[self._cell(self._zero, width)] = "│"
        else:
            cells[start], cells[end] = "├", "┤"
        cells[self._cell(self._estimate, width)] = "○" if self._hollow else "●"
        if self._truth is not None:
            cells[self._cell(self._truth, width)] = "x"
        return "".join(cells)

    def _cell(self, value: float, width: int) -> int:
        return self._scale.cell(value, width)


GAP: Final = 2
"""Blanks between two columns."""

LEAST_FOLDED: Final = 12
COMFORTABLE: Final = 20
"""A value is not folded into less than this to make room for a bar."""


def print_document(document: Document, *, explain: bool = False) -> None:
    """Prints what is said of an answer: what to know first, the tables, and what stands below.

    Args:
        document: of the answer.
        explain: also print what the numbers mean.
    """
    print_lines(_head(document))
    width = literal_console().width
    for place, table in enumerate(document.tables):
        if len(document.tables) > 1:
            print_lines([*([""] if place else []), f"{visible(table.caption)}:"])
        print_drawn(drawn_table(table, width))
        if table.left_out:
            print_lines([table.left_out])
    print_lines(["", *document.below])
    if document.meaning:
        meaning = ["", *document.meaning]
        print_lines(meaning if explain else ["What these numbers mean: add --explain."])


def print_table(table: Table) -> None:
    """Prints a table alone.

    Args:
        table: of texts.
    """
    print_drawn(drawn_table(table, literal_console().width))


def drawn_table(table: Table, width: int = UNBROKEN) -> DrawnTable:
    """A table, as wide as its texts or the terminal; bars have what is left, or are left out.

    Where there is no room, minor columns are left out first, the last one before all others; then
    columns that fold give way, and other texts are broken between words. Numbers never are: where
    even that is too wide, the last of their columns are left out.

    Args:
        table: of texts.
        width: of the terminal, in characters.
    """
    cells = [[visible(cell) for cell in row.cells] for row in table.rows]
    kept = list(range(len(table.columns)))
    bars = list(_bars(table))
    while not _fits(table.columns, cells, kept, width, bars=any(bars)):
        minor = [place for place in kept if table.columns[place].minor]
        if not minor:
            break
        kept.remove(minor[-1])
    while _least(table.columns, cells, kept) >= width:
        numbers = [place for place in kept if not table.columns[place].words]
        if len(numbers) < 2:
            break
        kept.remove(numbers[-1])
    if width < UNBROKEN:
        cells = list(_without_repeats(table.columns, cells))
    return _lay_out(table, cells, kept, bars, width)


def _head(document: Document) -> Iterator[str]:
    notices = [
        *(f"Warning: {text}" for text in document.cautions),
        *(f"Note: {text}" for text in document.notes),
    ]
    yield from [*notices, ""] if notices else []
    named = visible(document.title)
    if document.title != document.metric:
        named += f" ({visible(document.metric)})"
    yield f"{named}, {document.also}" if document.also else named
    if document.finding:
        yield document.finding
    yield from document.days
    if document.counted:
        yield document.counted
    yield from document.asides
    yield ""


def _bars(table: Table) -> Iterator[IntervalBar | None]:
    if table.unit is None:
        yield from [None] * len(table.rows)
        return
    scale = _scale(table)
    for row in table.rows:
        if row.interval is None:
            yield None
        else:
            yield IntervalBar(row.interval, scale, truth=row.truth, zero=table.zero)


def _scale(table: Table) -> Scale:
    """The scale of all bars of a table: with the line in it, or between the least and the most."""
    ends = [*table.ends, *(end for row in table.rows for end in _ends(row))]
    if table.zero is not None:
        return Scale.over([table.zero, *ends] if table.zero else ends)
    low = min(ends, default=0.0)
    return Scale(low, max([*ends, low + 1e-9]))


def _ends(row: Row) -> tuple[float, ...]:
    truth = () if row.truth is None else (row.truth,)
    if row.interval is None:
        return truth
    return row.interval.low, row.interval.high, *truth


def _without_repeats(columns: Sequence[Column], rows: list[list[str]]) -> Iterator[list[str]]:
    """The rows without what stands in the row above, too, in columns that show it once."""
    above: list[str] = []
    for row in rows:
        once = [place for place, column in enumerate(columns) if column.once]
        blank = bool(above and once) and all(row[place] == above[place] for place in once)
        yield [
            "" if blank and column.once else cell for cell, column in zip(row, columns, strict=True)
        ]
        above = row


def _fits(
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    kept: Sequence[int],
    width: int,
    *,
    bars: bool,
) -> bool:
    """Whether there is room for some of the columns, none of them much folded."""
    wanted = (
        min(size, COMFORTABLE) if columns[place].folds else size
        for place, size in zip(kept, _natural(columns, cells, kept), strict=True)
    )
    return sum(wanted) + GAP * len(kept) + (LEAST_CELLS if bars else -1) < width


def _least(columns: Sequence[Column], cells: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    """How much room some of the columns take if all that can give way does."""
    own = [columns[place] for place in kept]
    widths = _shrunk(_natural(columns, cells, kept), own, cells, kept, 0)
    return sum(widths) + GAP * (len(kept) - 1)


def _lay_out(
    table: Table,
    cells: Sequence[Sequence[str]],
    kept: Sequence[int],
    bars: Sequence[IntervalBar | None],
    width: int,
) -> DrawnTable:
    natural = _natural(table.columns, cells, kept)
    columns = [table.columns[place] for place in kept]
    room = width - 1 - GAP * (len(columns) - 1)
    drawn = _width_of_bars(room - GAP, natural, columns) if any(bars) else 0
    widths = _shrunk(natural, columns, cells, kept, room - (drawn + GAP if drawn else 0))
    shown = close_table()
    for column, size, wanted in zip(columns, widths, natural, strict=True):
        shown.add_column(
            _heading(column, width),
            justify="left" if column.words else "right",
            no_wrap=size == wanted and not column.folds,
            overflow="fold",
            width=size if size < wanted else None,
        )
    if drawn and table.unit is not None:
        shown.add_column(_scale(table).heading(table.unit), width=drawn)
    for row, texts, bar in zip(table.rows, cells, bars, strict=True):
        line: list[str | IntervalBar] = [texts[place] for place in kept]
        if drawn:
            line.append(bar or "")
        shown.add_row(*line, end_section=row.group_ends and width < UNBROKEN)
    return shown


def _heading(column: Column, width: int) -> str:
    """A heading, what its intervals cover in a line of its own where rows may be broken."""
    heading = visible(column.heading)
    return heading if width >= UNBROKEN else heading.replace(", ", ",\n")


def _shrunk(
    natural: Sequence[int],
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    kept: Sequence[int],
    room: int,
) -> list[int]:
    """How wide each column is, so that together they have room; wider ones give way first."""
    widths = list(natural)
    folding = [place for place, column in enumerate(columns) if column.folds]
    texts = [place for place, column in enumerate(columns) if column.words and not column.folds]
    words = [
        max((cell_len(word) for row in cells for word in printable(row[place]).split()), default=1)
        for place in kept
    ]
    for places, least in (
        (folding, [COMFORTABLE] * len(columns)),
        (texts, words),
        (folding, [LEAST_FOLDED] * len(columns)),
    ):
        while sum(widths) > room:
            wide = [place for place in places if widths[place] > least[place]]
            if not wide:
                break
            widths[max(wide, key=lambda place: widths[place])] -= 1
    return widths


def _natural(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], kept: Sequence[int]
) -> list[int]:
    """How many characters wide the longest line of each column is."""
    return [
        max(
            cell_len(line)
            for text in (
                columns[place].heading.replace(", ", ",\n"),
                *(row[place] for row in cells),
            )
            for line in printable(visible_lines(text)).split("\n")
        )
        for place in kept
    ]


def _width_of_bars(room: int, natural: Sequence[int], columns: Sequence[Column]) -> int:
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
