"""Reading what was found of strings that nobody listed, beside what devices held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from field.asking import Reader
from field.findings import Finds, Interval
from field.reading import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from field.asking import Answer

    Row = dict[str, Any]

MUST_BE_FOUND: Final = 1.6
"""A share that is so many times what is found nine times out of ten must be found."""


def found_strings(line: str) -> Reader:
    """Strings that are shown: false where nobody holds them; missed where they stand out.

    A prefix is true if any string that devices hold goes on from it.
    """

    def read(answer: Answer, line: str) -> Iterator[Finds]:
        held = _held(answer)
        whole, begun = (
            [row["value"] for row in _found(answer, whole=each)] for each in (True, False)
        )
        false = [text for text in whole if text not in held]
        false += [text for text in begun if not any(each.startswith(text) for each in held)]
        least = max(row["share"] for row in answer.content["head"]["found"]["smallest"])
        due = [text for text, share in held.items() if share > MUST_BE_FOUND * least]
        missed = [text for text in due if text not in whole and not text.startswith(tuple(begun))]
        yield Finds(
            line, f"{answer.metric} {answer.question.text}", len(whole) + len(begun), len(false),
            len(due), len(missed), ", ".join([*false, *missed][:3]),
        )  # fmt: skip

    return Reader(line, read)


def found_shares(line: str) -> Reader:
    """The interval of every string that is shown, and of what else begins as a prefix does."""

    def read(answer: Answer, line: str) -> Iterator[Interval]:
        held = _held(answer)
        strings, prefixes = (_found(answer, whole=each) for each in (True, False))
        whole = {row["value"] for row in strings}
        begun = [row["value"] for row in prefixes]
        cluster = f"{answer.metric}/{answer.selection.days}"

        def interval(row: Row, truth: float) -> Interval:
            ends = row["low"], row["high"]
            return Interval(line, cluster, row["value"], truth, row["estimate"], *ends)

        for row in strings:
            yield interval(row, held.get(row["value"], 0.0))
        for row in prefixes:
            text = row["value"]
            longer = tuple(each for each in begun if each.startswith(text) and each != text)
            others = (
                share
                for string, share in held.items()
                if string.startswith(text) and string not in whole
                and not string.startswith(longer)
            )  # fmt: skip
            yield interval(row, sum(others))

    return Reader(line, read)


def _found(answer: Answer, *, whole: bool) -> list[Row]:
    """The strings that are shown, or the first letters of longer ones."""
    return [row for row in numbers_of(answer, "share") if row.get("whole") is whole and row["told"]]


def _held(answer: Answer) -> dict[str, float]:
    """The share of the reports that truly hold each string."""
    counts: dict[Any, int] = answer.truth.recorded.values(answer.metric, answer.selection)
    total = sum(counts.values())
    return {text: count / total for text, count in counts.items() if count}
