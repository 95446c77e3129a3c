"""Draws curves over logarithmic axes, in characters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_shared.commands.ascii import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH: Final = 78
HEIGHT: Final = 15
MARKS: Final = "*abcdefghijklmnopqrstuvw"
"""The marks of the first curve, the second, and so on."""

_LABEL: Final = 9


def log_plot(
    curves: Sequence[Callable[[float], float]],
    low: float,
    high: float,
    *,
    x_label: Callable[[float], str],
    y_label: Callable[[float], str],
    width: int = WIDTH,
    height: int = HEIGHT,
) -> str:
    """Draws decreasing positive curves over [low, high], both axes logarithmic.

    Where curves share a character, the first of them is drawn.

    Args:
        curves: functions of x.
        low: the left end, greater than 0.
        high: the right end, above `low`.
        x_label: makes the label of a power of ten on the horizontal axis.
        y_label: makes the label of a power of ten on the vertical axis.
        width: of the whole picture, in characters.
        height: of the curves, in lines.
    """
    columns = width - _LABEL - 1
    across = [low * (high / low) ** (column / (columns - 1)) for column in range(columns)]
    values = [[math.log10(curve(x)) for x in across] for curve in curves]
    bottom, top = min(map(min, values)), max(map(max, values))
    span = max(top - bottom, 1e-9)
    cells = [[" "] * columns for _ in range(height)]
    for power in _powers(bottom, top):
        cells[_line(power, top, span, height)] = ["·"] * columns
    for mark, curve in reversed(list(zip(MARKS, values, strict=False))):
        for column, value in enumerate(curve):
            cells[_line(value, top, span, height)][column] = mark
    labels = {
        _line(power, top, span, height): y_label(10.0**power) for power in _powers(bottom, top)
    }
    lines = [
        f"{printable(labels.get(number, '')):>{_LABEL - 1}} ┤{''.join(line).rstrip()}"
        for number, line in enumerate(cells)
    ]
    axis, below = ["─"] * columns, [" "] * (columns + _LABEL)
    for power in _powers(math.log10(low), math.log10(high)):
        column = round((power - math.log10(low)) / math.log10(high / low) * (columns - 1))
        axis[column] = "┴"
        text = x_label(10.0**power)
        start = min(max(column - len(text) // 2, 0), columns - len(text))
        below[start : start + len(text)] = text
    lines.append(" " * _LABEL + "└" + "".join(axis))
    lines.append(" " * (_LABEL + 1) + "".join(below).rstrip())
    return "\n".join(lines)


def _powers(low: float, high: float) -> range:
    """The integers in [low, high], in spite of rounding errors."""
    return range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)


def _line(value: float, top: float, span: float, height: int) -> int:
    return round((top - value) / span * (height - 1))
