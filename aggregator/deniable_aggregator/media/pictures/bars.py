"""The intervals of a table's rows, each a small drawing, all on one axis that stands above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.media.pictures.canvas import FADED, SMALL, THEMES, Canvas
from deniable_aggregator.media.pictures.dots import draw_interval, draw_whisker
from deniable_aggregator.media.pictures.layout import FONT, Scale, centred, scale_over
from deniable_aggregator.telling.interval import shown_part

if TYPE_CHECKING:
    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.document import Table
    from deniable_aggregator.telling.interval import Interval

WIDTH: Final = 160
HEIGHT: Final = 20
_MARGIN: Final = 8.0
_TICKS: Final = 2
_AXIS_HEIGHT: Final = 16


class Bars(NamedTuple):
    """A column of drawings.

    Attributes:
        axis: what stands above it.
        rows: a drawing for each row of the table; empty of a row without an interval.
    """

    axis: str
    rows: list[str]


def bars_of(table: Table) -> Bars | None:
    """The intervals of a table as drawings for a page; None if it has none.

    Those who cannot see them have the same numbers in the cells beside.

    Args:
        table: with rows that have intervals.
    """
    unit, found = table.unit, [row.interval for row in table.rows]
    if unit is None or not any(found):
        return None
    shown = [None if each is None else shown_part(each, unit) for each in found]
    ends = [end for each in shown if each is not None for end in (each.low, each.high)]
    zero = [] if table.zero is None else [table.zero]
    scale = scale_over([*ends, *zero, *table.ends], _MARGIN, WIDTH - _MARGIN, log=unit == "ratio")
    ticks = scale.named_ticks(_TICKS, unit)
    axis = Canvas(THEMES["page"])
    for tick, words in ticks:
        x = centred(scale(tick), words, SMALL, WIDTH)
        axis.text(x, 12, words, size=SMALL, anchor="middle", color=axis.theme.muted)
    rows = ["" if each is None else _row(each, unit, scale, ticks, zero) for each in shown]
    return Bars(_document(axis, _AXIS_HEIGHT), rows)


def _row(
    shown: Interval,
    unit: Unit,
    scale: Scale,
    ticks: list[tuple[float, str]],
    zero: list[float],
) -> str:
    canvas = Canvas(THEMES["page"])
    for tick, _ in ticks:
        canvas.line((scale(tick), 0), (scale(tick), HEIGHT), canvas.theme.ink, opacity=FADED)
    for place in zero:
        canvas.line((scale(place), 0), (scale(place), HEIGHT), canvas.theme.ink, kind="zero")
    if unit == "share" and not shown.told:
        draw_whisker(canvas, shown, scale, HEIGHT / 2)
    else:
        draw_interval(canvas, shown, scale, HEIGHT / 2)
    return _document(canvas, HEIGHT)


def _document(canvas: Canvas, height: int) -> str:
    return (
        f'<svg class="bar" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="{FONT}" font-size="12" fill="currentColor" aria-hidden="true">'
        f"{canvas.svg()}</svg>"
    )
