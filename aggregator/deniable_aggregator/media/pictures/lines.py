"""Numbers over time: a small picture for each, all over the same periods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import FADED, SMALL, Canvas
from deniable_aggregator.media.pictures.dots import RADIUS, SMALLEST_DOT
from deniable_aggregator.media.pictures.events import (
    NUMBER_ROW,
    draw_event_texts,
    draw_events,
)
from deniable_aggregator.media.pictures.layout import PHONE, Scale, scale_over, text_width
from deniable_aggregator.media.pictures.marks import (
    MARK_ROW,
    draw_days,
    draw_mark,
    draw_marked_day,
)
from deniable_aggregator.telling.figure_words import moment_in_words, range_in_words
from deniable_aggregator.telling.interval import Interval, shown_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.figure import Line, Lines, Moment


HEIGHT: Final = 150.0
ALONE_HEIGHT: Final = 220.0
PHONE_HEIGHT: Final = 72.0
"""Of two pictures beside one another on a phone."""

ABOVE_PLOT: Final = 24.0
"""Room for the name of a picture, in pixels."""

LEAST_WIDTH: Final = 240.0
"""Of a small picture, in pixels, where there are more than two beside one another."""

MOST_COLUMNS: Final = 4
LEAST_STEP: Final = 9.0
"""Where periods are closer to each other, in pixels, intervals are a band instead of marks."""

LEAST_RADIUS: Final = 1.0
"""Of hollow marks on a band; where there is less room, only the text says what they would."""

OWN_SCALES: Final = 5.0
"""Where the largest numbers vary by more times the smallest, each picture has its own scale."""

THIN: Final = 4.0
"""A period whose interval is so many times as wide as that in the middle says too little to make
the axis longer: what lies beyond is cut off, with a mark."""

_GAP: Final = 22.0
_TICK_PIXELS: Final = 40
PAD: Final = 0.04
"""How much longer the axis is than the numbers at both ends, as a part of its length."""

_CUT: Final = 4.0
"""How high and half as wide the mark of an interval that goes on is, in pixels."""


def draw_lines(canvas: Canvas, panel: Lines, width: float) -> float:
    """Draws the lines; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: the lines.
        width: of the panel, in pixels.
    """
    columns = max(2, min(MOST_COLUMNS, int(width / LEAST_WIDTH)))
    columns = min(columns, len(panel.lines)) or 1
    wide = (width - _GAP * (columns - 1)) / columns
    high, above = (ALONE_HEIGHT if len(panel.lines) == 1 else HEIGHT), ABOVE_PLOT
    if width < PHONE and columns > 1:
        high, above = PHONE_HEIGHT, ABOVE_PLOT + SMALL + 3
    y = canvas.heading(panel.heading, width)
    ends = [axis_ends(line, panel) for line in panel.lines]
    own = scales_differ(panel)
    said = panel.axis + ("; each picture has a scale of its own" if own else "")
    y += canvas.paragraph(y, said, width) + 8
    everything = [number for each in ends for number in each]
    for first in range(0, len(panel.lines), columns):
        for column, line in enumerate(panel.lines[first : first + columns]):
            numbers = ends[first + column] if own else everything
            scale = scale_over(numbers, high, 0.0, pad=PAD)
            with canvas.group("line", move=(column * (wide + _GAP), y)):
                _draw_line(canvas, line, panel, scale, wide, high, above)
        y += (
            high
            + above
            + 36
            + (MARK_ROW if any(panel.marks) else 0)
            + (NUMBER_ROW if panel.events else 0)
        )
    y += draw_event_texts(canvas, panel, width, y - 6)
    if panel.left_out:
        y += canvas.paragraph(y - 6, panel.left_out, width)
    return y - 8


def scales_differ(panel: Lines) -> bool:
    """Whether numbers are so different that each line has a scale of its own."""
    spans = [
        max(each) - min(each) for each in (axis_ends(line, panel) for line in panel.lines) if each
    ]
    return bool(spans) and max(spans) > OWN_SCALES * min(spans)


def axis_ends(line: Line, panel: Lines) -> list[float]:
    """The numbers that the axis of a line must have room for; of shares, zero too.

    Args:
        line: its periods.
        panel: that it belongs to.
    """
    found = telling_ends(line, panel)
    if panel.unit == "share":
        return [0.0, *found]
    low, high = (min(found), max(found)) if found else (0.0, 0.0)
    return [0.0, *found] if 0 < low < high - low else found


def telling_ends(line: Line, panel: Lines) -> list[float]:
    """The ends of the intervals of a line, without those of periods that say little.

    Args:
        line: its periods.
        panel: that it belongs to.
    """
    shown = [shown_part(each, panel.unit) for each in _intervals(line)]
    widths = sorted(each.high - each.low for each in shown)
    most = THIN * widths[(len(widths) - 1) // 2] if widths else 0.0
    telling = [each for each in shown if each.high - each.low <= most or not most]
    return [end for each in telling for end in (each.low, each.high)]


def is_cut(panel: Lines) -> bool:
    """Whether the interval of some period goes on beyond the picture.

    Args:
        panel: the lines.
    """
    ends = [axis_ends(line, panel) for line in panel.lines]
    everything = [number for each in ends for number in each]
    own = scales_differ(panel)
    for line, numbers in zip(panel.lines, ends, strict=True):
        axis = scale_over(numbers if own else everything, 1.0, 0.0, pad=PAD)
        if any(any(_beyond(shown_part(each, panel.unit), axis)) for each in _intervals(line)):
            return True
    return False


def _beyond(shown: Interval, scale: Scale) -> tuple[bool, bool]:
    """Whether an interval goes on below the axis, and above it."""
    return shown.low < scale.low, shown.high > scale.high


def _intervals(line: Line) -> Iterator[Interval]:
    return (each.interval for each in line.moments if each.interval is not None)


def newest_in_words(line: Line, unit: Unit) -> str:
    """The newest number of a line, such as "latest: 32 to 41%"; empty if there is none."""
    newest = next((each.interval for each in reversed(line.moments) if each.interval), None)
    return "" if newest is None else f"latest: {range_in_words(newest, unit)}"


def _draw_line(
    canvas: Canvas,
    line: Line,
    panel: Lines,
    scale: Scale,
    width: float,
    height: float,
    above: float,
) -> None:
    """A picture with its name and newest number above, below one another where that is narrow."""
    muted = canvas.theme.muted
    newest_words = newest_in_words(line, panel.unit)
    beside = above == ABOVE_PLOT
    room = width - (text_width(newest_words, SMALL) + 10 if beside else 0)
    canvas.text(0, 12, line.label, bold=True, within=room, kind="label")
    if beside:
        canvas.text(width, 12, newest_words, size=SMALL, anchor="end", color=muted, kind="range")
    else:
        canvas.text(0, 26, newest_words, size=SMALL, color=muted, within=width, kind="range")
    with canvas.group("plot", move=(0, above + (NUMBER_ROW if panel.events else 0))):
        draw_plot(canvas, line, panel, scale, width, height)


def draw_plot(
    canvas: Canvas,
    line: Line,
    panel: Lines,
    scale: Scale,
    width: float,
    height: float,
    *,
    least_step: float = LEAST_STEP,
) -> Scale:
    """The axes of a line and what is between them; returns where its periods are, by number.

    Args:
        canvas: to draw on, from y = 0 on.
        line: its periods.
        panel: that it belongs to.
        scale: of the numbers.
        width: with the words of the axis, in pixels.
        height: without the row of days below, in pixels.
        least_step: as of `draw_moments`.
    """
    theme = canvas.theme
    ticks = scale.named_ticks(max(2, int(height / _TICK_PIXELS)), panel.unit)
    left = max((text_width(words, SMALL) for _, words in ticks), default=0.0) + 8
    across = Scale(0, max(len(line.moments), 1), left, width)
    for number, marks in enumerate(panel.marks):
        draw_marked_day(canvas, marks, across(number), across(number + 1), height)
    for tick, words in ticks:
        y = scale(tick)
        if tick == 0:
            canvas.line((left, y), (width, y), theme.ink, kind="zero")
        else:
            canvas.line((left, y), (width, y), theme.ink, opacity=FADED)
        canvas.text(left - 6, y + 4, words, size=SMALL, anchor="end", color=theme.muted)
    draw_moments(canvas, line, panel, scale, across, least_step=least_step)
    draw_events(canvas, panel, across, height)
    base = height + 4
    for first, last, marks in _marked(panel, apart=across(1) - across(0) >= LEAST_STEP):
        middle = (across(first) + across(last + 1)) / 2
        draw_mark(canvas, marks, middle, base + MARK_ROW / 2)
    base += MARK_ROW if any(panel.marks) else 0
    draw_days(canvas, [each.since for each in line.moments], panel.by, across, base)
    return across


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
    for first, run in _runs(line.moments, panel.marks):
        if step < least_step and len(run) > 1:
            _draw_band(
                canvas, run, panel, scale, [across(first + n + 0.5) for n in range(len(run))]
            )
            continue
        middles = [across(first + number + 0.5) for number in range(len(run))]
        for points in _connected(run, panel, scale, middles):
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
    for points in _connected(run, panel, scale, middles):
        canvas.curve(points, theme.ink, 1.2, kind="estimate")
    radius = min(2.0, (middles[1] - middles[0]) / 2.5)
    for x, each in zip(middles, intervals, strict=True):
        _draw_cuts(canvas, each, scale, x)
        y = scale(_shown(each, panel))
        if not each.told and radius >= LEAST_RADIUS and inside(_shown(each, panel), scale):
            canvas.dot(x, y, radius, theme.background or "#ffffff", theme.unclear, kind="untold")


def _connected(
    run: Sequence[Moment], panel: Lines, scale: Scale, middles: Sequence[float]
) -> Iterator[list[tuple[float, float]]]:
    """Where estimates in a row are that the axis has room for, if there are several."""
    points: list[tuple[float, float]] = []
    for x, each in zip(middles, _of(run), strict=True):
        estimate = _shown(each, panel)
        if inside(estimate, scale):
            points.append((x, scale(estimate)))
            continue
        if len(points) > 1:
            yield points
        points = []
    if len(points) > 1:
        yield points


def inside(number: float, scale: Scale) -> bool:
    """Whether a number is between the ends of an axis.

    Args:
        number: any.
        scale: the axis.
    """
    return scale.low <= number <= scale.high


def _draw_cuts(canvas: Canvas, shown: Interval, scale: Scale, x: float) -> None:
    """An arrow at each end of the axis beyond which an interval goes on."""
    ends = (scale.start, -_CUT), (scale.end, _CUT)
    for goes_on, (edge, length) in zip(_beyond(shown, scale), ends, strict=True):
        if goes_on:
            draw_cut(canvas, x, edge, -length)


def draw_cut(canvas: Canvas, x: float, y: float, length: float) -> None:
    """The arrow of an interval that goes on beyond the picture.

    Args:
        canvas: to draw on.
        x: its middle.
        y: where it begins.
        length: how far it goes down, in pixels; up if negative.
    """
    corners = [(x, y + length), (x + _CUT, y), (x - _CUT, y)]
    canvas.shape(corners, canvas.theme.unclear, kind="cut")


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
    _draw_cuts(canvas, interval, scale, x)
    if interval.estimate is None or not inside(interval.estimate, scale):
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


def _runs(
    moments: Sequence[Moment], marks: Sequence[Sequence[str]]
) -> Iterator[tuple[int, list[Moment]]]:
    """Periods in a row whose estimates can be compared, and the number of the first."""
    run: list[Moment] = []
    for number, moment in enumerate(moments):
        ends = moment.interval is None or "unlike" in marks[number]
        if run and ends:
            yield number - len(run), run
            run = []
        if moment.interval is not None:
            run.append(moment)
    if run:
        yield len(moments) - len(run), run


def _of(run: Sequence[Moment]) -> list[Interval]:
    return [each.interval for each in run if each.interval is not None]
