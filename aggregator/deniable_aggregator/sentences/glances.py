"""A metric at a glance: its newest number and what has changed, from the table of estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.sentences.change import at_most, how_far, reach
from deniable_aggregator.sentences.ranges import (
    number_range_in_words,
    range_in_words,
    verb_of,
)
from deniable_aggregator.sentences.shares import (
    MOST_NAMED,
    PAIR,
    TRUE,
    association_in_words,
    contenders,
)
from deniable_aggregator.sentences.wording import counted, listed, quantile_in_words, shown_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.discoveries import FoundString, FoundStrings
    from deniable_aggregator.answers.estimate_table import TableRow
    from deniable_aggregator.limits import Limits

MOST_CLEAR: Final = 2
"""Of the clear changes of a metric, so many are named."""

_MEDIAN: Final = 0.5
_HIGH: Final = (0.9, 0.95)
"""Which quantile is named beside the median: the first of these that there is."""


class Glance(NamedTuple):
    """The newest number of a metric.

    Attributes:
        number: its range in words, such as "44 to 46%"; empty if nothing is told from zero.
        of: what it is the number of, such as "Chrome".
        more: what else there is, such as "then Safari with 21 to 23%"; may be empty.
        row: which row it is; None if it is none.
    """

    number: str
    of: str
    more: str
    row: TableRow | None


class _Row(NamedTuple):
    """A row with an interval."""

    name: str
    low: float
    high: float
    row: TableRow


def glance(
    rows: Sequence[TableRow], *, records: bool = False, limits: Limits | None = None
) -> Glance | None:
    """What the rows of one metric and period say first; None if they have no number.

    Args:
        rows: of all devices together.
        records: whether the values are those of several attributes.
        limits: the range of a metric of numbers, if it is known.
    """
    shares = [each for row in rows if row.measure == "share" for each in _share(row)]
    if shares:
        single = [each for each in shares if PAIR not in each.name]
        seen = _of_shares(single or shares, records=records)
        return seen._replace(more="; ".join(filter(None, [seen.more, _association(rows)])))
    placed = [
        _Row(quantile_in_words(row.quantile), row.low, row.high, row)
        for row in rows
        if row.measure == "quantile"
        and row.quantile is not None
        and row.low is not None
        and row.high is not None
    ]
    median = next((each for each in placed if each.row.quantile == _MEDIAN), None)
    if median is not None:
        high = next((each for q in _HIGH for each in placed if each.row.quantile == q), None)
        more = ""
        if high is not None:
            where = _number(high, limits)
            more = f"the {high.name} {verb_of(where)} {where}"
        return Glance(_number(median, limits), "median", more, median.row)
    for row in rows:
        if row.measure == "mean" and row.low is not None and row.high is not None:
            mean = number_range_in_words(row.low, row.high, limits)
            return Glance(mean, "on average", "", row)
    return None


def _share(row: TableRow) -> list[_Row]:
    """A share with the ends between which it is of all reports."""
    if row.segment is not None or row.value is None:
        return []
    low, high = (row.low, row.high)
    if row.possible_low is not None and row.possible_high is not None:
        low, high = row.possible_low, row.possible_high
    return [] if low is None or high is None else [_Row(row.value, low, high, row)]


def _of_shares(rows: Sequence[_Row], *, records: bool) -> Glance:
    found = sorted((each for each in rows if each.row.detected), key=_size, reverse=True)
    if not found:
        largest = max(rows, key=lambda each: each.high)
        most = range_in_words(min(largest.low, 0.0), largest.high)
        which = _value(largest) if len(rows) == 1 else f"each of {counted(len(rows), 'value')}"
        return Glance(most, which, "can't be told from zero", largest.row)
    first, others = found[0], found[1:MOST_NAMED]
    level = [] if records else contenders([(each.name, each) for each in found])[1:]
    if level:
        names = [shown_value(name) for name, _ in level[:MOST_NAMED]]
        names += [f"{len(level) - MOST_NAMED:,} more"] if level[MOST_NAMED:] else []
        more = f"too close to call with {listed(names)}"
    else:
        ranges = [f"{_value(each)} {range_in_words(each.low, each.high)}" for each in others]
        more = ("" if records else "then ") + listed(ranges) if ranges else ""
    return Glance(range_in_words(first.low, first.high), _value(first), more, first.row)


def _value(each: _Row) -> str:
    return TRUE if each.name == TRUE else shown_value(each.name)


def found_at_a_glance(answer: FoundStrings) -> Glance | None:
    """The most popular of the strings that nobody listed; None if none was found.

    Args:
        answer: what was found.
    """
    found = sorted(answer.strings, key=lambda each: -each.share)
    if not found:
        return None
    others = [f"{shown_value(each.shown)} {_share_range(each)}" for each in found[1:MOST_NAMED]]
    more = f"then {listed(others)}" if others else ""
    return Glance(_share_range(found[0]), shown_value(found[0].shown), more, None)


def _share_range(each: FoundString) -> str:
    return range_in_words(each.low, each.high)


def _association(rows: Sequence[TableRow]) -> str:
    """Which two values go together most clearly, or exclude each other; empty if none do."""
    lifts = [
        (row.p_value, row)
        for row in rows
        if row.measure == "lift" and row.detected and row.p_value is not None
    ]
    if not lifts:
        return ""
    _, clearest = min(lifts, key=lambda each: each[0])
    one, _, other = (clearest.value or "").partition(PAIR)
    if not other or clearest.estimate is None:
        return ""
    together = clearest.estimate > 1
    return association_in_words([one, other], clearest.low, clearest.high, together=together)


def _size(each: _Row) -> float:
    return each.row.estimate or 0.0


def _number(each: _Row, limits: Limits | None) -> str:
    return number_range_in_words(each.low, each.high, limits)


def clear_rows(rows: Sequence[TableRow]) -> list[TableRow]:
    """The rows of clear changes, the largest first.

    Args:
        rows: of what has changed in one metric.
    """
    clear = [row for row in rows if row.measure in _CHANGES and row.detected]
    return sorted(clear, key=lambda row: (_CHANGES.index(row.measure), -abs(row.estimate or 0.0)))


_CHANGES: Final = ("difference in share", "difference in mean", "difference in quantile")


def changes_at_a_glance(rows: Sequence[TableRow], first: TableRow | None = None) -> list[str]:
    """What has clearly changed in one metric, in a few words each; empty if nothing has.

    Args:
        rows: of what has changed, as the table of estimates has them.
        first: the number that is said first; its change is, too.
    """
    clear = [(row, each) for row in clear_rows(rows) for each in _changed(row)]
    if first is not None:
        named = (first.value, first.quantile)
        clear.sort(key=lambda pair: (pair[0].value, pair[0].quantile) != named)
    said = [_moved(row, each) for row, each in clear[:MOST_CLEAR]]
    if len(clear) > MOST_CLEAR:
        said.append(f"{counted(len(clear) - MOST_CLEAR, 'more change')}")
    if not clear and any(row.measure == "distance" and row.detected for row in rows):
        said.append("the distribution as a whole changed")
    return said


def no_change_at_a_glance(rows: Sequence[TableRow]) -> str:
    """How large a change can be where none is clear; empty if nothing was compared.

    Args:
        rows: as of `changes_at_a_glance`.
    """
    compared = [
        (row, each) for row in rows if row.measure in _CHANGES[:2] for each in _changed(row)
    ]
    if not compared:
        return ""
    row, widest = max(compared, key=lambda pair: reach(pair[1]))
    most = at_most(widest, shares=row.measure == "difference in share")
    each = "each value " if len(compared) > 1 else ""
    return f"no clear change ({each}{most})"


def _changed(row: TableRow) -> list[_Row]:
    if row.low is None or row.high is None:
        return []
    if row.quantile is not None:
        name = f"the {quantile_in_words(row.quantile)}"
    elif row.value is None:
        name = "the mean"
    else:
        name = "the share that is true" if row.value == TRUE else shown_value(row.value)
    return [_Row(name, row.low, row.high, row)]


def _moved(row: TableRow, each: _Row) -> str:
    verb = "rose" if (row.estimate or 0.0) > 0 else "fell"
    far = how_far(each, shares=row.measure == "difference in share")
    return f"{each.name} {verb} by {far}"
