"""Reading lifts: which flags go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from field.asking import Reader
from field.findings import Finds
from field.reading import interval, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from field.asking import Answer
    from field.findings import Interval, Refusal


def lifts(line: str) -> Reader:
    """The interval of every lift: the share of both flags over the product of their shares."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for row in numbers_of(answer, "lift"):
            if "estimate" not in row:
                continue  # of so few reports a flag's share may be zero
            one, other = row["values"]
            both, first, second = (
                answer.truth.share(answer.metric, [value], answer.selection)
                for value in (f"{one} & {other}", one, other)
            )
            cluster = f"{answer.metric}/{answer.selection.days}"
            name = f"lift of {one} & {other}"
            yield interval(answer, line, cluster, name, row, both / (first * second))

    return Reader(line, read)


def associations(line: str, *, truly: tuple[str, str]) -> Reader:
    """Which flags are said to go together, or to exclude each other.

    Args:
        line: of the table.
        truly: the two flags that do; all others are independent by the law of the devices.
    """

    def read(answer: Answer, line: str) -> Iterator[Finds]:
        found = [tuple(row["values"]) for row in numbers_of(answer, "lift") if row["told"]]
        false = [" & ".join(flags) for flags in found if flags != truly]
        yield Finds(
            line, f"{answer.metric} {answer.selection.days}",
            len(found), len(false), 1, int(truly not in found), ", ".join(false),
        )  # fmt: skip

    return Reader(line, read)
