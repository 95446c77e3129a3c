"""What the marks of a figure mean: a sample of each, and its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import THEMES, Canvas, ThemeName
from deniable_aggregator.media.pictures.lines import draw_cut, is_cut
from deniable_aggregator.media.pictures.marks import draw_mark, draw_verdict, drawn_marks
from deniable_aggregator.telling.figure import (
    CHANGES,
    Dot,
    Dots,
    Figure,
    Grid,
    Histogram,
    Lines,
    Panel,
)
from deniable_aggregator.telling.figure_words import MARKS, UNTOLD, VERDICTS
from deniable_aggregator.telling.interval import times_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.interval import Interval

    Sample = tuple[Callable[[Canvas], None], str]

SAMPLE: Final = 26.0
"""How wide a sample is, in pixels."""


def key_of(figure: Figure) -> list[Sample]:
    """What draws a sample of a mark, and what the mark means.

    Args:
        figure: what is drawn.
    """
    key: list[Sample] = []
    marked = [each for panel in figure.panels for each in _intervals(panel)]
    if any(interval.told for interval, _ in marked):
        what = "clear change; " if any(unit in CHANGES for _, unit in marked) else ""
        held = f"inner part holds the true number 1 time in 2, the whole {_often(figure.level)}"
        key.append((_band, f"{what}dot: best estimate; {held}"))
    for unit in dict.fromkeys(unit for interval, unit in marked if not interval.told):
        if unit == "share":
            key.append((_whisker, f"{UNTOLD[unit]}: upper end only"))
        elif unit in UNTOLD:
            key.append((_unclear, UNTOLD[unit]))
    dots = [dot for panel in figure.panels for dot in _dots(panel)]
    if any(dot.truth is not None for dot in dots):
        key.append((_truth, "truth"))
    if any(dot.adjusted is not None for dot in dots):
        key.append((_adjusted, "adjusted"))
    if any(isinstance(panel, Histogram) for panel in figure.panels):
        key.append((_bar, "share of a bin, with its interval"))
    marks = {
        mark
        for panel in figure.panels
        if isinstance(panel, Lines)
        for each in panel.marks
        for mark in drawn_marks(each)
    }
    if any(isinstance(panel, Lines) and is_cut(panel) for panel in figure.panels):
        key.append((_cut, "goes on beyond the picture: too few reports to say more"))
    verdicts = {
        verdict
        for panel in figure.panels
        if isinstance(panel, Grid)
        for row in panel.rows
        for verdict in row.verdicts
    }
    key += [(_verdict(each), words) for each, words in VERDICTS.items() if each in verdicts]
    return [*key, *((_mark(mark), words) for mark, words in MARKS.items() if mark in marks)]


def _often(level: float) -> str:
    return times_in_words(level).replace(" times", "")


_SAMPLE_HEIGHT: Final = 18


def samples_of(figure: Figure, theme: ThemeName = "page") -> list[tuple[str, str]]:
    """The key as SVG documents of one sample each, and their words, for a page that says them once.

    Args:
        figure: what is drawn.
        theme: of the samples.
    """
    found = []
    for draw, words in key_of(figure):
        canvas = Canvas(THEMES[theme])
        with canvas.group("sample", move=(0, _SAMPLE_HEIGHT / 2)):
            draw(canvas)
        box = f'viewBox="0 0 {SAMPLE:.0f} {_SAMPLE_HEIGHT}"'
        size = f'width="{SAMPLE:.0f}" height="{_SAMPLE_HEIGHT}"'
        found.append((f'<svg {box} {size} aria-hidden="true">{canvas.svg()}</svg>', words))
    return found


def _dots(panel: Panel) -> tuple[Dot, ...]:
    return panel.dots if isinstance(panel, Dots) else ()


def _intervals(panel: Panel) -> Iterator[tuple[Interval, Unit]]:
    """The intervals that are drawn as bands or whiskers, and their units."""
    if isinstance(panel, Dots):
        yield from ((dot.interval, panel.unit) for dot in panel.dots)
    elif isinstance(panel, Lines):
        for line in panel.lines:
            found = (moment.interval for moment in line.moments)
            yield from ((each, panel.unit) for each in found if each is not None)
    elif isinstance(panel, Histogram):
        yield from ((each.interval, "number") for each in panel.placed)


def _band(canvas: Canvas) -> None:
    canvas.box(0, -3.5, SAMPLE, 7, canvas.theme.band)
    canvas.box(8, -3.5, 10, 7, canvas.theme.core)
    canvas.dot(13, 0, 2.5, canvas.theme.ink)


def _whisker(canvas: Canvas) -> None:
    canvas.line((4, 0), (SAMPLE, 0), canvas.theme.unclear, 1.5)
    canvas.line((SAMPLE, -4), (SAMPLE, 4), canvas.theme.unclear, 1.5)
    canvas.dot(8, 0, 3.5, canvas.theme.inside, canvas.theme.unclear)


def _unclear(canvas: Canvas) -> None:
    canvas.line((0, 0), (SAMPLE, 0), canvas.theme.unclear, 1.5)
    canvas.line((7, 0), (19, 0), canvas.theme.unclear, 4)
    canvas.dot(13, 0, 3.5, canvas.theme.inside, canvas.theme.unclear)


def _truth(canvas: Canvas) -> None:
    canvas.line((13, -8), (13, 8), canvas.theme.truth, 2)


def _adjusted(canvas: Canvas) -> None:
    corners: list[tuple[float, float]] = [(9, 0), (13, -4), (17, 0), (13, 4)]
    canvas.shape(corners, canvas.theme.inside, canvas.theme.adjusted, 1.5)


def _bar(canvas: Canvas) -> None:
    canvas.box(7, -4, 12, 9, canvas.theme.band)
    canvas.line((13, -7), (13, -1), canvas.theme.ink)


def _cut(canvas: Canvas) -> None:
    draw_cut(canvas, 13, 3, -5)


def _verdict(verdict: str) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        if verdict == "ok":
            canvas.box(8, -5, 10, 10, canvas.theme.band)
        else:
            draw_verdict(canvas, verdict, 13, 0)

    return draw


def _mark(mark: str) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        if mark == "release":
            canvas.line((13, -8), (13, 8), canvas.theme.ink, 1.2, dashes="4 3")
        draw_mark(canvas, [mark], 13, 0)

    return draw
