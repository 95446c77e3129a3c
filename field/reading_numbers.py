"""Reading answers about numbers: means, bins, quantiles, and how they have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from field.asking import Reader
from field.findings import Finds, Interval, Refusal
from field.reading import interval, numbers_of, periods

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
        for period in periods(answer):
            for row in numbers_of(answer, "mean", period=period.place):
                truth = answer.truth.mean(answer.metric, period.selection)
                cluster = answer.metric if memoised else f"{answer.metric}/{period.selection.days}"
                yield interval(answer, line, cluster, "mean", row, truth)

    return Reader(line, read)


def quantiles(line: str) -> Reader:
    """Every quantile; one that is not placed has no number, but an interval."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for period in periods(answer):
            for row in numbers_of(answer, "quantile", period=period.place):
                truth = answer.truth.quantile(answer.metric, row["quantile"], period.selection)
                cluster = f"{answer.metric}/{period.selection.days}"
                yield interval(answer, line, cluster, f"{row['quantile']:.0%}", row, truth)

    return Reader(line, read)


def bins(line: str) -> Reader:
    """The share of every bin."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        for row in numbers_of(answer, "bin"):
            low, high = row["bin_from"], row["bin_to"]
            truth = answer.truth.between(answer.metric, low, high, answer.selection)
            name = f"{low:g}..{high:g}"
            cluster = f"{answer.metric}/{answer.selection.days}"
            yield interval(answer, line, cluster, name, row, truth)

    return Reader(line, read)


def quantile_differences(line: str) -> Reader:
    """The interval of every difference of a quantile between two periods."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        before = answer.selection._replace(days=answer.question.before)
        for row in numbers_of(answer, "difference in quantile"):
            one, two = (
                answer.truth.quantile(answer.metric, row["quantile"], each)
                for each in (before, answer.selection)
            )
            cluster = f"{answer.metric}/{answer.question.days}"
            yield interval(answer, line, cluster, f"{row['quantile']:.0%}", row, two - one)

    return Reader(line, read)


def shape_distances(line: str) -> Reader:
    """The interval of how far a distribution has moved."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Refusal]:
        before = answer.selection._replace(days=answer.question.before)
        for row in numbers_of(answer, "distance"):
            if row.get("value") == "earth-mover":
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
        found = int(any(row["told"] for row in numbers_of(answer, "distance")))
        false = int(found and not truly)
        missed = int(truly and not found)
        name = f"{answer.metric} {answer.question.text}"
        yield Finds(line, name, found, false, int(truly), missed)

    return Reader(line, read)
