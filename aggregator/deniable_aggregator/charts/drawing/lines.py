"""Numbers over time: a small picture for each, all over the same periods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.alternative import moment_in_words
from deniable_aggregator.charts.drawing.canvas import SMALL, TEXT
from deniable_aggregator.charts.drawing.dots import PHONE, RADIUS, SMALLEST_DOT
from deniable_aggregator.charts.drawing.events import NUMBER_ROW, draw_event_texts, draw_events
from deniable_aggregator.charts.drawing.marks import MARK_ROW, draw_mark, draw_marked_day
from deniable_aggregator.charts.drawing.scales import Scale, scale_over, tick_words
from deniable_aggregator.charts.drawing.texts import text_width
from deniable_aggregator.charts.shown import shown_part
from deniable_aggregator.charts.words import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from deniable_aggregator.charts.drawing.canvas import Canvas
    from deniable_aggregator.charts.figure import Interval, Line, Lines, Moment

HEIGHT: Final = 150.0
ALONE_HEIGHT: Final = 220.0
LEAST_WIDTH: Final = 240.0
"""Of a small picture, in pixels, where there are more than two beside one another."""

MOST_COLUMNS: Final = 4
LEAST_STEP: Final = 9.0
"""Where periods are closer to each other, in pixels, intervals are a band instead of marks."""

LEAST_RADIUS: Final = 1.0
"""Of hollow marks on a band; where there is less room, only the text says what they would."""

OWN_SCALES: Final = 5.0
"""Where the largest numbers vary by more times the smallest, each picture has its own scale."""

_GAP: Final = 22.0
_TICK_PIXELS: Final = 40
_FADED: Final = 0.16


def draw_lines(canvas: Canvas, panel: Lines, width: float) -> float:
    """Draws the lines; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: the lines.
        width: of the panel, in pixels.
    """
    columns = 1 if width < PHONE else max(2, min(MOST_COLUMNS, int(width / LEAST_WIDTH)))
    columns = min(columns, len(panel.lines)) or 1
    wide = (width - _GAP * (columns - 1)) / columns
    high = ALONE_HEIGHT if len(panel.lines) == 1 else HEIGHT
    y = 0.0
    if panel.heading:
        canvas.text(0, 14, panel.heading, size=TEXT + 1, bold=True, within=width)
        y += 24
    ends = [_ends(line, panel) for line in panel.lines]
    own = scales_differ(panel)
    said = panel.axis + ("; each picture has a scale of its own" if own else "")
    y += canvas.paragraph(y, said, width) + 8
    everything = [number for each in ends for number in each]
    for first in range(0, len(panel.lines), columns):
        for column, line in enumerate(panel.lines[first : first + columns]):
            numbers = ends[first + column] if own else everything
            scale = scale_over(numbers, high, 0.0, pad=0.04)
            with canvas.group("line", move=(column * (wide + _GAP), y)):
                _draw_line(canvas, line, panel, scale, wide, high)
        y += high + 60 + (MARK_ROW if any(panel.marks) else 0) + (NUMBER_ROW if panel.events else 0)
    y += draw_event_texts(canvas, panel, width, y - 6)
    if panel.left_out:
        y += canvas.paragraph(y - 6, panel.left_out, width)
    return y - 8


def scales_differ(panel: Lines) -> bool:
    """Whether numbers are so different that each line has a scale of its own."""
    spans = [max(each) - min(each) for each in (_ends(line, panel) for line in panel.lines) if each]
    return bool(spans) and max(spans) > OWN_SCALES * min(spans)


def _ends(line: Line, panel: Lines) -> list[float]:
    """The numbers that the axis of a line must have room for; of shares, zero too."""
    found = [end for each in _intervals(line) for end in range_of(each, panel)]
    if panel.unit == "share":
        return [0.0, *found]
    low, high = (min(found), max(found)) if found else (0.0, 0.0)
    return [0.0, *found] if 0 < low < high - low else found


def range_of(interval: Interval, panel: Lines) -> tuple[float, float]:
    """From where to where an interval is drawn."""
    shown = shown_part(interval, panel.unit)
    return shown.low, shown.high


def _intervals(line: Line) -> Iterator[Interval]:
    return (each.interval for each in line.moments if each.interval is not None)


def _draw_line(
    canvas: Canvas, line: Line, panel: Lines, scale: Scale, width: float, height: float
) -> None:
    theme = canvas.theme
    newest = next((each.interval for each in reversed(line.moments) if each.interval), None)
    newest_words = "" if newest is None else f"last {in_words(newest, panel.unit)}"
    room = width - text_width(newest_words, SMALL) - 10
    canvas.text(0, 12, line.label, bold=True, within=room, kind="label")
    canvas.text(width, 12, newest_words, size=SMALL, anchor="end", color=theme.muted, kind="range")
    ticks = scale.ticks(max(2, int(height / _TICK_PIXELS)))
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    words = [tick_words(tick, step, panel.unit) for tick in ticks]
    left = max((text_width(each, SMALL) for each in words), default=0.0) + 8
    with canvas.group("plot", move=(0, 24 + (NUMBER_ROW if panel.events else 0))):
        across = Scale(0, max(len(line.moments), 1), left, width)
        for number, marks in enumerate(panel.marks):
            draw_marked_day(canvas, marks, across(number), across(number + 1), height)
        for tick, said in zip(ticks, words, strict=True):
            y = scale(tick)
            if tick == 0:
                canvas.line((left, y), (width, y), theme.ink, kind="zero")
            else:
                canvas.line((left, y), (width, y), theme.ink, opacity=_FADED)
            canvas.text(left - 6, y + 4, said, size=SMALL, anchor="end", color=theme.muted)
        draw_moments(canvas, line, panel, scale, across)
        draw_events(canvas, panel, across, height)
        base = height + 4
        for first, last, marks in _marked(panel, apart=across(1) - across(0) >= LEAST_STEP):
            middle = (across(first) + across(last + 1)) / 2
            draw_mark(canvas, marks, middle, base + MARK_ROW / 2)
        base += MARK_ROW if any(panel.marks) else 0
        draw_days(canvas, [each.since for each in line.moments], panel.by, across, base)


def _marked(panel: Lines, *, apart: bool) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Periods with marks: the first and the last of some in a row, unless each has a mark apart."""
    first = 0
    for number, marks in enumerate(panel.marks):
        if number + 1 < len(panel.marks) and panel.marks[number + 1] == marks and not apart:
            continue
        if marks:
            yield first, number, marks
        first = number + 1


def draw_moments(
    canvas: Canvas,
    line: Line,
    panel: Lines,
    scale: Scale,
    across: Scale,
    *,
    least_step: float = LEAST_STEP,
) -> None:
    """Marks, or a band where periods are close together; nothing where there are no reports.

    Args:
        canvas: to draw on.
        line: its periods.
        panel: that it belongs to.
        scale: of the numbers.
        across: of the periods, by number.
        least_step: how many pixels are between periods, at least, for each to have a mark.
    """
    step = across(1) - across(0)
    for first, run in _runs(line.moments):
        if step < least_step and len(run) > 1:
            _draw_band(
                canvas, run, panel, scale, [across(first + n + 0.5) for n in range(len(run))]
            )
            continue
        middles = [across(first + number + 0.5) for number in range(len(run))]
        points = [
            (x, scale(_shown(each, panel))) for x, each in zip(middles, _of(run), strict=True)
        ]
        if len(points) > 1:
            canvas.curve(points, canvas.theme.ink, 1)
        for x, moment in zip(middles, run, strict=True):
            with canvas.group("row", moment_in_words(moment, panel)):
                _draw_moment(canvas, moment, panel, scale, x, min(7.0, 0.7 * step))


def _draw_band(
    canvas: Canvas, run: Sequence[Moment], panel: Lines, scale: Scale, middles: Sequence[float]
) -> None:
    theme, intervals = canvas.theme, [shown_part(each, panel.unit) for each in _of(run)]
    upper = [(x, scale(each.high)) for x, each in zip(middles, intervals, strict=True)]
    lower = [(x, scale(each.low)) for x, each in zip(middles, intervals, strict=True)]
    canvas.shape([*upper, *reversed(lower)], theme.band, kind="interval")
    upper = [(x, scale(each.core_high)) for x, each in zip(middles, intervals, strict=True)]
    lower = [(x, scale(each.core_low)) for x, each in zip(middles, intervals, strict=True)]
    canvas.shape([*upper, *reversed(lower)], theme.core, kind="core")
    points = [(x, scale(_shown(each, panel))) for x, each in zip(middles, intervals, strict=True)]
    canvas.curve(points, theme.ink, 1.2, kind="estimate")
    radius = min(2.0, (middles[1] - middles[0]) / 2.5)
    for (x, y), each in zip(points, intervals, strict=True):
        if not each.told and radius >= LEAST_RADIUS:
            canvas.dot(x, y, radius, theme.background or "#ffffff", theme.unclear, kind="untold")


def _draw_moment(
    canvas: Canvas, moment: Moment, panel: Lines, scale: Scale, x: float, wide: float
) -> None:
    theme = canvas.theme
    if moment.interval is None:
        return
    interval = shown_part(moment.interval, panel.unit)
    low, high = scale(interval.low), scale(interval.high)
    if interval.told or panel.unit != "share":
        canvas.box(x - wide / 2, high, wide, low - high, theme.band, kind="interval")
        core = scale(interval.core_low), scale(interval.core_high)
        canvas.box(x - wide / 2, core[1], wide, core[0] - core[1], theme.core, kind="core")
    else:
        canvas.line((x, low), (x, high), theme.unclear, 1.5, kind="interval")
        canvas.line((x - 3, high), (x + 3, high), theme.unclear, 1.5)
    if interval.estimate is None:
        return
    y = scale(_shown(interval, panel))
    if not interval.told:
        canvas.dot(x, y, min(RADIUS, wide / 2), theme.inside, theme.unclear, kind="estimate")
    elif (low - high) / 4 < SMALLEST_DOT:
        reach = wide / 2 + 2.5
        canvas.line((x - reach, y), (x + reach, y), theme.ink, 1.5, kind="estimate")
    else:
        canvas.dot(x, y, min(2.5, wide / 2, (low - high) / 4), theme.ink, kind="estimate")


def _shown(interval: Interval, panel: Lines) -> float:
    """Where the estimate is drawn; without one, the middle of the interval."""
    shown = shown_part(interval, panel.unit)
    return (shown.low + shown.high) / 2 if shown.estimate is None else shown.estimate


def _runs(moments: Sequence[Moment]) -> Iterator[tuple[int, list[Moment]]]:
    """Periods in a row that have an estimate, and the number of the first."""
    run: list[Moment] = []
    for number, moment in enumerate(moments):
        if moment.interval is not None:
            run.append(moment)
        elif run:
            yield number - len(run), run
            run = []
    if run:
        yield len(moments) - len(run), run


def _of(run: Sequence[Moment]) -> list[Interval]:
    return [each.interval for each in run if each.interval is not None]


def draw_days(canvas: Canvas, days: Sequence[date], by: str, across: Scale, top: float) -> None:
    """The first days of some periods below an axis, at equal distances.

    Args:
        canvas: to draw on.
        days: the first day of each period.
        by: how long a period is.
        across: of the periods, by number.
        top: where the axis is.
    """
    form = "%Y-%m" if by == "month" else "%Y-%m-%d"
    wide = text_width("2026-12" if by == "month" else "2026-12-31", SMALL) + 14
    fitting = max(1, int((across.end - across.start) / wide))
    muted, taken = canvas.theme.muted, -1.0
    for number in range(0, len(days), -(-len(days) // fitting)):
        x = (across(number) + across(number + 1)) / 2
        said = f"{days[number]:{form}}"
        half = text_width(said, SMALL) / 2
        middle = min(max(x, half), across.end - half)
        canvas.line((x, top), (x, top + 4), canvas.theme.ink)
        if middle - half > taken:
            canvas.text(middle, top + 15, said, size=SMALL, anchor="middle", color=muted)
            taken = middle + half + 4
