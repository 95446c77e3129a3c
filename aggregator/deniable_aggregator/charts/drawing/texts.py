"""How wide texts are, approximately, without a font; and texts cut or broken to a width."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

FONT: Final = "Helvetica, Arial, Liberation Sans, sans-serif"
"""Fonts with the same widths, those of the table below, and whatever there is."""

_BOLD: Final = 1.12
_STAND_IN: Final = 1.15
"""How much wider DejaVu Sans is, which stands in where none of these fonts is installed: texts are
laid out for it."""

_OTHER: Final = 0.6
_WIDE: Final = 0.95
ELLIPSIS: Final = "…"

_GROUPS: Final = {
    191: "'",
    222: "ijl",
    278: " !,./:;I[\\]ft",
    334: '()-`r{|}"',
    389: "*",
    469: "^",
    500: "Jckvsxyz",
    556: "#$0123456789?L_abdeghnopqu",
    584: "+<=>~",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1015: "@",
}
_WIDTHS: Final = {
    character: thousandths / 1000
    for thousandths, characters in _GROUPS.items()
    for character in characters
}
"""In parts of the font's size, of Helvetica (Adobe's metrics)."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is, in the unit of its size.

    Args:
        text: of any script.
        size: of the font.
        bold: whether it is drawn bold.
    """
    return size * _STAND_IN * (_BOLD if bold else 1.0) * sum(map(_width, text))


def centred(x: float, text: str, size: float, width: float) -> float:
    """Where the middle of a text is that is to be at `x`, and must not leave the drawing.

    Args:
        x: in pixels.
        text: anything.
        size: of the font.
        width: of the drawing, in pixels.
    """
    half = text_width(text, size) / 2
    return max(min(x, width - half), half)


def ellipsed(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """A text, or as much of it as fits with an ellipsis.

    Args:
        text: of any script.
        size: of the font.
        width: how wide it may be.
        bold: whether it is drawn bold.
    """
    if text_width(text, size, bold=bold) <= width:
        return text
    room = width - text_width(ELLIPSIS, size, bold=bold)
    kept, used = 0, 0.0
    for character in text:
        used += text_width(character, size, bold=bold)
        if used > room:
            break
        kept += 1
    # What joins or follows a character goes with it.
    while kept and _width(text[kept]) == 0:
        kept -= 1
    return text[:kept].rstrip("\u200d ") + ELLIPSIS


def wrapped(
    text: str, size: float, width: float, *, bold: bool = False, most: int = 100
) -> list[str]:
    """A text in lines that fit.

    Args:
        text: of any script; a word that is wider than a line is broken.
        size: of the font.
        width: of a line.
        bold: whether it is drawn bold.
        most: lines; the last of them gets an ellipsis if more would follow.
    """
    lines: list[str] = []
    line = ""
    for word in _pieces(text.split(), size, width, bold):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size, bold=bold) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    lines.append(line)
    if len(lines) > most:
        # A space more than fits, so that the ellipsis is always there.
        rest = f"{lines[most - 1]} {lines[most]}"
        kept = ellipsed(rest, size, min(width, text_width(rest, size, bold=bold) - 1), bold=bold)
        lines = [*lines[: most - 1], kept]
    return lines


def _pieces(words: Sequence[str], size: float, width: float, bold: bool) -> list[str]:
    """Words, those broken that are wider than a line."""
    pieces = []
    for word in words:
        piece, used = "", 0.0
        for character in word:
            step = text_width(character, size, bold=bold)
            if piece and step and used + step > width:
                pieces.append(piece)
                piece, used = "", 0.0
            piece, used = piece + character, used + step
        pieces.append(piece)
    return pieces


def _width(character: str) -> float:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _OTHER
