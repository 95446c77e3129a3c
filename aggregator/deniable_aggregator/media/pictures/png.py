"""Figures as images, drawn from their SVG without a browser.

Fonts for Latin, Greek and Cyrillic letters are beside this file, so that every machine draws them
alike; other characters are looked for in its fonts. One that none of them has would be an empty
box, the same for all: here its name stands instead, and whoever asks is told.
"""

from __future__ import annotations

import unicodedata
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import resvg_py

from deniable_aggregator.media.pictures.canvas import ThemeName, escaped
from deniable_aggregator.media.pictures.layout import FONT
from deniable_aggregator.media.pictures.svg import svg
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from deniable_aggregator.telling.figure import Figure

PNG_SCALE: Final = 2.0
"""Pixels of the image for each of the drawing, for screens on which four stand for one."""

_FAMILY: Final = "Deniable Sans"
_FONTS: Final = [
    str(Path(__file__).parent / "fonts" / f"{weight}.ttf") for weight in ("regular", "bold")
]

_IN_NO_FONT: Final = "\U0010fffd"
"""For private use, so what is drawn for it is what is drawn for every unknown character."""

_JOINS: Final = "\u200d\ufe0e\ufe0f"
"""What joins emoji to one, and asks for a text or a picture."""

_MOST_NAMED: Final = 8
_FIRST_FLAG, _LAST_FLAG = 0x1F1E6, 0x1F1FF


def png(
    figures: Sequence[Figure], width: int, theme: ThemeName = "light", *, columns: int = 1
) -> tuple[bytes, str | None]:
    """Figures as one PNG image.

    Args:
        figures: what is drawn.
        width: of the drawing; the image has twice as many pixels.
        theme: as of `svg`.
        columns: how many of several figures stand side by side.

    Returns:
        The image, and which characters are shown by their names, or None if all are drawn.
    """
    characters = {each for figure in figures for text in _texts(figure) for each in visible(text)}
    unknown = unknown_characters(characters)
    drawn = [_with_names(each, unknown) if unknown else each for each in figures]
    text = svg(drawn, width, theme, columns=columns)
    return _image(text.replace(f'"{FONT}"', f'"{_FAMILY}"', 1), PNG_SCALE), _note(unknown)


def unknown_characters(characters: AbstractSet[str]) -> set[str]:
    """Those of some characters that no font has: they look like a character that has no meaning.

    Args:
        characters: any.
    """
    asked = {each for each in characters if not each.isascii() and each not in _JOINS}
    if not asked:
        return set()
    box = _image_of(_IN_NO_FONT)
    return {each for each in asked if not each.isspace() and _image_of(each) == box}


def named(text: str, unknown: AbstractSet[str]) -> str:
    """A text in which names stand for characters that no font has.

    Args:
        text: any text.
        unknown: these characters.
    """
    if unknown.isdisjoint(text):
        return text
    # Without the emoji that they join, these have nothing to join.
    return "".join(_name(each) if each in unknown else each for each in text if each not in _JOINS)


def _name(character: str) -> str:
    """The name of an emoji, such as [honeybee]; of a letter U+65E5, as its name says no more."""
    code = ord(character)
    if _FIRST_FLAG <= code <= _LAST_FLAG:  # two of them are the flag of a country
        return chr(ord("A") + code - _FIRST_FLAG)
    name = unicodedata.name(character, "")
    return (
        f"[{name.lower()}]"
        if name and unicodedata.category(character) == "So"
        else f"U+{code:04X} "
    )


def _note(unknown: AbstractSet[str]) -> str | None:
    if not unknown:
        return None
    some = ", ".join(f"U+{ord(each):04X}" for each in sorted(unknown)[:_MOST_NAMED])
    more = len(unknown) - _MOST_NAMED
    return (
        f"no font of this machine has {some}{f' and {more:,} more' if more > 0 else ''}: they are "
        "drawn by name; install a font that has them, such as fonts-noto, or draw a .svg or .html"
    )


def _image_of(character: str) -> bytes:
    return _image(
        '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text x="2" y="15" '
        f'font-size="14" font-family="{_FAMILY}">{escaped(character)}</text></svg>'
    )


def _image(text: str, scale: float = 1.0) -> bytes:
    return resvg_py.svg_to_bytes(svg_string=text, zoom=scale, font_files=_FONTS)


def _texts(part: Any) -> Iterator[str]:
    """All texts of a figure or a part of one."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _texts(each)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _texts(getattr(part, field.name))


def _with_names(part: Any, unknown: AbstractSet[str]) -> Any:
    """The same figure with names in place of characters that no font has."""
    if isinstance(part, str):
        return named(part, unknown)
    if isinstance(part, tuple):
        return tuple(_with_names(each, unknown) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        values = {
            each.name: _with_names(getattr(part, each.name), unknown) for each in fields(part)
        }
        return replace(part, **values)
    return part
