"""An SVG picture, light or dark as what shows it, built from a few shapes.

Pictures are so narrow that a phone, which scales them down, shows letters of 10 pixels or more.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

STYLE: Final = """\
text { font: 14px system-ui, sans-serif; fill: #1b1f24 }
.small { font-size: 13px }
.bold { font-weight: 600 }
.middle { text-anchor: middle }
.end { text-anchor: end }
.page { fill: #ffffff }
.box { fill: #f5f7f9; stroke: #767f89 }
.band { fill: #5a96c8 }
.core { fill: #1c659f }
.truth { fill: #d1242f }
.stripe { fill: #ffc9c5 }
.grid { stroke: #dfe3e8; stroke-width: 1; fill: none }
.axis { stroke: #57606a; stroke-width: 1; fill: none }
.rule { stroke: #1b1f24; stroke-width: 1.5; stroke-dasharray: 5 4; fill: none }
.curve { stroke: #1c659f; stroke-width: 2.5; fill: none }
.other { stroke: #a06400; stroke-width: 2.5; fill: none }
.interval { stroke: #5a96c8; stroke-width: 4; fill: none }
.missed { stroke: #d1242f; stroke-width: 4; fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.page { fill: #14181d }
.box { fill: #1d232a; stroke: #8b949e }
.band { fill: #3d7ab0 }
.core { fill: #8cc4f2 }
.truth { fill: #ff7b72 }
.stripe { fill: #6b2327 }
.grid { stroke: #333b45 }
.axis { stroke: #9da7b3 }
.rule { stroke: #e6edf3 }
.curve { stroke: #8cc4f2 }
.other { stroke: #d99a2b }
.interval { stroke: #4682b8 }
.missed { stroke: #ff7b72 }
}
"""


WIDTH: Final = 440


class Drawing:
    """A picture; x grows to the right, up to `WIDTH`, and y downward, in pixels.

    Args:
        height: of the picture.
        title: what it shows, for those who do not see it.
    """

    def __init__(self, height: int, title: str) -> None:
        self._size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        self._title = title
        self._parts = [f'<rect class="page" width="{WIDTH}" height="{height}"/>']

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """A line of text; `y` is where its letters stand."""
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{_classed(kind)}>{escape(text)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        """A rectangle."""
        self._parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="2"/>'
        )

    def dot(self, x: float, y: float, kind: str, radius: float = 4) -> None:
        """A circle."""
        self._parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>')

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """A line from point to point."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline class="{kind}" points="{path}"/>')

    def arrow_down(self, x: float, y: float, length: float) -> None:
        """An arrow downward."""
        end = y + length
        self.line([(x, y), (x, end)], "axis")
        self.line([(x - 4, end - 6), (x, end), (x + 4, end - 6)], "axis")

    def svg(self) -> str:
        """The picture as a file."""
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {self._size}>\n'
            f"<title>{escape(self._title)}</title>\n<style>\n{STYLE}</style>\n{body}\n</svg>\n"
        )


def _classed(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
