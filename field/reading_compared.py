"""Reading comparisons: sides that are no periods, and values with another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from field.asking import Reader
from field.findings import Check, Finds
from field.reading import interval, numbers_of, periods, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from field.asking import Answer
    from field.findings import Interval, Refusal


def arms(line: str) -> Reader:
    """The interval of every difference between two segments."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        first, second = list(answer.question.parameters["segment"])
        for row in numbers_of(answer, "difference in share"):
            one, two = (
                answer.truth.share_within(answer.metric, row["value"], arm, answer.selection)
                for arm in (first, second)
            )
            cluster = f"{answer.metric}/{answer.question.days}"
            yield interval(answer, line, cluster, row["value"], row, two - one)

    return Reader(line, read)


def different_arms(line: str, *, truly: bool) -> Reader:
    """Which differences between two segments are said to be clear.

    Args:
        line: of the table.
        truly: whether the segments do differ.
    """

    def read(answer: Answer, line: str) -> Iterator[Finds]:
        rows = numbers_of(answer, "difference in share")
        found = [row["value"] for row in rows if row["told"]]
        false, missed = (0, len(rows) - len(found)) if truly else (len(found), 0)
        name = f"{answer.metric} {answer.question.days}"
        yield Finds(line, name, len(found), false, len(rows) * truly, missed, ", ".join(found))

    return Reader(line, read)


def values_compared(line: str, values: AbstractSet[str]) -> Reader:
    """Whether a change compares these values, and leaves none out."""

    def read(answer: Answer, line: str) -> Iterator[Check]:
        found = {row["value"] for row in numbers_of(answer, "difference in share")}
        left_out = answer.content["head"].get("not_compared", [])
        name = f"{answer.metric} {answer.question.text}: {sorted(found)}, not {left_out}"
        yield Check(line, found == values and not left_out, name)

    return Reader(line, read)


def renamed_shares(line: str, earlier: Mapping[str, str]) -> Reader:
    """The interval of every share, where some values had another name.

    Args:
        line: of the table.
        earlier: of such values, by the names that they have now.
    """

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for period in periods(answer):
            for row in shares_of(answer, period.place):
                names = {row["value"], earlier.get(row["value"], row["value"])}
                whole = answer.truth.recorded.values(answer.metric, period.selection)
                truth = sum(whole[name] for name in names) / whole.total()
                cluster = f"{answer.metric}/{period.selection.days}"
                yield interval(answer, line, cluster, row["value"], row, truth)

    return Reader(line, read)
