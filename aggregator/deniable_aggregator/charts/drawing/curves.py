"""Lines over two logarithmic axes, such as how wide intervals are by the number of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.drawing.canvas import SMALL, TEXT
from deniable_aggregator.charts.drawing.dots import PHONE
from deniable_aggregator.charts.drawing.scales import Scale, scale_over, tick_words
from deniable_aggregator.charts.drawing.texts import centred, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.charts.drawing.canvas import Canvas
    from deniable_aggregator.charts.figure import Curve, Curves

HEIGHT: Final = 220.0
_LEFT: Final = 48.0
_LINE: Final = 14.0
_MARK: Final = 16.0
"""How high the words of the rule are, above the plot."""

_FADED: Final = 0.16
_MILLION: Final = 1e6


def draw_curves(canvas: Canvas, panel: Curves, width: float) -> float:
    """Draws the curves, each with its name at its end; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: what is drawn.
        width: of the panel, in pixels.
    """
    theme, y = canvas.theme, 0.0
    if panel.heading:
        canvas.text(0, 14, panel.heading, size=TEXT + 1, bold=True, within=width)
        y += 24
    canvas.text(0, y + 11, panel.axis, size=SMALL, color=theme.muted, within=width)
    y += 22 + (_MARK if panel.marked is not None else 0)
    names = max(text_width(curve.name, SMALL, bold=curve.chosen) for curve in panel.curves)
    end = width - min(names + 22, width * (0.35 if width < PHONE else 0.3))
    counted = [point[0] for curve in panel.curves for point in curve.points]
    heights = [point[1] for curve in panel.curves for point in curve.points]
    across = scale_over(counted, _LEFT, end, log=True)
    up = scale_over(heights, HEIGHT, 0.0, log=True)
    with canvas.group("plot", move=(0, y)):
        for tick in up.ticks(5):
            canvas.line((_LEFT, up(tick)), (end, up(tick)), theme.ink, opacity=_FADED)
            words = tick_words(tick, tick, panel.unit)
            canvas.text(_LEFT - 6, up(tick) + 4, words, size=SMALL, anchor="end", color=theme.muted)
        canvas.line((_LEFT, HEIGHT), (end, HEIGHT), theme.ink)
        for tick in across.ticks(max(2, int((end - _LEFT) / 90))):
            canvas.line((across(tick), HEIGHT), (across(tick), HEIGHT + 4), theme.ink)
            words = _count(tick)
            canvas.text(
                across(tick), HEIGHT + 16, words, size=SMALL, anchor="middle", color=theme.muted
            )
        if panel.marked is not None:
            _mark(canvas, panel, across(panel.marked), width)
        # The curve that counts lies over the others.
        for curve in sorted(panel.curves, key=lambda each: each.chosen):
            points = [(across(each[0]), up(each[1])) for each in curve.points]
            color, wide = (theme.core, 3.0) if curve.chosen else (theme.unclear, 1.2)
            canvas.curve(points, color, wide, kind="curve")
        _names(canvas, panel.curves, up, end, width)
    y += HEIGHT + 34
    canvas.text(end, y, panel.across, size=SMALL, anchor="end", color=theme.muted)
    return y + 4


def _mark(canvas: Canvas, panel: Curves, x: float, width: float) -> None:
    """The rule, and its words above it, where neither curves nor their names are."""
    canvas.line((x, -2), (x, HEIGHT), canvas.theme.truth, 1.2, kind="planned", dashes="4 3")
    words = f"{panel.mark}: {panel.marked:,}"
    x = centred(x, words, SMALL, width)
    canvas.text(
        x, -6, words, size=SMALL, anchor="middle", color=canvas.theme.muted, kind="planned-words"
    )


def _names(canvas: Canvas, curves: Sequence[Curve], up: Scale, x: float, width: float) -> None:
    """The names of curves beside their ends, none over another."""
    ordered = sorted(curves, key=lambda curve: up(curve.points[-1][1]))
    places: list[float] = []
    for curve in ordered:
        wanted = up(curve.points[-1][1])
        places.append(max(wanted, places[-1] + _LINE) if places else wanted)
    # What has been pushed beyond the bottom comes back up.
    lowest = HEIGHT
    for number in range(len(places) - 1, -1, -1):
        places[number] = min(places[number], lowest)
        lowest = places[number] - _LINE
    for curve, place in zip(ordered, places, strict=True):
        color = canvas.theme.core if curve.chosen else canvas.theme.unclear
        canvas.line((x + 1, up(curve.points[-1][1])), (x + 14, place), color, 0.8)
        canvas.text(
            x + 18,
            place + 4,
            curve.name,
            size=SMALL,
            bold=curve.chosen,
            within=width - x - 18,
            color="" if curve.chosen else canvas.theme.muted,
        )


def _count(number: float) -> str:
    return f"{number / _MILLION:,.10g} M" if number >= _MILLION else f"{number:,.10g}"
