"""Verdicts by key and day, each with a shape of its own."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.alternative import row_in_words
from deniable_aggregator.charts.drawing.canvas import TEXT
from deniable_aggregator.charts.drawing.dots import PHONE
from deniable_aggregator.charts.drawing.lines import draw_days
from deniable_aggregator.charts.drawing.marks import draw_mark
from deniable_aggregator.charts.drawing.scales import Scale
from deniable_aggregator.charts.drawing.texts import text_width

if TYPE_CHECKING:
    from deniable_aggregator.charts.drawing.canvas import Canvas
    from deniable_aggregator.charts.figure import Grid, GridRow

_ROW, _PHONE_ROW = 22.0, 36.0
_LABELS: Final = 0.3
_GAP: Final = 12.0
_FULL: Final = 0.9
"""Of the width of a phone, as letters may be wider in its font than is reckoned."""

_BAR: Final = 10.0
_SHAPE: Final = 9.0
"""How wide a shape is, in pixels; where days are closer, one stands for days in a row."""

_TINT: Final = 0.3


def draw_grid(canvas: Canvas, panel: Grid, width: float) -> float:
    """Draws the rows; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: the verdicts.
        width: of the panel, in pixels.
    """
    phone = width < PHONE
    y = canvas.paragraph(0, panel.axis, width) + 6
    labels = max((text_width(row.label, TEXT) for row in panel.rows), default=0.0)
    start = 0.0 if phone else min(labels, _LABELS * width) + _GAP
    across = Scale(0, max(len(panel.days), 1), start, width)
    for row in panel.rows:
        with canvas.group("row", row_in_words(row, panel)):
            middle = y + (26 if phone else _ROW / 2)
            base = y + 13 if phone else middle + 4
            room = _FULL * width if phone else start - _GAP
            canvas.text(0, base, row.label, within=room, kind="label")
            _verdicts(canvas, row, across, middle)
        y += _PHONE_ROW if phone else _ROW
    draw_days(canvas, panel.days, "day", across, y)
    y += 22
    if panel.left_out:
        y += canvas.paragraph(y, panel.left_out, width)
    return y + 4


def draw_verdict(canvas: Canvas, verdict: str, x: float, y: float) -> None:
    """The mark of a verdict that is not ok.

    Args:
        canvas: to draw on.
        verdict: as of `answers.words.Verdict`.
        x: its middle.
        y: its middle.
    """
    # A ring is what is not known: here of a check, elsewhere of a period that is not over.
    draw_mark(canvas, ["incomplete" if verdict == "unknown" else verdict], x, y)


def _verdicts(canvas: Canvas, row: GridRow, across: Scale, y: float) -> None:
    theme, step = canvas.theme, across(1) - across(0)
    tints = {"suspicious": theme.warning, "uneven": theme.uneven}
    number = 0
    for verdict, some in groupby(row.verdicts):
        count = len(list(some))
        left, right = across(number), across(number + count)
        if verdict == "ok":
            gap = 0.5 if step > 3 else 0.0  # days can be told from each other where there is room
            for each in range(number, number + count):
                wide = step - 2 * gap
                canvas.box(across(each) + gap, y - _BAR / 2, wide, _BAR, theme.band, kind="ok")
        elif verdict:
            if verdict in tints:
                canvas.box(left, y - 9, right - left, 18, tints[verdict], opacity=_TINT)
            middles = [(left + right) / 2]
            if step >= _SHAPE:
                middles = [across(number + each + 0.5) for each in range(count)]
            for x in middles:
                draw_verdict(canvas, verdict, x, y)
        number += count
