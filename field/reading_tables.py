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
        wanted = dict(_of_answer(answer.content["answer"]))
        tables = {"the table": answer.content["table"]}
        tables["CSV"] = list(csv.DictReader(io.StringIO(answer.content["csv"])))
        for name, rows in tables.items():
            found = dict(_of_table(rows))
            where = f"{name}, {answer.metric} of {answer.selection.days}"
            yield Check(line, bool(wanted) and found.keys() == wanted.keys(), f"{where}: its rows")
            for key, numbers in found.items():
                said = f"{where}: {key} has {numbers}, the answer {wanted.get(key)}"
                yield Check(line, numbers == wanted.get(key), said)

    return Reader(line, read)


def _of_answer(content: Row) -> Iterator[tuple[tuple[str, str], list[float | None]]]:
    for row in content.get("estimates", ()):
        yield ("share", row["value"]), [row["share"], row["low"], row["high"]]
    for row in content.get("lifts", ()):
        yield ("lift", " & ".join(row["values"])), [row["lift"], row["low"], row["high"]]
    if row := content.get("mean"):
        yield ("mean", ""), [row["estimate"], row["low"], row["high"]]
    for row in content.get("quantiles", ()):
        yield ("quantile", repr(row["quantile"])), [row["estimate"], row["low"], row["high"]]


def _of_table(rows: list[Row]) -> Iterator[tuple[tuple[str, str], list[float | None]]]:
    for row in rows:
        if row["measure"] in _COMPARED:
            of = row.get("value") or _text(row.get("quantile"))
            numbers = [row.get(name) for name in ("estimate", "low", "high")]
            yield (
                (row["measure"], of),
                [None if each in (None, "") else float(each) for each in numbers],
            )


def _text(quantile: float | str | None) -> str:
    return "" if quantile in (None, "") else repr(float(quantile or 0))
