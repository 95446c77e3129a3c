"""How many people belong to each cell of a table, from a file."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Final

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MOST_PEOPLE: Final = 10**12
"""That a value could be true of."""

_PEOPLE: Final = re.compile(r"[0-9]{1,13}")
_CELLS: Final = 2


def read_population(path: Path) -> Mapping[str, int]:
    """The people of each value.

    Args:
        path: a CSV file with two columns: a value of the metric, and how many people it could be
            true of. A first line whose second cell is a word is taken for a header.

    Raises:
        ParameterError: naming the line that is not so.
        OSError: if the file cannot be read.
    """
    people: dict[str, int] = {}
    try:
        lines = list(csv.reader(path.read_text("utf-8-sig").splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise ParameterError("population", "CSV in UTF-8", str(path)) from None
    for number, cells in enumerate(lines, 1):
        if not cells:
            continue
        if len(cells) != _CELLS:
            raise ParameterError(f"line {number} of {path}", "a value and a number", cells)
        value, count = cells[0], cells[1].strip()
        if number == 1 and _is_word(count):
            continue
        if not (_PEOPLE.fullmatch(count) and 0 < int(count) <= MOST_PEOPLE):
            wanted = f"a number of people in [1, {MOST_PEOPLE:,}]"
            raise ParameterError(f"line {number} of {path}", wanted, count[:60])
        if value in people:
            raise ParameterError(f"line {number} of {path}", "a value of its own", value)
        people[value] = int(count)
    if not people:
        raise ParameterError("population", "a file with at least one value", str(path))
    return people


def _is_word(text: str) -> bool:
    """Whether a text begins with a letter and is no number, such as nan."""
    try:
        float(text)
    except ValueError:
        return text[:1].isalpha()
    return False
