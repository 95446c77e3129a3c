"""The picture: where the truth lies in every printed interval, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.media.pictures.canvas import LIGHT, SMALL, Canvas, pixels
from deniable_aggregator.media.pictures.layout import FONT, Scale
from field.findings import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from field.findings import Finding

MOST_DOTS: Final = 300
"""Of a line; of more, those are drawn that stand at equal distances in the order of the answers."""

FURTHEST: Final = 3.0
"""In half widths of an interval; a truth that lies further away is drawn here."""

LABELS, WIDTH, ROW = 260, 640, 22
_INSIDE, _OUTSIDE = "#0072b2", "#d55e00"


def draw(findings: Iterable[Finding], path: Path) -> None:
    """Draws a dot for each interval: at 0 the truth is its middle, beyond 1 it is outside.

    Args:
        findings: of all answers.
        path: of an SVG file.
    """
    generator = np.random.default_rng(0)
    lines, canvas = _by_line(findings), Canvas(LIGHT)
    across = Scale(-FURTHEST, FURTHEST, LABELS, LABELS + WIDTH)
    height = ROW * len(lines)
    for place, (line, intervals) in enumerate(lines.items()):
        top = ROW * place
        canvas.text(0, top + 15, line, size=SMALL, within=LABELS - 8)
        canvas.line((LABELS, top + ROW), (LABELS + WIDTH, top + ROW), LIGHT.unclear, 0.5)
        for each in intervals[:: -(-len(intervals) // MOST_DOTS)]:
            half = (each.high - each.low) / 2
            x = across((each.truth - (each.high + each.low) / 2) / half)
            y = top + 3 + (ROW - 6) * generator.random()
            with canvas.group("truth", each.name):
                canvas.dot(x, y, 1.8, _INSIDE if each.covers else _OUTSIDE)
    for end in (-1, 1):
        canvas.line((across(end), 0), (across(end), height), LIGHT.ink, dashes="3 3")
    for tick in range(int(-FURTHEST), int(FURTHEST) + 1):
        canvas.tick_below(across(tick), height, str(tick))
    words = "truth, in half widths from the middle of its interval; orange lies outside"
    canvas.text(LABELS + WIDTH / 2, height + 34, words, size=SMALL, anchor="middle")
    size = f"{LABELS + WIDTH + 16} {pixels(height + 44.0)}"
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 {size}" font-family="{FONT}" '
        f'font-size="12">{canvas.svg()}</svg>\n',
        "utf-8",
    )


def _by_line(findings: Iterable[Finding]) -> dict[str, list[Interval]]:
    """The intervals that have a width, by line."""
    found: dict[str, list[Interval]] = {}
    for each in findings:
        if isinstance(each, Interval) and each.high > each.low:
            found.setdefault(each.line, []).append(each)
    return found
