"""A figure as SVG, with nothing but elements and presentation attributes.

There is no script, no style and no reference, so a page may show it under any content security
policy, and what it says is in its title and description too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.alternative import described
from deniable_aggregator.charts.drawing.canvas import Canvas, escaped, pixels
from deniable_aggregator.charts.drawing.curves import draw_curves
from deniable_aggregator.charts.drawing.dots import draw_dots
from deniable_aggregator.charts.drawing.frame import draw_heading, draw_notes
from deniable_aggregator.charts.drawing.grid import draw_grid
from deniable_aggregator.charts.drawing.histogram import draw_histogram
from deniable_aggregator.charts.drawing.lines import draw_lines
from deniable_aggregator.charts.drawing.palette import THEMES
from deniable_aggregator.charts.drawing.texts import FONT
from deniable_aggregator.charts.figure import Dots, Figure, Grid, Histogram, Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.charts.drawing.palette import ThemeName
    from deniable_aggregator.charts.figure import Panel

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
                heights.append(_draw(canvas, each, wide, heading=heading))
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


def _draw(canvas: Canvas, figure: Figure, width: float, *, heading: bool) -> float:
    """Draws a figure from y = 0 on; returns how high it is."""
    y = draw_heading(canvas, figure, width) if heading else 0.0
    for panel in figure.panels:
        with canvas.group("panel", move=(0, y)):
            y += _draw_panel(canvas, panel, width) + BETWEEN
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
