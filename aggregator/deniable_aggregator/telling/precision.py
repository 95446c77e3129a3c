"""One precision for the numbers of a column, wherever they are read: decided once for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.telling.numbers import limits_of
from deniable_aggregator.telling.rounding import column_steps, ends_within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.measured import Measure

Number = TypeVar("Number", bound=Measured)

_TOGETHER: Final[Mapping[Measure, str]] = {
    "share": "values",
    "combined": "values",
    "rest": "values",
    "segment size": "segments",
    "set size": "sets",
    "bin": "bins",
    "lift": "lifts",
    "mean": "numbers",
    "quantile": "numbers",
    "difference in share": "changes",
    "difference in combined": "changes",
    "difference in mean": "differences",
    "difference in quantile": "differences",
    "effect together": "effects",
    "effect of mix": "effects",
    "effect of answers": "effects",
}
"""Which numbers are read below each other, by what they are."""


def with_one_precision(answer: Answer) -> Answer:
    """The same answer, whose numbers that are read together are rounded alike by all words.

    Args:
        answer: as it was computed; none of its numbers is changed.
    """
    return replace(answer, numbers=in_columns(answer.numbers, limits_of(answer)))


def in_columns(numbers: Sequence[Number], limits: Limits | None = None) -> list[Number]:
    """The same numbers of one metric with the steps to which words round them.

    Numbers of parts of the reports have a table, and a precision, of their own.

    Args:
        numbers: of one answer, or of the days of one period in the table of estimates.
        limits: between which means and quantiles lie, if that is known.
    """
    columns: dict[tuple[str, bool], list[int]] = {}
    for place, number in enumerate(numbers):
        column = _TOGETHER.get(number.measure)
        if column is not None and number.low is not None and number.high is not None:
            columns.setdefault((column, number.of_part), []).append(place)
    stepped = list(numbers)
    for places in columns.values():
        intervals = [_ends(numbers[place], limits) for place in places]
        steps = column_steps(numbers[places[0]].unit, intervals)
        for place, step in zip(places, steps, strict=True):
            if step is not None:
                stepped[place] = replace(numbers[place], step=step)
    return stepped


def _ends(number: Measured, limits: Limits | None) -> Limits:
    """The part of an interval that words are about."""
    if limits is None or number.unit != "number":
        return number.ends
    return ends_within(*number.ends, limits)
