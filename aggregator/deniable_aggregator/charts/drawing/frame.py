"""What is around the panels: title, warnings, subtitle, a key in words and marks, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.drawing.canvas import SMALL, TEXT, TITLE
from deniable_aggregator.charts.drawing.texts import text_width, wrapped
from deniable_aggregator.charts.figure import Dots

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.charts.drawing.canvas import Canvas
    from deniable_aggregator.charts.figure import Figure

MOST_TITLE_LINES: Final = 3
_SAMPLE: Final = 26.0


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
    x, y = 0.0, 14.0
    for draw, words in _key(figure):
        wide = _SAMPLE + 6 + text_width(words, SMALL) + 18
        if x and x + wide > width + 18:
            x, y = 0.0, y + 17
        with canvas.group("key", move=(x, y - 4)):
            draw(canvas)
            canvas.text(_SAMPLE + 6, 4, words, size=SMALL, color=canvas.theme.muted)
        x += wide
    for note in figure.notes:
        for line in wrapped(note, SMALL, width):
            y += SMALL + 4
            canvas.text(0, y, line, size=SMALL, color=canvas.theme.muted)
    return y + 6


def _key(figure: Figure) -> list[tuple[Callable[[Canvas], None], str]]:
    """What marks mean, of those that are drawn."""
    dots = [
        (dot, panel) for panel in figure.panels if isinstance(panel, Dots) for dot in panel.dots
    ]
    level = f"{figure.level:.0%}"
    key: list[tuple[Callable[[Canvas], None], str]] = []
    changes = any(panel.unit == "points" for _, panel in dots)
    if any(dot.interval.told for dot, _ in dots):
        what = "clear change: " if changes else ""
        key.append((_sample_band, f"{what}estimate, {level} interval, its inner half darker"))
    if any(not dot.interval.told for dot, _ in dots):
        if changes:
            key.append((_sample_unclear, "no clear change"))
        else:
            key.append((_sample_whisker, "can't be told from zero: upper end of the interval only"))
    if any(dot.truth is not None for dot, _ in dots):
        key.append((_sample_truth, "truth"))
    if any(dot.adjusted is not None for dot, _ in dots):
        key.append((_sample_adjusted, "adjusted"))
    return key


def _sample_band(canvas: Canvas) -> None:
    canvas.box(0, -3.5, _SAMPLE, 7, canvas.theme.band)
    canvas.box(8, -3.5, 10, 7, canvas.theme.core)
    canvas.dot(13, 0, 3.5, canvas.theme.ink)


def _sample_whisker(canvas: Canvas) -> None:
    canvas.line((4, 0), (_SAMPLE, 0), canvas.theme.unclear, 1.5)
    canvas.line((_SAMPLE, -4), (_SAMPLE, 4), canvas.theme.unclear, 1.5)
    canvas.dot(8, 0, 3.5, canvas.theme.inside, canvas.theme.unclear)


def _sample_unclear(canvas: Canvas) -> None:
    canvas.line((0, 0), (_SAMPLE, 0), canvas.theme.unclear, 1.5)
    canvas.line((7, 0), (19, 0), canvas.theme.unclear, 4)
    canvas.dot(13, 0, 3.5, canvas.theme.inside, canvas.theme.unclear)


def _sample_truth(canvas: Canvas) -> None:
    canvas.line((13, -8), (13, 8), canvas.theme.truth, 2)


def _sample_adjusted(canvas: Canvas) -> None:
    corners: list[tuple[float, float]] = [(9, 0), (13, -4), (17, 0), (13, 4)]
    canvas.shape(corners, canvas.theme.inside, canvas.theme.adjusted, 1.5)
