"""Values that somebody typed, pasted or has in a file: one in each line."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible_constraint
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_VALUE: Final = 1_000
"""In characters, of a list that is kept."""

_LINE_ENDS: Final = re.compile("\r\n|\r|\n")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""How texts in UTF-16 begin, which some programs write."""


def read_values(content: bytes | str) -> tuple[str, ...]:
    """The different values of a text, in their order; empty lines are none.

    Args:
        content: a text, or a file in UTF-8, with or without a mark at its beginning.

    Raises:
        ParameterError: if it is not UTF-8.
    """
    if isinstance(content, bytes):
        if content.startswith(_UTF_16):
            raise ParameterError("values", "UTF-8 text; save the file as UTF-8", "UTF-16")
        try:
            content = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            found = f"byte {content[error.start]:#04x} at {error.start:,}"
            raise ParameterError("values", "UTF-8 text; save the file as UTF-8", found) from None
    return tuple(dict.fromkeys(line for line in _LINE_ENDS.split(content) if line))


def checked_values(values: Iterable[str]) -> tuple[str, ...]:
    """Values for a list that is kept: all different, in Unicode's form NFC.

    Args:
        values: any texts.

    Raises:
        ParameterError: if there are none, or one is empty, too long, or has a control, direction or
            invisible character.
    """
    found: dict[str, None] = {}
    for number, value in enumerate(values, 1):
        if not 0 < len(value) <= LONGEST_VALUE:
            constraint = f"1 to {LONGEST_VALUE:,} characters long"
            raise ParameterError(f"value {number:,}", constraint, f"{len(value):,} characters")
        text = value if value.isascii() else unicodedata.normalize("NFC", value)
        constraint_ = visible_constraint(text)
        if constraint_ is not None:
            raise ParameterError(f"value {number:,}", constraint_, text)
        found[text] = None
    if not found:
        raise ParameterError("values", "at least one", "none")
    return tuple(found)
