"""Rows of intervals on one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import FADED, SMALL, TEXT, Canvas
from deniable_aggregator.media.pictures.layout import PHONE, Scale, centred, scale_over, text_width
from deniable_aggregator.telling.figure_words import dot_in_words, range_in_words
from deniable_aggregator.telling.interval import Interval, shown_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.telling.figure import Dot, Dots


BAND: Final = 7.0
CORE: Final = 7.0
RADIUS: Final = 3.0
SMALLEST_DOT: Final = 1.8
"""An interval that is narrower than such a dot has a stroke across it."""

_ROW, _TALL_ROW, _PHONE_ROW = 25.0, 36.0, 42.0
_LABELS: Final = 0.34
_GAP: Final = 14.0
_LEAST_ASIDE: Final = 40.0
"""Beside a label that leaves less room there is no further text."""

_TICK_PIXELS: Final = 80


def draw_dots(canvas: Canvas, panel: Dots, width: float) -> float:
    """Draws the rows; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: the rows.
        width: of the panel, in pixels.
    """
    phone = width < PHONE
    said = [range_in_words(dot.interval, panel.unit) for dot in panel.dots]
    labels = max((text_width(dot.label, TEXT) for dot in panel.dots), default=0.0)
    asides = max((text_width(dot.aside, SMALL) for dot in panel.dots), default=0.0)
    numbers = max((text_width(text, TEXT) for text in said), default=0.0) + 4
    beside = min(max(labels, asides) + 4, _LABELS * width)
    start, end = (4.0, width - 4) if phone else (beside + _GAP, width - numbers - _GAP)
    scale = scale_over(
        [panel.reference, *panel.ends, *(end for dot in panel.dots for end in ends_of(dot, panel))],
        start,
        end,
        log=panel.unit == "ratio",  # of which an interval that reaches zero has no lower end
        pad=0.02,
    )
    y = canvas.heading(panel.heading, width)
    y += canvas.paragraph(y, panel.axis, width)
    top, y = y + 19, y + 24
    rows = []
    for dot in panel.dots:
        rows.append(y)
        y += _PHONE_ROW if phone else _TALL_ROW if dot.aside else _ROW
    # On a phone labels stand above the marks, where no line may cross them.
    across = [(row + 19, row + 39) for row in rows] if phone else [(top, y)]
    _axis(canvas, panel, scale, top, across, width)
    for row, dot, text in zip(rows, panel.dots, said, strict=True):
        with canvas.group("row", dot_in_words(dot, panel.unit)):
            middle = row + (29 if phone else _TALL_ROW / 2 if dot.aside else _ROW / 2)
            base = row + 13 if phone else middle + (-2 if dot.aside else 4)
            room = width - numbers - _GAP if phone else beside
            canvas.text(0, base, dot.label, within=room, kind="label")
            after = text_width(dot.label, TEXT) + 8 if phone else 0.0
            if dot.aside and room - after > _LEAST_ASIDE:
                below = 0 if phone else 13
                canvas.text(
                    after,
                    base + below,
                    dot.aside,
                    size=SMALL,
                    color=canvas.theme.muted,
                    within=room - after,
                )
            muted = "" if dot.interval.told else canvas.theme.muted
            canvas.text(
                width, base if phone else middle + 4, text, anchor="end", color=muted, kind="range"
            )
            _row(canvas, dot, panel, scale, middle)
    if panel.left_out:
        y += 4 + canvas.paragraph(y + 4, panel.left_out, width)
    return y + 4


def ends_of(dot: Dot, panel: Dots) -> list[float | None]:
    """The numbers of a row that the axis must have room for."""
    shown = shown_part(dot.interval, panel.unit)
    return [shown.estimate, shown.low, shown.high, dot.truth, dot.adjusted]


def whisker_only(interval: Interval, panel: Dots) -> bool:
    """Whether only the upper end is drawn: of a share that cannot be told from zero."""
    return panel.unit == "share" and not interval.told


def _axis(
    canvas: Canvas,
    panel: Dots,
    scale: Scale,
    top: float,
    across: Sequence[tuple[float, float]],
    width: float,
) -> None:
    """Ticks, with their numbers above `top`, and the zero line, in some stretches of y."""
    theme = canvas.theme
    about = max(2, int((scale.end - scale.start) / _TICK_PIXELS))
    for tick, words in scale.named_ticks(about, panel.unit):
        x = scale(tick)
        if panel.reference is None or not math.isclose(tick, panel.reference, abs_tol=1e-12):
            for start, end in across:
                canvas.line((x, start), (x, end), theme.ink, opacity=FADED)
        x = centred(x, words, SMALL, width)
        canvas.text(x, top - 5, words, size=SMALL, anchor="middle", color=theme.muted)
    if panel.reference is None:
        return
    x = scale(panel.reference)
    for start, end in across:
        canvas.line((x, start), (x, end), theme.ink, kind="zero")


def _row(canvas: Canvas, dot: Dot, panel: Dots, scale: Scale, y: float) -> None:
    theme = canvas.theme
    shown = shown_part(dot.interval, panel.unit)
    if whisker_only(dot.interval, panel):
        draw_whisker(canvas, shown, scale, y)
    else:
        draw_interval(canvas, shown, scale, y)
    if dot.adjusted is not None:
        x, below = scale(dot.adjusted), y + BAND / 2 + 4
        corners = [(x - 4, below), (x, below - 4), (x + 4, below), (x, below + 4)]
        canvas.shape(corners, theme.inside, theme.adjusted, 1.5, kind="adjusted")
    if dot.truth is not None:
        x = scale(dot.truth)
        canvas.line((x, y - 9), (x, y + 9), theme.truth, 2, kind="truth")


def draw_interval(canvas: Canvas, interval: Interval, scale: Scale, y: float) -> None:
    """A band from end to end, its inner half stronger, and the estimate on it."""
    theme = canvas.theme
    low, high = scale(interval.low), scale(interval.high)
    if interval.told:
        canvas.box(low, y - BAND / 2, high - low, BAND, theme.band, kind="interval")
        core = scale(interval.core_low), scale(interval.core_high)
        canvas.box(core[0], y - CORE / 2, core[1] - core[0], CORE, theme.core, kind="core")
    else:
        canvas.line((low, y), (high, y), theme.unclear, 1.5, kind="interval")
        core = scale(interval.core_low), scale(interval.core_high)
        canvas.line((core[0], y), (core[1], y), theme.unclear, 4, kind="core")
    for end, x, outward in ((interval.low, low, -1), (interval.high, high, 1)):
        if not scale.low <= end <= scale.high:
            tip = [(x + 6 * outward, y), (x, y - 6), (x, y + 6)]
            canvas.shape(tip, theme.band if interval.told else theme.unclear, kind="beyond")
    if interval.estimate is None:
        return
    x, radius = scale(interval.estimate), min(RADIUS, (high - low) / 4)
    if radius < SMALLEST_DOT:
        canvas.line((x, y - 6.5), (x, y + 6.5), theme.ink, 1.5, kind="estimate")
    elif interval.told:
        canvas.dot(x, y, radius, theme.ink, kind="estimate")
    else:
        canvas.dot(x, y, radius, theme.inside, theme.unclear, kind="estimate")


def draw_whisker(canvas: Canvas, interval: Interval, scale: Scale, y: float) -> None:
    """A hollow mark at the estimate, and the upper end of an interval that begins at zero."""
    theme = canvas.theme
    high = scale(interval.high)
    canvas.line((scale(0), y), (high, y), theme.unclear, 1.5, kind="interval")
    canvas.line((high, y - 4), (high, y + 4), theme.unclear, 1.5)
    if interval.estimate is not None:
        x = scale(interval.estimate)
        radius = max(SMALLEST_DOT, min(RADIUS, (high - scale(0)) / 2))
        canvas.dot(x, y, radius, theme.inside, theme.unclear, kind="estimate")
