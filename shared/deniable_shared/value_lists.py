"""Values that somebody typed, pasted or has in a file: one in each line.

There is one rule for whatever is read so: values to look for, saved lists, hints, deny lists,
examples and training texts. A line is taken as it stands, because a device can hold any text; what
looks as if a program had mangled it is only pointed out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible, visible_constraint
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import MAX_STRING_BYTES, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_LINE_ENDS: Final = re.compile("\r\n|\r|\n")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""How texts in UTF-16 begin, which some programs write."""

_MARK: Final = "\ufeff"
_QUOTES: Final = ('"', "'", "`")
_SHOWN: Final = 40
"""So many characters of an example are shown."""


def lines_of(content: bytes | str) -> list[str]:
    """The lines of a text, repeated and empty ones among them.

    Args:
        content: a text, or a file in UTF-8, with or without a mark at its beginning.

    Raises:
        ParameterError: if it is not UTF-8.
    """
    constraint = "UTF-8 text; save the file as UTF-8"
    if isinstance(content, str):
        return _LINE_ENDS.split(content.removeprefix(_MARK))
    if content.startswith(_UTF_16):
        raise ParameterError("values", constraint, "UTF-16")
    try:
        return lines_of(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = len(lines_of(content[: error.start].decode("utf-8")))
        found = f"byte {content[error.start]:#04x} in line {line:,}"
        raise ParameterError("values", constraint, found) from None


def read_list(content: bytes | str) -> tuple[str, ...]:
    """The different values of a text, in their order and in Unicode's form NFC.

    Lines of white space alone are none.

    Args:
        content: see `lines_of`.

    Raises:
        ParameterError: if it is not UTF-8.
    """
    return different(line for line in lines_of(content) if line.strip())


def different(values: Iterable[str]) -> tuple[str, ...]:
    """The different ones of values, in their order and in Unicode's form NFC."""
    return tuple(dict.fromkeys(map(_composed, values)))


def first_repeated(values: Sequence[str]) -> str | None:
    """The first value that a list has had before, in the same or in another form of Unicode.

    For lists that programs send: people's are merged (`read_list`), but a program that counts on an
    answer for each of its values has to be told.

    Args:
        values: as they were sent.
    """
    if len(set(values)) == len(values) and all(map(str.isascii, values)):
        return None
    seen: set[str] = set()
    for value in values:
        composed = value if value.isascii() else _composed(value)
        if composed in seen:
            return value
        seen.add(composed)
    return None


ALL_DIFFERENT: Final = "all different, also in Unicode's form NFC"
"""What such a list must be."""


def notices(values: Iterable[str]) -> tuple[str, ...]:
    """What looks as if a program had mangled it: a sentence for each kind, with an example.

    Args:
        values: as `read_list` returns them.
    """
    counts = dict.fromkeys(_SIGNS, 0)
    examples: dict[str, str] = {}
    for value in values:
        for sign, shows in _SIGNS.items():
            if shows(value):
                counts[sign] += 1
                examples.setdefault(sign, value)
                break
    return tuple(_sentences(counts, examples))


def _sentences(counts: dict[str, int], examples: dict[str, str]) -> Iterator[str]:
    for sign, count in counts.items():
        if count:
            text = examples[sign]
            shown = visible(text[:_SHOWN]) + "…" * (len(text) > _SHOWN)
            first = "1 value" if count == 1 else f"{count:,} values"
            yield f"{first} {sign}, such as '{shown}': taken as it stands."


def _composed(value: str) -> str:
    # Normalising takes quadratic time, and no device reports more than this of a text.
    return normalize(value) if len(value) <= MAX_STRING_BYTES else value


_SIGNS: Final[dict[str, Callable[[str], bool]]] = {
    "longer than a device can report": lambda value: (
        len(value.encode(errors="replace")) > MAX_STRING_BYTES
    ),
    "with the mark of a file's beginning (BOM)": lambda value: _MARK in value,
    "with a tab, as before a count or another column": lambda value: "\t" in value,
    "with control or invisible characters": lambda value: visible_constraint(value) is not None,
    "in quotes": lambda value: len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES,
    "with white space at an end": lambda value: value != value.strip(),
}
