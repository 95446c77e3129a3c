"""One number over time, as wide as the page, whose periods lead somewhere and say their numbers.

A drawing for pages alone: all of it is elements, and the style of pages shows what a period says
while a pointer or the keyboard is there.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import SMALL, TEXT, THEMES, Canvas, escaped, pixels
from deniable_aggregator.media.pictures.events import NUMBER_ROW, draw_event_texts
from deniable_aggregator.media.pictures.layout import FONT, PHONE, Scale, scale_over
from deniable_aggregator.media.pictures.lines import (
    PAD,
    axis_ends,
    draw_plot,
    inside,
    newest_in_words,
)
from deniable_aggregator.media.pictures.marks import MARK_ROW
from deniable_aggregator.telling.figure import Lines
from deniable_aggregator.telling.figure_words import (
    described,
    number_of_period,
)
from deniable_aggregator.telling.interval import shown_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.telling.figure import Figure, Line

HEIGHT: Final = 280.0
PHONE_HEIGHT: Final = 160.0
LEAST_TARGET: Final = 26.0
"""Where periods are closer to each other, in pixels, none is large enough to be pointed at."""

_LABEL: Final = TEXT + 2
_BASE: Final = 15.0
_ROOM: Final = 0.6
"""Of the width, for numbers beside the name."""

_DOT: Final = 3.0


def followed_svg(figure: Figure, width: int, addresses: Sequence[str] = ()) -> str:
    """The first line of a series as an SVG document for a page, which has its warnings itself.

    Args:
        figure: of a series.
        width: of the drawing, in pixels; below 480 it is laid out for a phone.
        addresses: where each of its periods leads; empty for nowhere.
    """
    said = described(replace(figure, warnings=()))
    panel = next(panel for panel in figure.panels if isinstance(panel, Lines))
    line, canvas = panel.lines[0], Canvas(THEMES["page"])
    phone = width < PHONE
    height = PHONE_HEIGHT if phone else HEIGHT
    said_at = 2 * _BASE if phone else _BASE
    top = said_at + 14 + (NUMBER_ROW if panel.events else 0)
    scale = scale_over(axis_ends(line, panel), height, 0.0, pad=PAD)
    with canvas.group("plot", move=(0, top)):
        across = draw_plot(canvas, line, panel, scale, width, height, least_step=math.inf)
        _draw_estimates(canvas, line, panel, scale, across)
    _draw_heading(canvas, line, panel, width, said_at)
    bottom = top + height + 26 + (MARK_ROW if any(panel.marks) else 0)
    bottom += draw_event_texts(canvas, panel, width, bottom)
    drawing = canvas.svg()
    if addresses and across(1) - across(0) >= LEAST_TARGET:
        canvas = Canvas(THEMES["page"])
        for number, address in enumerate(addresses):
            _draw_period(canvas, panel, number, address, across, (top, top + height), said_at)
        drawing = f'<g role="img" aria-label="{escaped(said)}">{drawing}</g>'
        links, role, label = canvas.svg(), "group", f"{line.label}: {panel.axis}"
    else:
        links, role, label = "", "img", said
    box = f'viewBox="0 0 {width} {pixels(bottom)}" width="{width}" height="{pixels(bottom)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="followed" role="{role}" '
        f'aria-label="{escaped(label)}" {box} font-family="{FONT}" font-size="12" '
        f'fill="currentColor">{drawing}{links}</svg>\n'
    )


def _draw_heading(canvas: Canvas, line: Line, panel: Lines, width: float, base: float) -> None:
    """The name, and the newest number, in whose place the number of a chosen period stands."""
    words = newest_in_words(line, panel.unit)
    room = width if base > _BASE else width * (1 - _ROOM)
    canvas.text(0, _BASE, line.label, size=_LABEL, bold=True, within=room, kind="label")
    muted = canvas.theme.muted
    if base > _BASE:  # below the name
        canvas.text(0, base, words, size=SMALL, color=muted, within=width, kind="range")
    else:
        canvas.text(width, base, words, anchor="end", color=muted, kind="range")


def _draw_estimates(canvas: Canvas, line: Line, panel: Lines, scale: Scale, across: Scale) -> None:
    """A dot for each estimate where there is room; hollow ones are drawn with the band."""
    radius = min(_DOT, (across(1) - across(0)) / 5)
    for number, moment in enumerate(line.moments):
        if moment.interval is None:
            continue
        shown = shown_part(moment.interval, panel.unit)
        if shown.told and shown.estimate is not None and inside(shown.estimate, scale):
            x, y = across(number + 0.5), scale(shown.estimate)
            canvas.dot(x, y, radius, canvas.theme.ink, kind="estimate")


def _draw_period(
    canvas: Canvas,
    panel: Lines,
    number: int,
    address: str,
    across: Scale,
    ends: tuple[float, float],
    base: float,
) -> None:
    """What can be pointed at, and what is seen meanwhile: a rule and the number."""
    moment = panel.lines[0].moments[number]
    if moment.interval is None:
        return
    words = number_of_period(moment, panel, panel.marks[number])
    left, right, middle = across(number), across(number + 1), across(number + 0.5)
    with canvas.link("period", address, f"{words}: open"):
        top, bottom = ends
        canvas.box(left, top, right - left, bottom - top + 20, "transparent", kind="target")
        canvas.line((middle, top), (middle, bottom), canvas.theme.ink, kind="rule")
    width = across.end
    if base > _BASE:
        canvas.text(0, base, words, size=SMALL, within=width, kind="said")
    else:
        canvas.text(width, base, words, anchor="end", within=width * _ROOM, kind="said")
