"""Output for terminals and pipes that take ASCII alone, such as those of the C locale."""

from __future__ import annotations

import codecs
import re
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from io import TextIOWrapper

_INSTEAD: Final = {
    "±": "+-",
    "…": "...",
    "·": ".",
    "–": "-",
    "—": "-",
    "≤": "<=",
    "≥": ">=",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "●": "*",
    "○": "o",
    "├": "|",
    "┤": "|",
    "─": "-",
    "━": "=",
    "│": ":",
    "┼": "+",
    "┿": "+",
    "┬": "+",
    "┴": "+",
    "└": "+",
    "█": "#",
}
"""What stands for the characters that commands print themselves."""

_TABLE: Final = str.maketrans(_INSTEAD)
_HANDLER: Final = "deniable.ascii"
_OTHER: Final = re.compile(r"[^\x00-\x7f]")


def ascii_only() -> bool:
    """Whether standard output takes ASCII alone: its encoding is none of Unicode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return not encoding.lower().startswith("utf")


def ascii_text(text: str) -> str:
    r"""A text in ASCII: ``±`` is ``+-``, and a letter of a value is escaped, as in ``\xe9``."""
    return text.translate(_TABLE).encode("ascii", "backslashreplace").decode("ascii")


def replace_unprintable(stream: TextIOWrapper) -> None:
    """Lets a stream print `ascii_text` of what its encoding does not have, instead of failing.

    Args:
        stream: such as standard output.
    """
    codecs.register_error(_HANDLER, _replacement)
    stream.reconfigure(errors=_HANDLER)


def _replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return ascii_text(error.object[error.start : error.end]), error.end


def ascii_json(text: str) -> str:
    """The same JSON, with other characters escaped as JSON escapes them.

    Args:
        text: JSON.
    """
    import json  # not for devices, which print none

    return _OTHER.sub(lambda match: json.dumps(match[0])[1:-1], text)


def printable(text: str) -> str:
    """The same text, or its `ascii_text` if standard output takes ASCII alone."""
    return ascii_text(text) if ascii_only() else text
