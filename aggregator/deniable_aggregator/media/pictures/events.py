"""What happened in the periods of a series: a rule with a number at its day, and its text below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import SMALL, Canvas
from deniable_aggregator.media.pictures.layout import Scale, text_width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.telling.figure import Event, Lines

MOST_SAID: Final = 8
"""Events whose texts stand below a picture: the newest; all have a rule."""

NUMBER_ROW: Final = 8.0
"""How much higher the room above a plot is for the numbers, in pixels."""

_BELOW: Final = 6.0
ABOVE: Final = 3.0
"""How far above the plot numbers stand, in pixels."""


def draw_events(canvas: Canvas, panel: Lines, across: Scale, height: float) -> None:
    """The rules, and as many of their numbers as there is room for.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: that has the events.
        across: of the periods, by number.
        height: of the plot.
    """
    ink, taken = canvas.theme.ink, across.start - 1.0
    for number, event in enumerate(panel.events, 1):
        place = place_of(event, panel)
        if place is None:
            continue
        x, said = across(place), str(number)
        with canvas.group("event", f"{event.day}: {event.text}"):
            canvas.line((x, 0), (x, height), ink, 1.2, kind="event-day", dashes="1 3")
            half = text_width(said, SMALL, bold=True) / 2
            if x - half > taken:
                canvas.text(x, -ABOVE, said, size=SMALL, anchor="middle", bold=True)
                taken = x + half + 2


def draw_event_texts(canvas: Canvas, panel: Lines, width: float, y: float) -> float:
    """The days and texts, a line each; returns how high they are.

    Args:
        canvas: to draw on.
        panel: that has the events.
        width: of the panel, in pixels.
        y: where they begin.
    """
    top = y
    for line in event_lines(panel):
        y += canvas.paragraph(y, line, width)
    return y - top + (_BELOW if y > top else 0)


def event_lines(panel: Lines) -> Iterator[str]:
    """What stands below a picture, such as "1: 2026-10-01, Version 3.2".

    Args:
        panel: that has the events.
    """
    first = max(0, len(panel.events) - MOST_SAID)
    for number, event in enumerate(panel.events[first:], first + 1):
        yield f"{number}: {event.day}, {event.text}"
    if first:
        yield f"and {first} before"


def place_of(event: Event, panel: Lines) -> float | None:
    """Where an event is: the number of its period, and how much of that was over.

    Args:
        event: one of the panel's.
        panel: has the periods.

    Returns:
        None if it is in none of them.
    """
    for number, moment in enumerate(panel.lines[0].moments if panel.lines else ()):
        if moment.since <= event.day <= moment.until:
            length = (moment.until - moment.since).days + 1
            return number + (event.day - moment.since).days / length
    return None
