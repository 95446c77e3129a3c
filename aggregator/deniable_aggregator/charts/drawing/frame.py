"""What is around the panels: title, warnings, subtitle, a key in words and marks, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.drawing.canvas import SMALL, TEXT, TITLE
from deniable_aggregator.charts.drawing.key import SAMPLE, key_of
from deniable_aggregator.charts.drawing.texts import text_width, wrapped

if TYPE_CHECKING:
    from deniable_aggregator.charts.drawing.canvas import Canvas
    from deniable_aggregator.charts.figure import Figure

MOST_TITLE_LINES: Final = 3


def draw_heading(canvas: Canvas, figure: Figure, width: float) -> float:
    """Title, warnings and subtitle; returns how high they are."""
    theme, y = canvas.theme, 0.0
    for line in wrapped(figure.title, TITLE, width, bold=True, most=MOST_TITLE_LINES):
        y += TITLE + 4
        canvas.text(0, y - 3, line, size=TITLE, bold=True, kind="title")
    y += 4
    for warning in figure.warnings:
        with canvas.group("warning"):
            _warning_sign(canvas, y + 8)
            for line in wrapped(f"Warning: {warning}", TEXT, width - 22, bold=True):
                y += TEXT + 4
                canvas.text(20, y - 3, line, bold=True)
        y += 3
    for text in figure.subtitle:
        for line in wrapped(text, TEXT, width):
            y += TEXT + 4
            canvas.text(0, y - 3, line, color=theme.muted)
    return y + 12


def _warning_sign(canvas: Canvas, y: float) -> None:
    """A triangle with an exclamation mark, which needs no font."""
    canvas.shape([(7, y - 7), (15, y + 6), (-1, y + 6)], canvas.theme.warning)
    canvas.line((7, y - 2.5), (7, y + 2), "#ffffff", 1.6)
    canvas.line((7, y + 3), (7, y + 4.6), "#ffffff", 1.6)


def draw_notes(canvas: Canvas, figure: Figure, width: float) -> float:
    """The key and the notes; returns how high they are."""
    x, y, beside = 0.0, 14.0, SAMPLE + 6
    for draw, words in key_of(figure):
        wide = beside + text_width(words, SMALL) + 18
        if x and x + wide > width + 18:
            x, y = 0.0, y + 17
        with canvas.group("key", move=(x, y - 4)):
            draw(canvas)
            lines = wrapped(words, SMALL, width - beside)
            for number, line in enumerate(lines):
                base = 4 + 14 * number
                canvas.text(beside, base, line, size=SMALL, color=canvas.theme.muted)
        x, y = x + wide, y + 14 * (len(lines) - 1)
    y += 5
    for note in figure.notes:
        for line in wrapped(note, SMALL, width):
            y += SMALL + 4
            canvas.text(0, y, line, size=SMALL, color=canvas.theme.muted)
    return y + 6
