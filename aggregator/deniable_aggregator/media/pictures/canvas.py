"""SVG elements as text, and their colours: no style, no script, no reference."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from deniable_aggregator.media.pictures.layout import ellipsed, wrapped
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ThemeName = Literal["light", "dark", "page"]


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a drawing. Every colour has a shape or a place of its own beside it.

    Attributes:
        background: behind everything, or None for that of the page around it.
        ink: texts, axes and estimates.
        muted: what is read second.
        band: intervals.
        core: their inner halves.
        unclear: marks of what cannot be told from zero.
        truth: true numbers, in trials where they are known.
        adjusted: post-processed numbers.
        warning: the sign of a warning, and what stands behind suspicious days.
        uneven: what stands behind days on which a key answers differently.
        inside: within hollow marks.
    """

    background: str | None
    ink: str
    muted: str
    band: str
    core: str
    unclear: str
    truth: str
    adjusted: str
    warning: str
    uneven: str
    inside: str


LIGHT: Final = Theme(
    background="#ffffff",
    ink="#1b1f24",
    muted="#57606a",
    band="#5a96c8",
    core="#1c659f",
    unclear="#6e7781",
    truth="#d1242f",
    adjusted="#a06400",
    warning="#cf222e",
    uneven="#b07800",
    inside="#ffffff",
)
DARK: Final = Theme(
    background="#14181d",
    ink="#e6edf3",
    muted="#9da7b3",
    band="#3d7ab0",
    core="#8cc4f2",
    unclear="#8b949e",
    truth="#ff7b72",
    adjusted="#d99a2b",
    warning="#ff7b72",
    uneven="#d99a2b",
    inside="#14181d",
)
PAGE: Final = Theme(
    background=None,
    ink="currentColor",
    muted="currentColor",
    band="var(--chart-band,#5a96c8)",
    core="var(--chart-core,#2270ad)",
    unclear="var(--chart-unclear,#7a838d)",
    truth="#dc3540",
    adjusted="#a97010",
    warning="var(--chart-warning,#dc3540)",
    uneven="var(--chart-uneven,#b07800)",
    inside="var(--chart-inside,none)",
)
"""For a page that may be light or dark: texts have its colour. Marks have the colours that the page
names, or else such as are dark enough on white and light enough on black."""

THEMES: Final[dict[ThemeName, Theme]] = {"light": LIGHT, "dark": DARK, "page": PAGE}


Anchor = Literal["start", "middle", "end"]

TEXT: Final = 12.0
SMALL: Final = 11.0
FADED: Final = 0.16
"""How opaque the lines of an axis are."""

TITLE: Final = 17.0
_MUTED: Final = 0.75
_MANY_POINTS: Final = 60
"""Of a path; longer ones are written to a tenth of a pixel, as their points are many."""


_TRAILING: Final = re.compile(r"\.?0+$")
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: str) -> str:
    """A text of somebody else, for an element or an attribute: all of it is seen, none acts."""
    shown = _NOT_XML.sub("\ufffd", visible(text))
    for character, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#39")):
        shown = shown.replace(character, f"&{name};")
    return shown


def pixels(value: float, digits: int = 2) -> str:
    """A coordinate, to a hundredth of a pixel unless asked for less."""
    text = f"{value:.{digits}f}"
    return _TRAILING.sub("", text) if "." in text else text


class Canvas:
    """Collects elements; y grows downward.

    Args:
        theme: its colours.
    """

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._parts: list[str] = []

    @contextmanager
    def group(
        self, kind: str, title: str = "", *, move: tuple[float, float] = (0, 0)
    ) -> Iterator[None]:
        """Elements that belong together.

        Args:
            kind: its class, for tests and for style sheets of a page.
            title: shown where a pointer rests on it.
            move: by how much all of it is moved.
        """
        moved = f' transform="translate({pixels(move[0])},{pixels(move[1])})"' if any(move) else ""
        self._parts.append(f'<g class="{kind}"{moved}>')
        if title:
            self._parts.append(f"<title>{escaped(title)}</title>")
        yield
        self._parts.append("</g>")

    @contextmanager
    def link(self, kind: str, address: str, words: str) -> Iterator[None]:
        """Elements that lead somewhere, in a drawing for a page.

        Args:
            kind: its class.
            address: where it leads.
            words: what is said of it to those who cannot see it.
        """
        said = f'href="{escaped(address)}" aria-label="{escaped(words)}"'
        self._parts.append(f'<a class="{kind}" {said}>')
        yield
        self._parts.append("</a>")

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        color: str,
        width: float = 1,
        *,
        kind: str = "",
        dashes: str = "",
        opacity: float = 1,
    ) -> None:
        """A straight line."""
        self._element(
            "line",
            x1=start[0],
            y1=start[1],
            x2=end[0],
            y2=end[1],
            stroke=color,
            stroke_width=width,
            stroke_dasharray=dashes,
            stroke_opacity="" if opacity == 1 else opacity,
            class_=kind,
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        color: str,
        *,
        kind: str = "",
        opacity: float = 1,
        round_by: float = 0,
    ) -> None:
        """A filled rectangle."""
        self._element(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            rx=round_by or "",
            fill=color,
            fill_opacity="" if opacity == 1 else opacity,
            class_=kind,
        )

    def dot(
        self, x: float, y: float, radius: float, fill: str, stroke: str = "", *, kind: str = ""
    ) -> None:
        """A circle."""
        self._element(
            "circle",
            cx=x,
            cy=y,
            r=radius,
            fill=fill,
            stroke=stroke,
            stroke_width=1.5 if stroke else "",
            class_=kind,
        )

    def shape(
        self,
        points: Sequence[tuple[float, float]],
        fill: str,
        stroke: str = "",
        width: float = 1,
        *,
        kind: str = "",
        opacity: float = 1,
    ) -> None:
        """A closed shape of straight lines."""
        self._path(points, "Z", fill, stroke, width, kind, opacity)

    def curve(
        self,
        points: Sequence[tuple[float, float]],
        stroke: str,
        width: float = 1,
        *,
        kind: str = "",
        dashes: str = "",
    ) -> None:
        """A line through points."""
        self._path(points, "", "none", stroke, width, kind, 1, dashes)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = TEXT,
        anchor: Anchor = "start",
        color: str = "",
        bold: bool = False,
        within: float | None = None,
        kind: str = "",
    ) -> None:
        """A line of text.

        Args:
            x: of its anchor.
            y: of its base line.
            text: anything.
            size: of the font.
            anchor: which end of it is at `x`.
            color: left out for that of texts.
            bold: whether it is bold.
            within: how wide it may be; what does not fit is shown where a pointer rests on it.
            kind: its class.
        """
        text = " ".join(visible(text).split())
        shown = text if within is None else ellipsed(text, size, within, bold=bold)
        whole = f"<title>{escaped(text)}</title>" if shown != text else ""
        self._element(
            "text",
            escaped(shown) + whole,
            x=x,
            y=y,
            font_size="" if size == TEXT else size,
            text_anchor="" if anchor == "start" else anchor,
            fill="" if color in ("", self.theme.ink, "currentColor") else color,
            # On a page, muted texts have the colour of the page's texts, too.
            fill_opacity=_MUTED if color == self.theme.muted == "currentColor" else "",
            font_weight="bold" if bold else "",
            class_=kind,
        )

    def heading(self, text: str, width: float) -> float:
        """Draws the heading of a panel at its top; returns how high it is, 0 if there is none."""
        if not text:
            return 0.0
        self.text(0, 14, text, size=TEXT + 1, bold=True, within=width)
        return 24.0

    def tick_below(self, x: float, y: float, words: str, at: float | None = None) -> None:
        """A tick of an axis at the height of y, and its number below.

        Args:
            x: where it is.
            y: of the axis.
            words: the number.
            at: where the middle of the number is, if not below the tick.
        """
        self.line((x, y), (x, y + 4), self.theme.ink)
        x = x if at is None else at
        self.text(x, y + 16, words, size=SMALL, anchor="middle", color=self.theme.muted)

    def paragraph(self, y: float, text: str, width: float) -> float:
        """Draws a small text below y, in as many lines as it needs; returns how high they are."""
        lines = wrapped(" ".join(visible(text).split()), SMALL, width)
        for number, line in enumerate(lines):
            self.text(0, y + 11 + 14 * number, line, size=SMALL, color=self.theme.muted)
        return 14.0 * len(lines)

    def svg(self) -> str:
        """The elements so far."""
        return "".join(self._parts)

    def _path(
        self,
        points: Sequence[tuple[float, float]],
        end: str,
        fill: str,
        stroke: str,
        width: float,
        kind: str,
        opacity: float,
        dashes: str = "",
    ) -> None:
        digits = 2 if len(points) <= _MANY_POINTS else 1
        self._element(
            "path",
            d="M" + "L".join(f"{pixels(x, digits)},{pixels(y, digits)}" for x, y in points) + end,
            fill=fill,
            stroke=stroke,
            stroke_width=width if stroke else "",
            stroke_dasharray=dashes,
            fill_opacity="" if opacity == 1 else opacity,
            class_=kind,
        )

    def _element(self, name: str, content: str = "", **attributes: float | str) -> None:
        """An element; attributes that are empty are left out."""
        said = "".join(
            f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
            for key, value in attributes.items()
            if value != ""
        )
        self._parts.append(f"<{name}{said}>{content}</{name}>" if content else f"<{name}{said}/>")


def _attribute(value: float | str) -> str:
    return value if isinstance(value, str) else pixels(value)
