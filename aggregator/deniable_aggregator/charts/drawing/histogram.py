"""A histogram, with its mean and quantiles on the same axis below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.alternative import bar_in_words, placed_in_words
from deniable_aggregator.charts.drawing.canvas import SMALL, TEXT
from deniable_aggregator.charts.drawing.dots import PHONE, draw_interval
from deniable_aggregator.charts.drawing.scales import Scale, scale_over, tick_words
from deniable_aggregator.charts.drawing.texts import centred, text_width
from deniable_aggregator.charts.shown import shown_part
from deniable_aggregator.charts.words import in_words

if TYPE_CHECKING:
    from deniable_aggregator.charts.drawing.canvas import Canvas
    from deniable_aggregator.charts.figure import Histogram

HEIGHT: Final = 190.0
_ROW: Final = 24.0
_GAP: Final = 12.0
_TICK_PIXELS: Final = 80
_FADED: Final = 0.16


def draw_histogram(canvas: Canvas, panel: Histogram, width: float) -> float:
    """Draws bars and rows; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: what is drawn.
        width: of the panel, in pixels.
    """
    theme, y = canvas.theme, 0.0
    if panel.heading:
        canvas.text(0, 14, panel.heading, size=TEXT + 1, bold=True, within=width)
        y += 24
    canvas.text(0, y + 11, panel.shares, size=SMALL, color=theme.muted, within=width)
    y += 20
    said = [in_words(each.interval, "number") for each in panel.placed]
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
    up = scale_over([0.0, *heights], HEIGHT, 0.0, pad=0.03)
    with canvas.group("plot", move=(0, y)):
        _share_axis(canvas, up, start, end)
        _bars(canvas, panel, across, up)
        _number_axis(canvas, across, HEIGHT, width)
    y += HEIGHT + 20
    canvas.text(end, y + 11, panel.axis, size=SMALL, anchor="end", color=theme.muted, within=end)
    y += 20
    for each, interval, text in zip(panel.placed, numbers, said, strict=True):
        with canvas.group("row", placed_in_words(each)):
            middle = y + (27 if phone else _ROW / 2)
            base = y + 13 if phone else middle + 4
            canvas.text(0, base, each.name, within=width / 2 if phone else start, kind="label")
            canvas.text(width, base, text, anchor="end", kind="range")
            canvas.line((start, middle), (end, middle), theme.ink, opacity=_FADED)
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
    ticks = up.ticks(4)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    for tick in ticks:
        y = up(tick)
        if abs(tick) > 1e-12:
            canvas.line((start, y), (end, y), theme.ink, opacity=_FADED)
        words = tick_words(tick, step, "share")
        canvas.text(start - 6, y + 4, words, size=SMALL, anchor="end", color=theme.muted)
    canvas.line((start, up(0)), (end, up(0)), theme.ink, kind="zero")


def _number_axis(canvas: Canvas, across: Scale, top: float, width: float) -> None:
    ticks = across.ticks(max(2, int((across.end - across.start) / _TICK_PIXELS)))
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    for tick in ticks:
        x = across(tick)
        canvas.line((x, top), (x, top + 4), canvas.theme.ink)
        words = tick_words(tick, step, "number")
        x = centred(x, words, SMALL, width)
        canvas.text(x, top + 16, words, size=SMALL, anchor="middle", color=canvas.theme.muted)
