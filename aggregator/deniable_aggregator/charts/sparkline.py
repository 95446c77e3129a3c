"""A series in one line of text: its band and its newest number, without axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.alternative import described
from deniable_aggregator.charts.drawing.canvas import Canvas, escaped
from deniable_aggregator.charts.drawing.lines import draw_moments, range_of
from deniable_aggregator.charts.drawing.palette import THEMES
from deniable_aggregator.charts.drawing.scales import Scale, scale_over
from deniable_aggregator.charts.figure import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.charts.drawing.palette import ThemeName
    from deniable_aggregator.charts.figure import Figure

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
        known = [each.interval for each in line.moments if each.interval is not None]
        numbers = [end for each in known for end in range_of(each, panel)]
        up = scale_over(_widened(numbers), height - 2, 2)
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
