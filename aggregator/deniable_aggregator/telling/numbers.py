"""The words of one measured number: its name, its range, its estimate and what stands beside it.

Tables, pages, pictures, sentences and notebooks take them from here, so that a number has the same
words wherever it is read.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.limits import Limits, widest
from deniable_aggregator.telling.interval import Interval, interval_of
from deniable_aggregator.telling.ranges import (
    NOT_PLACED,
    WITHIN,
    Beyond,
    beyond_ends,
    difference_in_words,
    estimate_in_words,
    interval_in_words,
    level_in_words,
    point_ends,
    points_in_words,
    share_ends,
    share_in_words,
)
from deniable_aggregator.telling.wording import (
    key_in_words,
    quantile_in_words,
    shown_text,
    shown_value,
    together,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measure, Measured

UNTOLD: Final = "can't tell from zero"
"""What stands in place of an estimate that is not told from zero."""

TOO_RARE: Final = "too rare"
"""What stands in place of the range of a lift of values that are too rare for one."""

TRUE: Final = "true"
"""The one value of a flag."""

SHARES: Final[tuple[Measure, ...]] = ("share", "combined", "rest")
"""Measures that are shares of values."""

PAIR: Final = " & "
"""Between the two attributes of a pair."""

OVERLAPPING: Final[Mapping[str, str]] = {
    "attributes": "attributes overlap",
    "set": "a device may have several items of a set",
}
"""Why shares of values cannot be added up, by the type of the metric."""

RECORDS: Final = frozenset({"pairs", "smp"})
"""Mechanisms of attributes, whose values are those of several attributes and of pairs."""

_BETWEEN: Final = frozenset({"share", "difference in combined"})
"""Measures that are of the values between two numbers, where they have these."""

_TOLD_FROM_ZERO: Final = frozenset({"share", "combined", "rest", "segment size", "set size", "bin"})
"""Measures whose `told` says whether they are told from zero."""

_LEAST_ERROR: Final = 0.005
"""To which the shares of a pair are rounded if nothing is known of their error."""


_PARTS: Final = 20
"""Of a number beside one without an interval, of which it is rounded to so small a part."""


def limits_of(answer: Answer) -> Limits | None:
    """Between which numbers means and quantiles of an answer lie for certain.

    This is the range of the metric; of several versions, the widest; and where it is not known, as
    far as the bins of a histogram go.

    Args:
        answer: of any kind; None of one that has no range.
    """
    return answer.head.limits or widest(
        (number.bin_from, number.bin_to)
        for number in answer.of("bin")
        if number.bin_from is not None and number.bin_to is not None
    )


def is_contrast(number: Measured) -> bool:
    """Whether a number says how far the reports of a key are from those of all others."""
    return number.measure.startswith("contrast")


def is_untold(number: Measured) -> bool:
    """Whether a number is a share that is not told from zero."""
    return number.told is False and number.measure in _TOLD_FROM_ZERO


def size_of(number: Measured) -> float:
    """What numbers are sorted by: the estimate, else the middle of the ends, or 0."""
    if number.estimate is None and number.low is not None and number.high is not None:
        return (number.low + number.high) / 2
    return number.estimate or 0.0


def name_of(number: Measured) -> str:
    """What a number is called where it has a place of its own, such as a row of a table.

    Characters that act or cannot be seen have their names, and the first letters of longer strings
    an ellipsis.

    Args:
        number: any.
    """
    if number.key is not None and not number.of_part:
        return key_in_words(number.key, number.label or "")
    if number.quantile is not None:
        return quantile_in_words(number.quantile)
    if number.measure == "bin" and number.bin_from is not None and number.bin_to is not None:
        return f"{number.bin_from:g} to {number.bin_to:g}"
    if number.measure == "segment size":
        return visible(number.segment or "")
    if number.value is None:
        return number.measure.removeprefix("difference in ")
    if number.whole is not None:
        return shown_text(number.value, whole=number.whole)
    return visible(number.value)


def named(number: Measured) -> str:
    """What a number is called within a sentence: values are quoted where they could be misread.

    Args:
        number: any.
    """
    if number.measure in ("combined", "rest", "difference in combined") and number.values:
        return f"{together(number.values)} together"
    if number.measure in ("mean", "difference in mean"):
        words = mean_in_words(number)
        return f"the {words}" + "," * (range_ends(number) is not None)
    if number.quantile is not None:
        return f"the {name_of(number)}"
    if (number.bin_from, number.bin_to) != (None, None) and number.measure in _BETWEEN:
        return f"the share {name_of(number)}" if number.unit == "points" else name_of(number)
    if number.measure in ("set size", "items per device"):
        return name_of(number)
    if number.value == TRUE:
        return "the share that is true" if number.unit == "points" else TRUE
    return shown_value(name_of(number))


def range_of(number: Measured, limits: Limits | None = None) -> str:
    """Between which ends a number is, rounded outward; empty if that is not known.

    Args:
        number: any. Of a lift without an interval the words say so, and of a contrast and of the
            first letters of strings they are "at least" the lower end.
        limits: what a number in the metric's unit can be, as of `limits_of`.
    """
    if is_contrast(number) or number.whole is False:  # more may begin so than its upper end allows
        return _least(number)
    ends = _ends_to_round(number)
    if ends is None:
        return TOO_RARE if number.measure == "lift" else ""
    return interval_in_words(
        number.unit,
        *ends,
        told=not is_untold(number),
        limits=limits,
        step=number.step,
        beyond=beyond_of(number),
    )


def interval_of_number(number: Measured, level: float, limits: Limits | None = None) -> Interval:
    """The interval of an estimated number, as it is drawn.

    Args:
        number: any; one without ends reaches as far as a picture does.
        level: with which probability the interval covers, between 0 and 1.
        limits: the range of the metric, if that is known; of a mean or a quantile.
    """
    low = -math.inf if number.low is None else number.low
    told = number.told
    if told is None:
        told = low > 0 or number.measure not in SHARES
    return interval_of(
        number.estimate,
        low,
        math.inf if number.high is None else number.high,
        level=level,
        standard_error=number.standard_error,
        told=told,
        limits=limits if number.unit == "number" else None,
        step=number.step,
        beyond=beyond_of(number),
    )


def beyond_of(number: Measured) -> Beyond:
    """Whether a quantile may lie beyond the range of its metric, below and above.

    Args:
        number: any; only a quantile may.
    """
    if number.measure != "quantile" or number.low is None or number.high is None:
        return WITHIN
    return beyond_ends(number.low, number.high, range_ends(number))


def range_ends(number: Measured) -> Limits | None:
    """The range of the metric of a mean or a quantile, as which ends values outside count."""
    if number.measure == "bin" or number.bin_from is None or number.bin_to is None:
        return None
    return number.bin_from, number.bin_to


def mean_in_words(number: Measured) -> str:
    """What a mean is the mean of; values outside of the range are counted as its ends.

    Args:
        number: a mean or a difference of means.
    """
    ends = range_ends(number)
    if ends is None:
        return "mean"
    low, high = (f"{end:,.10g}" for end in ends)
    return f"mean of values, those outside {low} to {high} counted as {low} or {high}"


def range_of_all(number: Measured) -> str:
    """Between which ends a share is of all reports: its range, or what is possible.

    Args:
        number: with an interval.
    """
    told = not is_untold(number)
    return interval_in_words(number.unit, *number.of_all, told=told, step=number.step)


def rank_of(number: Measured) -> str:
    """Between which ranks a share is: "1", "2 to 4"; empty without ranks.

    Args:
        number: any.
    """
    if number.rank_first is None or number.rank_last is None:
        return ""
    return ranks_in_words(number.rank_first, number.rank_last)


def ranks_in_words(first: int, last: int) -> str:
    """Between which ranks something is: "1", "2 to 4".

    Args:
        first: the first rank that it can have, 1 for the largest.
        last: the last one.
    """
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def possible_range_of(number: Measured) -> str:
    """What a share can be of all reports; empty where that is its own range.

    Args:
        number: any.
    """
    if number.possible_low is None or number.possible_high is None:
        return ""
    ends = number.possible_low, number.possible_high
    return interval_in_words("share", *ends, step=number.step)


def robust_range_of(number: Measured) -> str:
    """Between which ends the second estimate of a share is; empty if there is none.

    Args:
        number: any.
    """
    if number.robust_low is None or number.robust_high is None:
        return ""
    ends = number.robust_low, number.robust_high
    return interval_in_words("share", *ends, step=number.step)


def estimate_of(number: Measured, limits: Limits | None = None) -> str:
    """The estimate, to the digits of its range; in words if there is none that is told.

    Args:
        number: any.
        limits: as of `range_of`.
    """
    if is_untold(number):
        return UNTOLD
    ends = _ends_to_round(number)
    if number.estimate is None or ends is None:
        return TOO_RARE if number.measure == "lift" else NOT_PLACED
    return estimate_in_words(number.unit, number.estimate, *ends, limits=limits, step=number.step)


def beside(number: Measured, value: float | None, limits: Limits | None = None) -> str:
    """A number that stands beside an estimate, with the digits that the estimate has.

    This may be the number before or after a change, an adjusted share, what noise makes of a
    distance, or the share of both values of a lift.

    Args:
        number: with the interval.
        value: which of its numbers; the words are empty if it is None.
        limits: as of `range_of`.
    """
    ends = _ends_to_round(number)
    if value is None:
        return ""
    if number.measure == "lift":
        half = 2 * (number.standard_error or 0.0) * abs(number.expected or 0.0) or _LEAST_ERROR
        return share_in_words(value, value - half, value + half)
    if number.measure == "contrast in mean":
        return _mean_of_contrast(number, value, limits)
    if ends is None or ends[0] == ends[1]:
        half = abs(value) / _PARTS
        ends = value - half, value + half
    return level_in_words(number.unit, value, *ends, limits=limits, step=number.step)


def all_days_of(number: Measured) -> str:
    """A difference of all days as they are, where only the same weekdays are compared.

    Args:
        number: any; the words are empty if all of its days are compared.
    """
    if number.all_days is None or number.low is None or number.high is None:
        return ""
    ends = number.low, number.high
    return estimate_in_words(number.unit, number.all_days, *ends, step=number.step)


def robust_of(number: Measured) -> str:
    """The second estimate of a share; empty if there is none.

    Args:
        number: any.
    """
    if number.robust is None or number.robust_low is None or number.robust_high is None:
        return ""
    ends = number.robust_low, number.robust_high
    return estimate_in_words("share", number.robust, *ends, step=number.step)


def movement_of(number: Measured) -> str:
    """How far a difference can be in words: "up 8 to 12 points", "less than 0.3 either way".

    Args:
        number: a difference.
    """
    in_words = points_in_words if number.unit == "points" else difference_in_words
    return in_words(*number.ends, number.step)


def contrast_in_words(number: Measured, limits: Limits | None = None) -> str:
    """Where the reports of a key differ most from those of all others.

    Args:
        number: a contrast.
        limits: the range of the metric, if it has one.
    """
    if number.before is None or number.after is None:
        return f"all that its devices hold: {estimate_of(number)} apart"
    own, others = (beside(number, value, limits) for value in (number.after, number.before))
    name = "the mean" if number.value is None else shown_value(number.value)
    return f"{name}: {own} against {others}"


def contrast_judged(number: Measured) -> str:
    """How far a key is from all others, or has moved from its past, and what is flagged.

    Args:
        number: a contrast.
    """
    size = _size_of_contrast(number, number.estimate or 0.0)
    limit = _size_of_contrast(number, number.flagged_from or 0.0)
    if number.past is None:
        text = f"differs by {size}; flagged from {limit}, as it has no past of its own"
    else:
        past = _size_of_contrast(number, abs(number.past))
        text = f"moved by {size} from its past, in which it differed by {past}"
        text += f"; flagged from {limit}"
    if not number.told and (number.estimate or 0.0) >= (number.flagged_from or 0.0):
        text += ", but moves the answer by less than a point"
    return text


def _size_of_contrast(number: Measured, size: float) -> str:
    """A size such as "14 points", to three digits."""
    unit = " points" if number.unit == "points" else "%"
    of = " of the range" if number.measure == "contrast in mean" else ""
    return f"{100 * size:.3g}{unit}{of}"


def _ends_to_round(number: Measured) -> tuple[float, float] | None:
    """The interval that a number is rounded by; of one with a single end, what is known of it."""
    if number.low is not None and number.high is not None:
        return number.low, number.high
    if number.low is not None and number.estimate is not None:  # a contrast: as far above as below
        return number.low, max(number.low, 2 * number.estimate - number.low)
    if number.high is not None and number.unit == "share":  # the most that it can be
        return min(0.0, number.high), number.high
    return None


def _least(number: Measured) -> str:
    ends = _ends_to_round(number)
    if ends is None:
        return ""
    low, high = max(0.0, ends[0]), max(0.0, ends[1])
    if number.unit == "points":
        return f"at least {point_ends(low, high, number.step)[0].removeprefix('+')} points"
    return f"at least {share_ends(low, high, number.step)[0]}"


def _mean_of_contrast(number: Measured, mean: float, limits: Limits | None) -> str:
    """A mean in the metric's unit, whose contrast is a part of the range."""
    ends = _ends_to_round(number)
    if ends is None or limits is None:
        return f"{mean:,.4g}"
    half = (ends[1] - ends[0]) / 2 * (limits[1] - limits[0])
    return level_in_words("number", mean, mean - half, mean + half, limits=limits)
