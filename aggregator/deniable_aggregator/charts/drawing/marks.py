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
    for mark, color in colors.items():
        if mark in marks:
            canvas.box(left, 0, right - left, height, color, kind=f"behind {mark}", opacity=_TINT)
            break
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
    for mark in MARKS:
        if mark not in marks:
            continue
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
        return
