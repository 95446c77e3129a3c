"""The picture: where the truth lies in every printed interval, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from field.findings import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from field.findings import Finding

MOST_DOTS: Final = 300
"""Of a line; of more, those are drawn that stand at equal distances in the order of the answers."""

FURTHEST: Final = 3.0
"""In half widths of an interval; a truth that lies further away is drawn here."""

WIDTH, HEIGHT = 640, 22


def draw(findings: Iterable[Finding], path: Path) -> None:
    """Draws a dot for each interval: at 0 the truth is its middle, beyond 1 it is outside.

    Args:
        findings: of all answers.
        path: its ending says of which type it is, such as ``.svg`` or ``.html``.
    """
    import altair as alt  # an extra, and slow to import

    generator = np.random.default_rng(0)
    dots = []
    for line, intervals in _by_line(findings).items():
        for each in intervals[:: -(-len(intervals) // MOST_DOTS)]:
            half = (each.high - each.low) / 2
            place = (each.truth - (each.high + each.low) / 2) / half
            dots.append(
                {
                    "line": line,
                    "truth": float(np.clip(place, -FURTHEST, FURTHEST)),
                    "height": generator.random(),
                    "inside": "inside" if each.covers else "outside",
                    "name": each.name,
                }
            )
    base = alt.Chart(alt.InlineData(values=dots))
    truths = base.mark_circle(size=12, opacity=0.6).encode(
        x=alt.X("truth:Q", title="truth, in half widths from the middle of its interval").scale(
            domain=[-FURTHEST, FURTHEST]
        ),
        y=alt.Y("height:Q", axis=None),
        color=alt.Color("inside:N", title="truth").scale(range=["#0072b2", "#d55e00"]),
        tooltip=["name:N"],
    )
    ends = base.transform_calculate(low="-1", high="1")
    rules = [ends.mark_rule(strokeDash=[3, 3]).encode(x=f"{end}:Q") for end in ("low", "high")]
    alt.layer(truths, *rules).properties(width=WIDTH, height=HEIGHT).facet(
        row=alt.Row("line:N", sort=None, title=None).header(labelAngle=0, labelAlign="left")
    ).save(str(path))


def _by_line(findings: Iterable[Finding]) -> dict[str, list[Interval]]:
    """The intervals that have a width, by line."""
    found: dict[str, list[Interval]] = {}
    for each in findings:
        if isinstance(each, Interval) and each.high > each.low:
            found.setdefault(each.line, []).append(each)
    return found
