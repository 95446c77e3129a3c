"""Reading the table of estimates and the CSV of an answer: the numbers are those of the answer."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from field.asking import Reader
from field.findings import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from field.asking import Answer

    Row = Mapping[str, Any]
    Numbers = dict[tuple[str, str], list[float | None]]
    """By measure, and by value or quantile: an estimate, and the ends of its interval."""

_COMPARED: Final = ("share", "lift", "mean", "quantile")


def same_numbers(line: str) -> Reader:
    """Whether the numbers of a week in the table, and of its answer as CSV, are the answer's."""

    def read(answer: Answer, line: str) -> Iterator[Check]:
        wanted = _by_value(answer.content["answer"]["numbers"])
        tables = {"the table": answer.content["table"]}
        tables["CSV"] = list(csv.DictReader(io.StringIO(answer.content["csv"])))
        for name, rows in tables.items():
            found = _by_value(rows)
            where = f"{name}, {answer.metric} of {answer.selection.days}"
            yield Check(line, bool(wanted) and found.keys() == wanted.keys(), f"{where}: its rows")
            for key, numbers in found.items():
                said = f"{where}: {key} has {numbers}, the answer {wanted.get(key)}"
                yield Check(line, numbers == wanted.get(key), said)

    return Reader(line, read)


def _by_value(rows: list[Row]) -> Numbers:
    """The numbers of all versions together; those of an answer and a table have the same names."""
    found: Numbers = {}
    for row in rows:
        if row["measure"] in _COMPARED and row.get("question") != "version":
            of = row.get("value") or _text(row.get("quantile"))
            cells = [row.get(name) for name in ("estimate", "low", "high")]
            numbers = [None if each in (None, "") else float(each) for each in cells]
            found[row["measure"], of] = numbers
    return found


def _text(quantile: float | str | None) -> str:
    return "" if quantile in (None, "") else repr(float(quantile or 0))
