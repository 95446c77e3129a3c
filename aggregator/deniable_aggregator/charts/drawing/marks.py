"""What is special about periods: a tint behind them, and a mark of its own shape below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.words import MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.charts.drawing.canvas import Canvas

MARK_ROW: Final = 12.0
"""How high the row of marks is, in pixels."""

_TINT: Final = 0.18


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
    colors = {"suspicious": theme.warning, "uneven": theme.uneven, "missing": theme.unclear}
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
        elif mark == "missing":
            canvas.line((x - 3, y - 3), (x + 3, y + 3), theme.unclear, 1.6, kind=mark)
            canvas.line((x - 3, y + 3), (x + 3, y - 3), theme.unclear, 1.6)
        elif mark == "incomplete":
            canvas.dot(x, y, 3, theme.inside, theme.ink, kind=mark)
        else:
            corners = [(x - 3.5, y - 4), (x + 4, y), (x - 3.5, y + 4)]
            canvas.shape(corners, theme.ink, kind=mark)
