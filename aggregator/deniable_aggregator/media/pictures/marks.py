"""What is special about periods, and verdicts by key and day: each has a shape of its own."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from deniable_aggregator.media.pictures.canvas import SMALL, TEXT, Canvas
from deniable_aggregator.media.pictures.layout import PHONE, Scale, text_width
from deniable_aggregator.telling.figure_words import MARKS, row_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from deniable_aggregator.telling.figure import Grid, GridRow

MARK_ROW: Final = 12.0
"""How high the row of marks is, in pixels."""

_TINT: Final = 0.18
"""How opaque what stands behind a special period is; behind verdicts, somewhat more."""

_VERDICT_TINT: Final = 0.3


def drawn_marks(marks: Sequence[str]) -> list[str]:
    """Those of a period's marks that are drawn: the first, and a new version.

    Args:
        marks: of the period.
    """
    known = [mark for mark in MARKS if mark in marks]
    return known[:1] + [mark for mark in known[1:] if mark == "release"]


def draw_marked_day(
    canvas: Canvas, marks: Sequence[str], left: float, right: float, height: float
) -> None:
    """The tint behind a period, and the rule at the first day of a version.

    Args:
        canvas: to draw on, from y = 0 on.
        marks: of the period.
        left: where the period begins.
        right: where it ends.
        height: of the picture.
    """
    theme = canvas.theme
    colors = {
        "suspicious": theme.warning,
        "uneven": theme.uneven,
        "surge": theme.uneven,
        "missing": theme.unclear,
    }
    for mark in drawn_marks(marks)[:1]:
        if mark in colors:
            wide, kind = right - left, f"behind {mark}"
            canvas.box(left, 0, wide, height, colors[mark], kind=kind, opacity=_TINT)
    if "release" in marks:
        canvas.line((left, 0), (left, height), theme.ink, 1.2, kind="release-day", dashes="4 3")


def draw_mark(canvas: Canvas, marks: Sequence[str], x: float, y: float) -> None:
    """The mark of a period.

    Args:
        canvas: to draw on.
        marks: of the period.
        x: its middle.
        y: the middle of the row of marks.
    """
    theme = canvas.theme
    for mark in drawn_marks(marks)[:1]:
        if mark == "suspicious":
            canvas.shape([(x, y - 4), (x + 4.5, y + 4), (x - 4.5, y + 4)], theme.warning, kind=mark)
        elif mark == "uneven":
            corners = [(x, y - 4.5), (x + 4.5, y), (x, y + 4.5), (x - 4.5, y)]
            canvas.shape(corners, theme.uneven, kind=mark)
        elif mark == "surge":
            canvas.box(x - 2, y - 4.5, 4, 9, theme.uneven, kind=mark)
        elif mark == "missing":
            canvas.line((x - 3, y - 3), (x + 3, y + 3), theme.unclear, 1.6, kind=mark)
            canvas.line((x - 3, y + 3), (x + 3, y - 3), theme.unclear, 1.6)
        elif mark == "left_out":
            canvas.box(x - 3, y - 3, 6, 6, theme.unclear, kind=mark)
        elif mark == "none_due":
            canvas.line((x - 3, y), (x + 3, y), theme.unclear, 1.6, kind=mark)
        elif mark == "unlike":
            canvas.line((x - 1.5, y - 4), (x - 1.5, y + 4), theme.ink, 1.4, kind=mark)
            canvas.line((x + 1.5, y - 4), (x + 1.5, y + 4), theme.ink, 1.4)
        elif mark == "incomplete":
            canvas.dot(x, y, 3, theme.inside, theme.ink, kind=mark)
        else:
            corners = [(x - 3.5, y - 4), (x + 4, y), (x - 3.5, y + 4)]
            canvas.shape(corners, theme.ink, kind=mark)


_ROW, _PHONE_ROW = 22.0, 36.0
_LABELS: Final = 0.3
_GAP: Final = 12.0
_FULL: Final = 0.9
"""Of the width of a phone, as letters may be wider in its font than is reckoned."""

_BAR: Final = 10.0
_SHAPE: Final = 9.0
"""How wide a shape is, in pixels; where days are closer, one stands for days in a row."""


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


def draw_grid(canvas: Canvas, panel: Grid, width: float) -> float:
    """Draws the rows; returns how high they are.

    Args:
        canvas: to draw on, from y = 0 on.
        panel: the verdicts.
        width: of the panel, in pixels.
    """
    phone = width < PHONE
    y = canvas.paragraph(0, panel.axis, width) + 6
    labels = max((text_width(row.label, TEXT) for row in panel.rows), default=0.0)
    start = 0.0 if phone else min(labels, _LABELS * width) + _GAP
    across = Scale(0, max(len(panel.days), 1), start, width)
    for row in panel.rows:
        with canvas.group("row", row_in_words(row, panel)):
            middle = y + (26 if phone else _ROW / 2)
            base = y + 13 if phone else middle + 4
            room = _FULL * width if phone else start - _GAP
            canvas.text(0, base, row.label, within=room, kind="label")
            _verdicts(canvas, row, across, middle)
        y += _PHONE_ROW if phone else _ROW
    draw_days(canvas, panel.days, "day", across, y)
    y += 22
    if panel.left_out:
        y += canvas.paragraph(y, panel.left_out, width)
    return y + 4


def draw_verdict(canvas: Canvas, verdict: str, x: float, y: float) -> None:
    """The mark of a verdict that is not ok.

    Args:
        canvas: to draw on.
        verdict: as of `answers.words.Verdict`.
        x: its middle.
        y: its middle.
    """
    # A ring is what is not known: here of a check, elsewhere of a period that is not over.
    draw_mark(canvas, ["incomplete" if verdict == "unknown" else verdict], x, y)


def _verdicts(canvas: Canvas, row: GridRow, across: Scale, y: float) -> None:
    theme, step = canvas.theme, across(1) - across(0)
    tints = {"suspicious": theme.warning, "uneven": theme.uneven, "surge": theme.uneven}
    number = 0
    for verdict, some in groupby(row.verdicts):
        count = len(list(some))
        left, right = across(number), across(number + count)
        if verdict == "ok":
            gap = 0.5 if step > 3 else 0.0  # days can be told from each other where there is room
            for each in range(number, number + count):
                wide = step - 2 * gap
                canvas.box(across(each) + gap, y - _BAR / 2, wide, _BAR, theme.band, kind="ok")
        elif verdict:
            if verdict in tints:
                canvas.box(left, y - 9, right - left, 18, tints[verdict], opacity=_VERDICT_TINT)
            middles = [(left + right) / 2]
            if step >= _SHAPE:
                middles = [across(number + each + 0.5) for each in range(count)]
            for x in middles:
                draw_verdict(canvas, verdict, x, y)
        number += count
