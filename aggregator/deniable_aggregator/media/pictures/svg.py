"""A figure as SVG, with nothing but elements and presentation attributes.

There is no script, no style and no reference, so a page may show it under any content security
policy, and what it says is in its title and description too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import (
    SMALL,
    TEXT,
    THEMES,
    TITLE,
    Canvas,
    ThemeName,
    escaped,
    pixels,
)
from deniable_aggregator.media.pictures.dots import draw_dots
from deniable_aggregator.media.pictures.key import SAMPLE, key_of
from deniable_aggregator.media.pictures.layout import FONT, Scale, scale_over, text_width, wrapped
from deniable_aggregator.media.pictures.lines import draw_lines, draw_moments, telling_ends
from deniable_aggregator.media.pictures.marks import draw_grid
from deniable_aggregator.media.pictures.plots import draw_curves, draw_histogram
from deniable_aggregator.telling.figure import Dots, Figure, Grid, Histogram, Lines, Panel
from deniable_aggregator.telling.figure_words import described

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE_WIDTH: Final = 640
PHONE_WIDTH: Final = 360
MARGIN: Final = 16
BETWEEN: Final = 16


def svg(
    figure: Figure | Sequence[Figure],
    width: int = PAGE_WIDTH,
    theme: ThemeName = "light",
    *,
    columns: int = 1,
    heading: bool = True,
    notes: bool = True,
) -> str:
    """A figure, or several on one sheet, as an SVG document.

    Args:
        figure: what is drawn.
        width: of the whole, in pixels; it grows with the place that it has on a page. Below 480 it
            is laid out for a phone.
        theme: "light" or "dark" with a background, or "page" for a page whose colours are not
            known: without one, and with texts in its colour.
        columns: how many of several figures stand side by side.
        heading: whether title, warnings and subtitle are drawn; without them, for a page that says
            the same, there is no margin either. The SVG's own title and description always have
            them.
        notes: whether the key and the notes are drawn; a page that has several pictures says them
            once.
    """
    figures = [figure] if isinstance(figure, Figure) else list(figure)
    colors = THEMES[theme]
    canvas = Canvas(colors)
    margin = MARGIN if heading else 0
    wide = (width - 2 * margin - MARGIN * (columns - 1)) / columns
    y = float(margin)
    for first in range(0, len(figures), columns):
        heights = []
        for column, each in enumerate(figures[first : first + columns]):
            with canvas.group("figure", move=(margin + column * (wide + MARGIN), y)):
                heights.append(_draw(canvas, each, wide, heading=heading, notes=notes))
        y += max(heights) + margin
    title = "; ".join(each.title for each in figures)
    said = " ".join(described(each) for each in figures)
    behind = ""
    if colors.background is not None:
        behind = f'<rect width="{width}" height="{pixels(y)}" fill="{colors.background}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {pixels(y)}" '
        f'width="{width}" height="{pixels(y)}" font-family="{FONT}" font-size="12" '
        f'fill="{colors.ink}"><title>{escaped(title)}</title><desc>{escaped(said)}</desc>'
        f"{behind}{canvas.svg()}</svg>\n"
    )


def _draw(canvas: Canvas, figure: Figure, width: float, *, heading: bool, notes: bool) -> float:
    """Draws a figure from y = 0 on; returns how high it is."""
    y = draw_heading(canvas, figure, width) if heading else 0.0
    for panel in figure.panels:
        with canvas.group("panel", move=(0, y)):
            y += _draw_panel(canvas, panel, width) + BETWEEN
    if not notes:
        return y - BETWEEN
    with canvas.group("notes", move=(0, y - BETWEEN)):
        return y - BETWEEN + draw_notes(canvas, figure, width)


def _draw_panel(canvas: Canvas, panel: Panel, width: float) -> float:
    if isinstance(panel, Dots):
        return draw_dots(canvas, panel, width)
    if isinstance(panel, Lines):
        return draw_lines(canvas, panel, width)
    if isinstance(panel, Histogram):
        return draw_histogram(canvas, panel, width)
    if isinstance(panel, Grid):
        return draw_grid(canvas, panel, width)
    return draw_curves(canvas, panel, width)


SPARK_WIDTH: Final = 120
SPARK_HEIGHT: Final = 28

LEAST_SPAN: Final = 0.25
"""The height is at least such a part of the largest number, so that noise does not look large."""


def sparkline(
    figure: Figure,
    width: int = SPARK_WIDTH,
    height: int = SPARK_HEIGHT,
    theme: ThemeName = "page",
) -> str:
    """The first line of a series as a small SVG document.

    The scale goes as far as the bands do, and the zero line is there where it does so. What is
    special about periods is in the description.

    Args:
        figure: of a series.
        width: in pixels.
        height: in pixels.
        theme: as of `svg`.
    """
    panel = next(panel for panel in figure.panels if isinstance(panel, Lines))
    canvas = Canvas(THEMES[theme])
    if panel.lines:
        line = panel.lines[0]
        up = scale_over(_widened(telling_ends(line, panel)), height - 4, 4)
        if up.low <= 0 <= up.high and panel.unit == "share":
            canvas.line((0, up(0)), (width, up(0)), canvas.theme.ink, 0.75, kind="zero")
        across = Scale(0, max(len(line.moments), 1), 0, width)
        draw_moments(canvas, line, panel, up, across, least_step=width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"><title>{escaped(figure.title)}</title>'
        f"<desc>{escaped(described(figure))}</desc>{canvas.svg()}</svg>\n"
    )


def _widened(numbers: Sequence[float]) -> list[float]:
    """The ends of the scale."""
    if not numbers:
        return []
    low, high = min(numbers), max(numbers)
    missing = max(0.0, LEAST_SPAN * max(abs(low), abs(high)) - (high - low)) / 2
    # Numbers that are nowhere below zero get no room there.
    return [low - missing if low < 0 else max(0.0, low - missing), high + missing]


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
