"""Plain text for a terminal: labelled lines, and numbers in words."""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from typing import TYPE_CHECKING, Final, cast

from deniable_shared.commands.ascii import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_shared.mechanisms import SetMechanism
    from deniable_shared.spec import Spec

WHICH_WAY_FOR_STRINGS: Final = (
    "Which of a list, a model and hints makes fewer devices enough: docs/concepts/strings.md."
)

_INDENT: Final = "  "
_LEAST_TEXT_WIDTH: Final = 30


def terminal_width() -> int:
    """In characters: as COLUMNS says, or the terminal, or 80."""
    return shutil.get_terminal_size().columns


def labelled_lines(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Labels at the left and their texts, broken between words, beside them.

    A label that is the same as the one above is left out.
    """
    listed = [(printable(label), printable(text)) for label, text in rows]
    width = max((len(label) for label, _ in listed), default=0)
    text_width = max(terminal_width() - len(_INDENT) * 2 - width, _LEAST_TEXT_WIDTH)
    lines, above = [], ""
    for label, text in listed:
        shown_label = "" if label == above else label
        for part in textwrap.wrap(text, text_width, break_on_hyphens=False) or [""]:
            lines.append(f"{_INDENT}{shown_label:<{width}}{_INDENT}{part}")
            shown_label = ""
        above = label
    return lines


def wrapped(paragraphs: Iterable[str], indent: str = "") -> list[str]:
    """Paragraphs as lines that fit the terminal.

    Args:
        indent: what each line but the first of a paragraph begins with.
    """
    width = max(terminal_width(), _LEAST_TEXT_WIDTH)
    return [
        line
        for text in paragraphs
        for line in textwrap.wrap(printable(text), width, subsequent_indent=indent)
    ]


def printable_lines(lines: Iterable[str]) -> list[str]:
    """Lines that must not be wrapped, such as those of a table."""
    return [printable(line) for line in lines]


def rounded(number: int) -> str:
    """A count to three digits, rounded up so that it is enough: 175,235 is "176,000"."""
    scale = 10 ** max(len(str(number)) - 3, 0)
    return f"{-(-number // scale) * scale:,}"


def metric_kind(spec: Spec) -> str:
    """A metric's type and how many values it has, such as "category of 50"."""
    if spec.attributes:
        return f"{len(spec.attributes)} {spec.type}"
    if spec.letters is not None:
        return f"{spec.type} to discover"
    if spec.type == "set":
        most = cast("SetMechanism", spec.mechanism).most
        return f"set of up to {most}{f' of {len(spec.values):,}' if spec.values else ''}"
    return f"{spec.type} of {len(spec.values):,}" if spec.values else spec.type


def report_limit(every: str) -> str:
    """How often a device reports, such as "at most one report per device per week".

    Args:
        every: as a registry says it.
    """
    return f"at most one report per device{', ever' if every == 'once' else f' per {every}'}"


def which_value(spec: Spec) -> str:
    """Which of the values of a period a device reports, and what follows of it."""
    if not spec.picks:
        return f"the first of a {spec.every}; later ones are left out"
    kind = "mean" if spec.type == "number" else "share"
    return (
        f"a random one of a {spec.every}, so that each counts alike; reported when the "
        f"{spec.every} is over. A {kind} is that of a device's values, averaged over devices"
    )


def display_width(text: str) -> int:
    """How many columns of a terminal a text takes: two for East Asian letters, none for marks."""
    return sum(
        0
        if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def byte_count(count: int) -> str:
    """A size, such as "7 bytes"."""
    return "1 byte" if count == 1 else f"{count:,} bytes"
