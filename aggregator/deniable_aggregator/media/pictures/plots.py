"""Histograms with their mean and quantiles below, and curves over two logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import FADED, SMALL, TEXT, Canvas
from deniable_aggregator.media.pictures.dots import draw_interval
from deniable_aggregator.media.pictures.layout import (
    PHONE,
    Scale,
    centred,
    scale_over,
    text_width,
)
from deniable_aggregator.telling.figure_words import (
    bar_in_words,
    placed_in_words,
    range_in_words,
)
from deniable_aggregator.telling.interval import shown_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.telling.figure import Curve, Curves, Histogram


BARS_HEIGHT: Final = 190.0
CURVES_HEIGHT: Final = 220.0
_ROW: Final = 24.0
_GAP: Final = 12.0
_TICK_PIXELS: Final = 80
_LEFT: Final = 48.0
_NAME_ROW: Final = 14.0
_MARK_ROW: Final = 16.0
"""How high the words of the rule over curves are, above the plot."""

_MILLION: Final = 1e6


def draw_histogram(canvas: Canvas, panel: Histogram, width: float) -> float:
    """Draws bars and rows; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: what is drawn.
        width: of the panel, in pixels.
    """
    theme, y = canvas.theme, canvas.heading(panel.heading, width)
    canvas.text(0, y + 11, panel.shares, size=SMALL, color=theme.muted, within=width)
    y += 20
    said = [range_in_words(each.interval, "number") for each in panel.placed]
    phone = width < PHONE
    names = max((text_width(each.name, TEXT) for each in panel.placed), default=0.0)
    start = 36.0 if phone else max(names + _GAP, 36.0)
    end = width - (4 if phone else max((text_width(each, TEXT) for each in said), default=0) + _GAP)
    ends = [end for bar in panel.bars for end in (bar.start, bar.end)]
    numbers = [shown_part(each.interval, "number") for each in panel.placed]
    placed = [end for each in numbers for end in (each.low, each.high)]
    across = scale_over([*ends, *placed], start, end)
    shares = [shown_part(bar.interval, "share") for bar in panel.bars]
    heights = [end for each in shares for end in (each.low, each.high, each.estimate)]
    up = scale_over([0.0, *heights], BARS_HEIGHT, 0.0, pad=0.03)
    with canvas.group("plot", move=(0, y)):
        _share_axis(canvas, up, start, end)
        _bars(canvas, panel, across, up)
        _number_axis(canvas, across, BARS_HEIGHT, width)
    y += BARS_HEIGHT + 20
    canvas.text(end, y + 11, panel.axis, size=SMALL, anchor="end", color=theme.muted, within=end)
    y += 20
    for each, interval, text in zip(panel.placed, numbers, said, strict=True):
        with canvas.group("row", placed_in_words(each)):
            middle = y + (27 if phone else _ROW / 2)
            base = y + 13 if phone else middle + 4
            canvas.text(0, base, each.name, within=width / 2 if phone else start, kind="label")
            canvas.text(width, base, text, anchor="end", kind="range")
            canvas.line((start, middle), (end, middle), theme.ink, opacity=FADED)
            draw_interval(canvas, interval, across, middle)
        y += _ROW + (14 if phone else 0)
    return y + 4


def _bars(canvas: Canvas, panel: Histogram, across: Scale, up: Scale) -> None:
    theme = canvas.theme
    for bar in panel.bars:
        left, right = across(bar.start), across(bar.end)
        interval, middle = shown_part(bar.interval, "share"), (left + right) / 2
        with canvas.group("row", bar_in_words(bar)):
            height = up(interval.estimate or 0.0)
            gap = 0.5 if right - left > 4 else 0.0
            top, bottom = min(height, up(0)), max(height, up(0))
            canvas.box(
                left + gap, top, right - left - 2 * gap, bottom - top, theme.band, kind="bar"
            )
            wide = min(4.0, (right - left) / 2)
            core = up(interval.core_low), up(interval.core_high)
            canvas.line(
                (middle, up(interval.low)),
                (middle, up(interval.high)),
                theme.ink,
                1,
                kind="interval",
            )
            canvas.box(middle - wide / 2, core[1], wide, core[0] - core[1], theme.ink, kind="core")


def _share_axis(canvas: Canvas, up: Scale, start: float, end: float) -> None:
    theme = canvas.theme
    for tick, words in up.named_ticks(4, "share"):
        y = up(tick)
        if abs(tick) > 1e-12:
            canvas.line((start, y), (end, y), theme.ink, opacity=FADED)
        canvas.text(start - 6, y + 4, words, size=SMALL, anchor="end", color=theme.muted)
    canvas.line((start, up(0)), (end, up(0)), theme.ink, kind="zero")


def _number_axis(canvas: Canvas, across: Scale, top: float, width: float) -> None:
    about = max(2, int((across.end - across.start) / _TICK_PIXELS))
    for tick, words in across.named_ticks(about, "number"):
        x = across(tick)
        canvas.tick_below(x, top, words, centred(x, words, SMALL, width))


def draw_curves(canvas: Canvas, panel: Curves, width: float) -> float:
    """Draws the curves, each with its name at its end; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: what is drawn.
        width: of the panel, in pixels.
    """
    theme, y = canvas.theme, canvas.heading(panel.heading, width)
    canvas.text(0, y + 11, panel.axis, size=SMALL, color=theme.muted, within=width)
    y += 22 + (_MARK_ROW if panel.marked is not None else 0)
    names = max(text_width(curve.name, SMALL, bold=curve.chosen) for curve in panel.curves)
    end = width - min(names + 22, width * (0.35 if width < PHONE else 0.3))
    counted = [point[0] for curve in panel.curves for point in curve.points]
    heights = [point[1] for curve in panel.curves for point in curve.points]
    across = scale_over(counted, _LEFT, end, log=True)
    up = scale_over(heights, CURVES_HEIGHT, 0.0, log=True)
    with canvas.group("plot", move=(0, y)):
        for tick, words in up.named_ticks(5, panel.unit):
            canvas.line((_LEFT, up(tick)), (end, up(tick)), theme.ink, opacity=FADED)
            canvas.text(_LEFT - 6, up(tick) + 4, words, size=SMALL, anchor="end", color=theme.muted)
        canvas.line((_LEFT, CURVES_HEIGHT), (end, CURVES_HEIGHT), theme.ink)
        for tick in across.ticks(max(2, int((end - _LEFT) / 90))):
            canvas.tick_below(across(tick), CURVES_HEIGHT, _count(tick))
        if panel.marked is not None:
            _mark(canvas, panel, across(panel.marked), width)
        # The curve that counts lies over the others.
        for curve in sorted(panel.curves, key=lambda each: each.chosen):
            points = [(across(each[0]), up(each[1])) for each in curve.points]
            color, wide = (theme.core, 3.0) if curve.chosen else (theme.unclear, 1.2)
            canvas.curve(points, color, wide, kind="curve")
        _names(canvas, panel.curves, up, end, width)
    y += CURVES_HEIGHT + 34
    canvas.text(end, y, panel.across, size=SMALL, anchor="end", color=theme.muted)
    return y + 4


def _mark(canvas: Canvas, panel: Curves, x: float, width: float) -> None:
    """The rule, and its words above it, where neither curves nor their names are."""
    canvas.line((x, -2), (x, CURVES_HEIGHT), canvas.theme.truth, 1.2, kind="planned", dashes="4 3")
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
        places.append(max(wanted, places[-1] + _NAME_ROW) if places else wanted)
    # What has been pushed beyond the bottom comes back up.
    lowest = CURVES_HEIGHT
    for number in range(len(places) - 1, -1, -1):
        places[number] = min(places[number], lowest)
        lowest = places[number] - _NAME_ROW
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
