"""Characters that names, descriptions, values and labels may not have, and text that shows them.

A control character can drive a terminal, one of direction makes a text read as another, and with an
invisible one two texts look alike. What real scripts and emoji are written with is allowed although
it cannot be seen: zero-width joiners and non-joiners, variation selectors and the tags of flags.

The set is a list of code points instead of a category of Unicode, which grows with every version of
Python: a registry must be the same everywhere.
"""

from __future__ import annotations

import re
from typing import Final

NAME: Final = r"[a-z][a-z0-9_]{0,63}"
"""What applications, metrics and attributes may be called, as a regular expression."""

_CONTROL: Final = "\x00-\x1f\x7f-\x9f"
_DIRECTION: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINES: Final = "\u2028\u2029"
_INVISIBLE: Final = (
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
)
_NO_CHARACTERS: Final = "\ud800-\udfff\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
"""Surrogates, and the code points that Unicode never assigns."""

_REFUSED: Final = re.compile(f"[{_CONTROL}{_DIRECTION}{_LINES}{_INVISIBLE}{_NO_CHARACTERS}]")


def visible_constraint(text: str) -> str | None:
    """What a text must be, naming its first character that is refused; None if it has none.

    Args:
        text: a name, description, value or label.
    """
    match = _REFUSED.search(text)
    if match is None:
        return None
    return (
        "without control, direction and invisible characters "
        f"(character {match.start() + 1} is {_name(match[0])})"
    )


def visible(text: str) -> str:
    """A text to print or draw, with the name of what is refused in its place: ``<U+202E>``.

    Stores and files of other programs may hold such characters, and so may what a person asks for.
    """
    return _REFUSED.sub(lambda match: f"<{_name(match[0])}>", text)


def without_refused(text: str) -> str:
    """A text without the characters that are refused, to compare it with another."""
    return _REFUSED.sub("", text)


def visible_json(text: str) -> str:
    """The same JSON, with refused characters as JSON escapes."""
    import json  # not for devices, which print none

    def escape(match: re.Match[str]) -> str:
        return match[0] if match[0] in "\n\r\t" else json.dumps(match[0])[1:-1]

    return _REFUSED.sub(escape, text)


def visible_lines(text: str) -> str:
    """`visible` for a text of several lines, which stay lines."""
    return "\n".join(map(visible, text.split("\n")))


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"
