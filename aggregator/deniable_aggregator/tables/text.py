"""Rows as CSV and as JSON lines.

Every number is written with as many digits as it takes to read the same float64 back.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import astuple

from deniable_aggregator.tables.row import COLUMNS
from deniable_shared.characters import visible_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from deniable_aggregator.tables.row import Row

ROWS_AT_ONCE: Final = 512
"""So many rows are one piece: about 200 kB."""

_FORMULA: Final = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
"""How a text begins that a spreadsheet would take for a formula (OWASP, CSV injection)."""

_NEEDS_QUOTES: Final = re.compile('[",\r\n]|^ | $|^$')


def encode_csv(rows: Iterable[Row]) -> Iterator[bytes]:
    r"""CSV (RFC 4180) with a header, lines that end in \n, and nothing where a column is None.

    An empty text is a pair of quotes. A text that a spreadsheet would take for a formula gets an
    apostrophe in front; one that has an apostrophe there already gets another, so that a program
    can remove one from each text that begins with apostrophes and a sign of a formula.

    Args:
        rows: in their order.
    """
    yield (",".join(COLUMNS) + "\n").encode()
    remaining = iter(rows)
    while lines := [
        ",".join(["" if cell is None else _CELLS[type(cell)](cell) for cell in astuple(row)])
        for row in islice(remaining, ROWS_AT_ONCE)
    ]:
        yield ("\n".join(lines) + "\n").encode()


def encode_jsonl(rows: Iterable[Row]) -> Iterator[bytes]:
    """JSON lines: an object with all columns on every line.

    Characters that act on a terminal are escaped, as texts may be those that devices sent.

    Args:
        rows: in their order.
    """
    encoder = msgspec.json.Encoder()
    remaining = iter(rows)
    while piece := encoder.encode_lines(list(islice(remaining, ROWS_AT_ONCE))):
        yield piece if piece.isascii() else visible_json(piece.decode()).encode()


def spreadsheet_safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: with an apostrophe in front where one would.

    Args:
        text: whatever devices or registries hold.
    """
    return f"'{text}" if _FORMULA.match(text) else text


@lru_cache(1_024)  # most texts are those of the row before
def _text_cell(text: str) -> str:
    text = spreadsheet_safe(text)
    if _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


_CELLS: Final[Mapping[type, Callable[[Any], str]]] = {
    bool: lambda truth: "true" if truth else "false",
    date: date.isoformat,
    float: repr,
    int: repr,
    str: _text_cell,
}
