"""A metric at a glance: its newest number and what has changed, in a few words each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.telling.changes import at_most, how_far, reach, way_of
from deniable_aggregator.telling.findings import is_flag, leading_beginning, lift_in_words
from deniable_aggregator.telling.leaders import MOST_NAMED, contenders
from deniable_aggregator.telling.numbers import (
    PAIR,
    UNTOLD,
    estimate_of,
    limits_of,
    mean_in_words,
    named,
    range_ends,
    range_of,
    range_of_all,
    size_of,
)
from deniable_aggregator.telling.ranges import verb_of
from deniable_aggregator.telling.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.limits import Limits
    from deniable_aggregator.answers.measured import Measured

MOST_CLEAR: Final = 2
"""Of the clear changes of a metric, so many are named."""

WIDE: Final = 0.5
"""The interval of a share that is as wide says next to nothing."""

_MEDIAN: Final = 0.5
_HIGH: Final = (0.9, 0.95)
"""Which quantile is named beside the median: the first of these that there is."""

_CHANGES: Final = ("difference in share", "difference in mean", "difference in quantile")


class Glance(NamedTuple):
    """The newest number of a metric.

    Attributes:
        range: its range in words, such as "44 to 46%"; empty if nothing is told from zero.
        of: what it is the number of, such as "Chrome".
        more: what else there is, such as "then Safari with 21 to 23%"; may be empty.
        number: which number it is.
    """

    range: str
    of: str
    more: str
    number: Measured


class Headline(NamedTuple):
    """The one number of an answer, as it stands by itself.

    Attributes:
        range: its range in words.
        of: what it is the number of, and the estimate.
    """

    range: str
    of: str


def headline(answer: Answer) -> Headline | None:
    """The one number of a flag or a mean; None of an answer with several.

    Args:
        answer: an estimate.
    """
    shares, mean = answer.of("share"), answer.one("mean")
    level = f"{answer.head.level:.0%} interval"
    if answer.head.kind == "mean" and mean is not None:
        limits = limits_of(answer)
        where = range_of(mean, limits)
        what = f"{verb_of(where)} the {mean_in_words(mean)}"
        said = f"{what}; estimate {estimate_of(mean, limits)}, {level}"
        return Headline(where, said)
    if not is_flag(shares):
        return None
    estimate = f"estimate {estimate_of(shares[0])}" if shares[0].told else UNTOLD
    return Headline(range_of(shares[0]), f"of reports; {estimate}, {level}")


def glance(
    numbers: Sequence[Measured], *, records: bool = False, limits: Limits | None = None
) -> Glance | None:
    """What the numbers of one metric and period say first; None if there is none.

    Args:
        numbers: of all devices together.
        records: whether the values are those of several attributes.
        limits: the range of a metric of numbers, if it is known.
    """
    placed = [number for number in numbers if number.low is not None and number.high is not None]
    shares = [
        number
        for number in placed
        if number.measure == "share" and number.segment is None and number.value is not None
    ]
    if shares:
        single = [number for number in shares if PAIR not in (number.value or "")]
        first = _of_shares(single or shares, records=records)
        more = [text for text in (first.more, _association(numbers)) if text]
        return first._replace(more="; ".join(more))
    quantiles = {number.quantile: number for number in placed if number.measure == "quantile"}
    median = quantiles.get(_MEDIAN)
    if median is not None:
        high = next((quantiles[share] for share in _HIGH if share in quantiles), None)
        return Glance(range_of(median, limits), "median", _beside_median(high, limits), median)
    mean = next((number for number in placed if number.measure == "mean"), None)
    if mean is None:
        return None
    ends = range_ends(mean)
    cut = "" if ends is None else f", values outside {ends[0]:,g} to {ends[1]:,g} counted as these"
    return Glance(range_of(mean, limits), f"on average{cut}", "", mean)


def _beside_median(high: Measured | None, limits: Limits | None) -> str:
    if high is None:
        return ""
    where = range_of(high, limits)
    return f"{named(high)} {verb_of(where)} {where}"


def _of_shares(shares: Sequence[Measured], *, records: bool) -> Glance:
    above_zero = sorted((number for number in shares if number.told), key=size_of, reverse=True)
    if not above_zero:
        largest = max(shares, key=lambda number: number.of_all[1])
        which = named(largest) if len(shares) == 1 else f"each of {counted(len(shares), 'value')}"
        return Glance(range_of_all(largest), which, "can't be told from zero", largest)
    first, others = above_zero[0], above_zero[1:MOST_NAMED]
    level = [] if records else contenders(above_zero)[1:]
    if level:
        names = [named(number) for number in level[:MOST_NAMED]]
        names += [f"{len(level) - MOST_NAMED:,} more"] if level[MOST_NAMED:] else []
        more = f"too close to call with {listed(names)}"
    else:
        more = _listed_ranges(others)
        more = f"then {more}" if more and not records else more
    return Glance(range_of_all(first), named(first), more, first)


def _listed_ranges(numbers: Sequence[Measured]) -> str:
    ranges = [
        f"{named(number)} {range_of(number) if number.whole is False else range_of_all(number)}"
        for number in numbers
    ]
    return listed(ranges) if ranges else ""


def found_at_a_glance(answer: Answer) -> Glance | None:
    """The most popular of the strings that nobody listed, or what more begin with; None if neither.

    Args:
        answer: a result of a discovery.
    """
    strings = sorted(answer.strings, key=size_of, reverse=True)
    beginning = leading_beginning(answer)
    if beginning is not None:
        whole = _listed_ranges(strings[:MOST_NAMED])
        more = f"of whole strings {whole}" if whole else ""
        return Glance(range_of(beginning), f"begin with {named(beginning)}", more, beginning)
    if not strings:
        return None
    others = _listed_ranges(strings[1:MOST_NAMED])
    more = f"then {others}" if others else ""
    return Glance(range_of(strings[0]), named(strings[0]), more, strings[0])


def _association(numbers: Sequence[Measured]) -> str:
    """Which two values go together most clearly, or exclude each other; empty if none do."""
    lifts = [
        (number.p_value, number)
        for number in numbers
        if number.measure == "lift"
        and number.told
        and number.estimate is not None
        and number.p_value is not None
    ]
    return lift_in_words(min(lifts, key=lambda pair: pair[0])[1]) if lifts else ""


def says_little(number: Measured) -> bool:
    """Whether the interval of a share is so wide that it says next to nothing.

    Args:
        number: any.
    """
    if number.measure != "share" or number.low is None or number.high is None:
        return False
    return number.high - number.low >= WIDE


def clearness(numbers: Sequence[Measured]) -> float:
    """How clear the clearest change of one metric is, in standard errors; 0 if none is clear.

    Args:
        numbers: of what has changed.
    """
    errors = [
        abs(number.estimate) / number.standard_error
        for number in clear_numbers(numbers)
        if number.estimate is not None and number.standard_error
    ]
    return max(errors, default=1.0 if changes_at_a_glance(numbers) else 0.0)


def clear_numbers(numbers: Sequence[Measured]) -> list[Measured]:
    """The clear changes, the largest first.

    Args:
        numbers: of what has changed in one metric.
    """
    clear = [number for number in numbers if number.measure in _CHANGES and number.told]
    return sorted(clear, key=lambda number: (_CHANGES.index(number.measure), -abs(size_of(number))))


def changes_at_a_glance(numbers: Sequence[Measured], first: Measured | None = None) -> list[str]:
    """What has clearly changed in one metric, in a few words each; empty if nothing has.

    Args:
        numbers: of what has changed.
        first: the number that is said first; its change is, too.
    """
    clear = [
        number
        for number in clear_numbers(numbers)
        if number.low is not None and number.high is not None
    ]
    if first is not None:
        of_first = (first.value, first.quantile)
        clear.sort(key=lambda number: (number.value, number.quantile) != of_first)
    changes = [_moved(number) for number in clear[:MOST_CLEAR]]
    if len(clear) > MOST_CLEAR:
        changes.append(f"{counted(len(clear) - MOST_CLEAR, 'more change')}")
    if not clear and any(number.measure == "distance" and number.told for number in numbers):
        changes.append("the distribution as a whole changed")
    return changes


def no_change_at_a_glance(numbers: Sequence[Measured]) -> str:
    """How large a change can be where none is clear; empty if nothing was compared.

    Args:
        numbers: as of `changes_at_a_glance`.
    """
    compared = [
        number
        for number in numbers
        if number.measure in _CHANGES[:2] and number.low is not None and number.high is not None
    ]
    if not compared:
        return ""
    each = "each value " if len(compared) > 1 else ""
    return f"no clear change ({each}{at_most(max(compared, key=reach))})"


def _moved(number: Measured) -> str:
    verb = "rose" if way_of(number) == "risen" else "fell"
    low, high = number.ends
    if low <= 0 <= high:
        return f"{named(number)} {verb}, by how much is not known"
    return f"{named(number)} {verb} by {how_far(number)}"
