"""A series in a sentence: the last period against the one before and the first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answers.limits import limits_of
from deniable_aggregator.sentences.ranges import number_range_in_words, range_in_words
from deniable_aggregator.sentences.shares import PAIR, TRUE
from deniable_aggregator.sentences.wording import (
    counted,
    days_between,
    quantile_in_words,
    shown_value,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deniable_aggregator.answers.trends import Period, Series

MOST_FOLLOWED: Final = 3


class _Point(NamedTuple):
    """One number of a period."""

    name: str
    size: float
    low: float
    high: float


def series_finding(answer: Series) -> str:
    """What the last whole period says beside the one before it and the first.

    Where no period is whole yet, it is about the last one so far.

    Args:
        answer: the series.
    """
    reported = [period for period in answer.periods if period.reports]
    whole = [period for period in reported if "incomplete" not in period.marks] or reported
    if not whole:
        return f"no reports in {counted(len(answer.periods), answer.by)}"
    last = whole[-1]
    in_words = (
        range_in_words
        if answer.kind == "shares"
        else partial(number_range_in_words, limits=limits_of(answer))
    )
    lines = [f"in the {_which(answer, last)} ({days_between(last.since, last.until)})"]
    points = sorted(_points(last), key=lambda point: -point.size)
    if len(points) > MOST_FOLLOWED:
        lines[0] += f", the largest of {counted(len(points), 'value')}"
    lines[0] += ": " + "; ".join(
        f"{point.name} {in_words(point.low, point.high)}"
        + "".join(_against(point, whole, answer, in_words))
        for point in points[:MOST_FOLLOWED]
    )
    empty = len(answer.periods) - len(reported)
    if empty:
        lines.append(f"no reports in {empty:,} of {counted(len(answer.periods), answer.by)}")
    return "; ".join(lines)


def _which(answer: Series, last: Period) -> str:
    if "incomplete" in last.marks:
        return f"{answer.by} so far"
    return f"last {'whole ' * ('incomplete' in answer.periods[-1].marks)}{answer.by}"


def _against(
    point: _Point,
    whole: Sequence[Period],
    answer: Series,
    in_words: Callable[[float, float], str],
) -> Iterator[str]:
    """What the number was in the period before, and in the first."""
    before = whole[-2] if len(whole) > 1 else None
    first = whole[0] if len(whole) > 2 else None
    named = []
    if before is not None:
        named.append((before, f"the {answer.by} before"))
    if first is not None:
        named.append((first, f"in the first {answer.by}"))
    parts = []
    for period, when in named:
        other = {each.name: each for each in _points(period)}.get(point.name)
        if other is not None:
            parts.append(f"{_way(point, other)}{in_words(other.low, other.high)} {when}")
    if parts:
        yield f" ({', '.join(parts)})"


def _way(point: _Point, other: _Point) -> str:
    """How a number lies beside an earlier one, where their intervals do not even touch."""
    if point.low > other.high:
        return "up from "
    return "down from " if point.high < other.low else ""


def _points(period: Period) -> Iterator[_Point]:
    shares = period.estimates or []
    for share in [each for each in shares if PAIR not in each.value] or shares:
        name = "true" if share.value == TRUE else shown_value(share.value)
        yield _Point(name, share.share, share.low, share.high)
    if period.combined:
        both = period.combined
        yield _Point(together(both.values), both.share, both.low, both.high)
    for each in period.quantiles or ():
        yield _Point(f"the {quantile_in_words(each.quantile)}", 1.0, each.low, each.high)
    if period.mean:
        yield _Point("the mean", 0.0, period.mean.low, period.mean.high)
