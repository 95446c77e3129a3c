"""Reading answers about numbers: means, bins, quantiles, and how they have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from field.asking import Reader
from field.findings import Finds, Interval, Refusal
from field.reading import interval, periods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from field.asking import Answer


def means(line: str, *, memoised: bool = False) -> Reader:
    """The mean of a number or a distribution.

    Args:
        line: of the table.
        memoised: whether the noise of all days is the same.
    """

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for part, selection in periods(answer):
            if row := part.get("mean"):
                truth = answer.truth.mean(answer.metric, selection)
                cluster = answer.metric if memoised else f"{answer.metric}/{selection.days}"
                yield interval(answer, line, cluster, "mean", row, truth)

    return Reader(line, read)


def quantiles(line: str) -> Reader:
    """Every quantile; one that is not placed has no number, but an interval."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for part, selection in periods(answer):
            for row in part.get("quantiles") or ():
                truth = answer.truth.quantile(answer.metric, row["quantile"], selection)
                cluster = f"{answer.metric}/{selection.days}"
                yield interval(answer, line, cluster, f"{row['quantile']:.0%}", row, truth)

    return Reader(line, read)


def bins(line: str) -> Reader:
    """The share of every bin."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for row in answer.content["bins"]:
            truth = answer.truth.between(answer.metric, row["from"], row["to"], answer.selection)
            name = f"{row['from']:g}..{row['to']:g}"
            cluster = f"{answer.metric}/{answer.selection.days}"
            yield interval(answer, line, cluster, name, row, truth)

    return Reader(line, read)


def quantile_differences(line: str) -> Reader:
    """The interval of every difference of a quantile between two periods."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        before = answer.selection._replace(days=answer.question.before)
        for row in answer.content["quantiles"]:
            one, two = (
                answer.truth.quantile(answer.metric, row["quantile"], each)
                for each in (before, answer.selection)
            )
            printed = {**row, "estimate": row["change"]}
            cluster = f"{answer.metric}/{answer.question.days}"
            yield interval(answer, line, cluster, f"{row['quantile']:.0%}", printed, two - one)

    return Reader(line, read)


def shape_distances(line: str) -> Reader:
    """The interval of how far a distribution has moved."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        before = answer.selection._replace(days=answer.question.before)
        row = answer.content["shape"].get("distance")
        if row and row["kind"] == "earth-mover":
            truth = answer.truth.distance(answer.metric, before, answer.selection)
            cluster = f"{answer.metric}/{answer.question.days}"
            yield interval(answer, line, cluster, "distance", {**row, "estimate": None}, truth)

    return Reader(line, read)


def shape_changes(line: str, *, truly: bool = False) -> Reader:
    """Whether the distribution is said to have changed as a whole.

    Args:
        line: of the table.
        truly: whether it did; otherwise the law was the same in both periods.
    """

    def read(answer: Answer, line: str) -> Iterator[Finds]:
        found = int(answer.content["shape"]["changed"])
        false = int(found and not truly)
        missed = int(truly and not found)
        name = f"{answer.metric} {answer.question.text}"
        yield Finds(line, name, found, false, int(truly), missed)

    return Reader(line, read)
