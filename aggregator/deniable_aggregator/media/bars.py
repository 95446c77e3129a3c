"""Intervals drawn with characters, on a scale that they share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from rich.measure import Measurement
from rich.text import Text

from deniable_shared.commands.ascii import ascii_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, ConsoleOptions

    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.figure import Interval

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
