"""Intervals in words: rounded outward, so that no printed range is narrower than its interval.

This is the only place where a number that was estimated is written for people. `interval_in_words`
and its neighbours do it by unit; the others are what they are made of, and sentences use them.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.limits import EXACT, Limits, cut, decimal_of
from deniable_aggregator.telling.rounding import (
    FARTHEST,
    above_zero,
    ends_within,
    exact_ends,
    given_step,
    outward_to,
    power_of_ten,
    reached,
    round_to,
    step_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.answers.measured import Unit

ENDINGS: Final[Mapping[Unit, str]] = {"points": " points", "ratio": " times"}
"""What follows numbers of a unit where nothing else says the unit; shares have their "%" always."""

NOT_PLACED: Final = "can't place"
"""What is said of a number that the reports cannot place."""

_HUNDRED: Final = Decimal(100)
_PERCENT: Final = Decimal(0), _HUNDRED
"""The limits of a share in percent."""

_PLAIN: Final = range(-6, 16)
"""Powers of ten that are written without an exponent."""

_ANYTHING: Final = "anything from"
"""How a range begins that excludes nothing."""

Beyond = tuple[bool, bool]
"""Whether a number may lie below the lower end of its interval, and above the upper one."""

WITHIN: Final[Beyond] = (False, False)
_BEYOND: Final[Mapping[Beyond, str]] = {
    WITHIN: "",
    (False, True): " or more",
    (True, False): " or less",
    (True, True): ", or beyond",
}


def interval_in_words(
    unit: Unit,
    low: float,
    high: float,
    *,
    told: bool = True,
    limits: Limits | None = None,
    step: float | None = None,
    beyond: Beyond = WITHIN,
) -> str:
    """An interval as it stands in a table, beside a mark or in a sentence.

    Shares are "44 to 46%" or "below 0.6%", differences "+8 to +12" and ratios and numbers
    "1.42 to 1.50". `ENDINGS` has what follows where nothing else says the unit.

    Args:
        unit: of the number.
        low: the lower end; an infinite one is said as a very large number.
        high: the upper end, at least `low`.
        told: whether a share is told from zero; of one that is not, zero is within the range.
        limits: what a number can be, if that is known.
        step: to which it is rounded, as of `rounding.column_steps` or `rounding.outward`; None for
            the digits of its own interval.
        beyond: of a quantile, as of `beyond_ends`.

    Raises:
        ValueError: if the ends are in the wrong order or not numbers.
    """
    low, high = reached(low), reached(high)
    if unit == "share":
        return range_in_words(low if told else min(low, 0.0), high, step)
    if unit == "points":
        return _from_to(*point_ends(low, high, step))
    if unit == "difference":
        return _from_to(*difference_ends(low, high, step))
    if unit == "ratio":
        return _from_to(*number_ends(max(low, 0.0), max(high, 0.0), step))
    return number_range_in_words(low, high, limits, step, beyond)


def beyond_ends(low: float, high: float, limits: Limits | None) -> Beyond:
    """Whether a quantile may lie below or above the range of its metric.

    Values outside are recorded as the ends of the range, so a quantile whose interval reaches an
    end may be anywhere beyond it. Zero is taken for a natural end: counts and durations are never
    below it.

    Args:
        low: the lower end of its interval.
        high: the upper end.
        limits: the range of the metric, if that is known.
    """
    if limits is None:
        return WITHIN
    return limits[0] != 0 and low <= limits[0], high >= limits[1]


def estimate_in_words(
    unit: Unit,
    value: float | None,
    low: float,
    high: float,
    *,
    limits: Limits | None = None,
    step: float | None = None,
) -> str:
    """An estimate as it stands beside its interval, rounded to the digits of that.

    Args:
        unit: of the number.
        value: the estimate, or another number that is rounded as it is; None if the reports cannot
            place it.
        low: the lower end of the interval.
        high: the upper end, at least `low`.
        limits: what a number can be, if that is known.
        step: to which it is rounded, as of `rounding.column_steps` or `rounding.outward`; None for
            the digits of its own interval.

    Raises:
        ValueError: if the ends are in the wrong order or not numbers.
    """
    if value is None:
        return NOT_PLACED
    value, low, high = reached(value), reached(low), reached(high)
    if unit == "share":
        return share_in_words(value, low, high, step)
    if unit == "points":
        return point_in_words(value, low, high, step)
    if unit == "difference":
        digits = _step(*exact_ends(low, high), step)
        return _signed(round_to(decimal_of(value), digits, ROUND_HALF_EVEN))
    if unit == "ratio":
        return number_in_words(max(value, 0.0), max(low, 0.0), max(high, 0.0), step=step)
    return number_in_words(value, low, high, limits, step)


def level_in_words(
    unit: Unit,
    level: float | None,
    low: float,
    high: float,
    *,
    limits: Limits | None = None,
    step: float | None = None,
) -> str:
    """One of the two numbers of which an estimate is the difference, with as many digits as it.

    Args:
        unit: of the difference: points are of shares, a difference is of numbers.
        level: the number before or after; None if the reports cannot place it.
        low: the lower end of the difference's interval.
        high: the upper end, at least `low`.
        limits: what the numbers can be, if that is known.
        step: to which the difference is rounded; None for the digits of its own interval.

    Raises:
        ValueError: if the ends are in the wrong order or not numbers.
    """
    if level is None:
        return NOT_PLACED
    if unit in ("share", "points"):
        return estimate_in_words("share", level, low, high, step=step)
    least, greatest = limits or (-FARTHEST, FARTHEST)
    return estimate_in_words("number", min(max(level, least), greatest), low, high, step=step)


def bound_in_words(unit: Unit, bound: float) -> str:
    """How far a number may be off or must at least be, with two digits, rounded up.

    Args:
        unit: of the number; of points and shares "0.36 points" and "0.36%".
        bound: at least 0, and finite.
    """
    of_shares = unit in ("share", "points")
    number = decimal_of(bound, percent=of_shares)
    if number:
        number = round_to(number, power_of_ten(number.adjusted() - 1), ROUND_CEILING).normalize(
            EXACT
        )
    if unit == "points":
        return _counted(number, " point")
    return f"{_written(number)}%" if unit == "share" else _written(number)


def range_in_words(low: float, high: float, step: float | None = None) -> str:
    """A share's interval, such as "44 to 46%" or "below 0.6%".

    The digits follow the width of the interval. An interval that begins at zero or below is a
    bound; one that lies below zero altogether counts as one around zero.

    Args:
        low: the lower end, as a fraction.
        high: the upper end, at least `low`.
        step: to which they are rounded, as a fraction; None for the digits of the interval.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    first, last = exact_ends(low, high, percent=True)
    if first == last:
        return f"{_written(min(max(first, Decimal(0)), _HUNDRED))}%"
    digits = _step(first, last, step, percent=True)
    first, last = cut(first, last, _PERCENT)
    if first <= 0:
        top = round_to(last, digits, ROUND_CEILING)
        return f"below {_written(top)}%" if top < _HUNDRED else f"{_ANYTHING} 0 to 100%"
    bottom = above_zero(first, digits)
    if last >= _HUNDRED:
        return f"above {_written(bottom)}%"
    return f"{_written(bottom)} to {_written(round_to(last, digits, ROUND_CEILING))}%"


def points_in_words(low: float, high: float, step: float | None = None) -> str:
    """A difference of shares in percentage points, such as "up 8 to 12 points".

    Where its interval has zero inside, the words say what can be excluded: "less than 3 points
    either way". No two shares differ by more than 100 points.

    Args:
        low: the lower end of the difference, as a fraction.
        high: the upper end, at least `low`.
        step: to which they are rounded, as a fraction; None for the digits of the interval.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    first, last = exact_ends(low, high, percent=True)
    if first <= 0 <= last and max(-first, last) > _HUNDRED:
        return "anything up to 100 points either way"
    first, last = (min(max(end, -_HUNDRED), _HUNDRED) for end in (first, last))
    return _difference(
        first, last, " point", None if step is None else given_step(step, percent=True)
    )


def difference_in_words(low: float, high: float, step: float | None = None) -> str:
    """A difference of numbers, such as "up 0.3 to 0.5" or "less than 0.2 either way".

    Args:
        low: the lower end of the difference.
        high: the upper end, at least `low`.
        step: to which they are rounded; None for the digits of the interval.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    return _difference(*exact_ends(low, high), "", None if step is None else given_step(step))


def number_range_in_words(
    low: float,
    high: float,
    limits: Limits | None = None,
    step: float | None = None,
    beyond: Beyond = WITHIN,
) -> str:
    """The interval of a number, such as "1.74 to 1.82", "12,300 to 12,500" or "1,700 or more".

    Args:
        low: the lower end.
        high: the upper end, at least `low`.
        limits: what the number can be, if that is known: the words are cut there, and say
            "anything from 60 to 100" where nothing within is excluded.
        step: to which they are rounded; None for the digits of the interval.
        beyond: whether it may lie below, and above, although the interval ends there.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    ends = exact_ends(*((low, high) if limits is None else ends_within(low, high, limits)))
    first, last = outward_to(*ends, None if step is None else given_step(step))
    if limits is None:
        return _from_to(_written(first), _written(last))
    least, greatest = (decimal_of(limit).normalize(EXACT) for limit in limits)
    if first <= least and last >= greatest:
        return f"{_ANYTHING} {_written(least)} to {_written(greatest)}{_BEYOND[beyond]}"
    first, last = max(first, least), min(last, greatest)
    if any(beyond):
        return f"{_written(first if beyond[1] else last)}{_BEYOND[beyond]}"
    return _from_to(_written(first), _written(last))


def verb_of(where: str) -> str:
    """The verb between a number and its range: "may be" before one that excludes nothing.

    Args:
        where: the range in words.
    """
    return "may be" if where.startswith(_ANYTHING) else "is"


def share_ends(low: float, high: float, step: float | None = None) -> tuple[str, str]:
    """The ends of a share's interval for a table, such as "44%" and "46%": rounded outward.

    Args:
        low: the lower end, as a fraction; outside 0 to 1 it is shown as the nearer end.
        high: the upper end, at least `low`.
        step: to which they are rounded, as a fraction; None for the digits of the interval.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    first, last = exact_ends(low, high, percent=True)
    digits = _step(first, last, step, percent=True)
    first, last = cut(first, last, _PERCENT)
    bottom = above_zero(first, digits) if first > 0 else first
    top = min(round_to(last, digits, ROUND_CEILING), _HUNDRED) if high <= 1 else last
    return f"{_written(bottom)}%", f"{_written(top)}%"


def point_ends(low: float, high: float, step: float | None = None) -> tuple[str, str]:
    """The ends of a difference of shares in points, such as "+8" and "+12": rounded outward.

    Args:
        low: the lower end, as a fraction.
        high: the upper end, at least `low`.
        step: to which they are rounded, as a fraction; None for the digits of the interval.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    first, last = exact_ends(low, high, percent=True)
    return _signed_ends(first, last, _step(first, last, step, percent=True))


def difference_ends(low: float, high: float, step: float | None = None) -> tuple[str, str]:
    """The ends of a difference of numbers, such as "-0.2" and "+0.3": rounded outward.

    Args:
        low: the lower end.
        high: the upper end, at least `low`.
        step: to which they are rounded; None for the digits of the interval.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    first, last = exact_ends(low, high)
    return _signed_ends(first, last, _step(first, last, step))


def number_ends(low: float, high: float, step: float | None = None) -> tuple[str, str]:
    """The ends of a number's interval for a table: rounded outward.

    Args:
        low: the lower end.
        high: the upper end, at least `low`.
        step: to which they are rounded; None for the digits of the interval.

    Raises:
        ValueError: if they are not finite or in the wrong order.
    """
    first, last = outward_to(*exact_ends(low, high), None if step is None else given_step(step))
    return _written(first), _written(last)


def share_in_words(share: float, low: float, high: float, step: float | None = None) -> str:
    """An estimated share, such as "45%", to the digits that its interval supports.

    Args:
        share: the estimate, as a fraction; outside 0 to 1 it is shown as the nearer end.
        low: the lower end of the interval.
        high: the upper end, at least `low`.
        step: to which they are rounded, as a fraction; None for the digits of the interval.
    """
    ends = exact_ends(low, high, percent=True)
    digits = _step(*ends, step, percent=True)
    inside = min(max(decimal_of(share, percent=True), Decimal(0)), _HUNDRED)
    return f"{_written(round_to(inside, digits, ROUND_HALF_EVEN))}%"


def number_in_words(
    number: float,
    low: float,
    high: float,
    limits: Limits | None = None,
    step: float | None = None,
) -> str:
    """An estimated number, to the digits that its interval supports.

    Args:
        number: the estimate.
        low: the lower end of the interval.
        high: the upper end, at least `low`.
        limits: what the number can be, if that is known; outside it is shown as the nearer one.
        step: to which they are rounded; None for the digits of the interval.
    """
    ends = exact_ends(*((low, high) if limits is None else ends_within(low, high, limits)))
    digits = _step(*ends, step)
    rounded = round_to(decimal_of(number), digits, ROUND_HALF_EVEN)
    if limits is None:
        return _written(rounded)
    least, greatest = (decimal_of(limit).normalize(EXACT) for limit in limits)
    return _written(min(max(rounded, least), greatest))


def point_in_words(change: float, low: float, high: float, step: float | None = None) -> str:
    """An estimated difference of shares in points, such as "+10", as its interval is rounded.

    Args:
        change: the estimate, as a fraction.
        low: the lower end of the interval.
        high: the upper end, at least `low`.
        step: to which it is rounded, as a fraction; None for the digits of the interval.
    """
    digits = _step(*exact_ends(low, high, percent=True), step, percent=True)
    return _signed(round_to(decimal_of(change, percent=True), digits, ROUND_HALF_EVEN))


def _step(first: Decimal, last: Decimal, step: float | None, *, percent: bool = False) -> Decimal:
    """The given step, or that of an interval."""
    return step_of(first, last) if step is None else given_step(step, percent=percent)


def _from_to(bottom: str, top: str) -> str:
    return bottom if bottom == top else f"{bottom} to {top}"


def _difference(first: Decimal, last: Decimal, unit: str, given: Decimal | None) -> str:
    step = given or step_of(first, last)
    if first <= 0 <= last:
        most = round_to(max(-first, last), step, ROUND_CEILING)
        return f"less than {_counted(most, unit)} either way"
    way = "up" if first > 0 else "down"
    first, last = sorted((abs(first), abs(last)))
    bottom, top = above_zero(first, step), round_to(last, step, ROUND_CEILING)
    far = _counted(top, unit)
    return f"{way} {far}" if bottom == top else f"{way} {_written(bottom)} to {far}"


def _signed_ends(first: Decimal, last: Decimal, step: Decimal) -> tuple[str, str]:
    """The ends of a difference; those of a clear one keep off zero, as `_above_zero` does."""
    bottom, top = outward_to(first, last, step)
    if first > 0:
        bottom = above_zero(first, step)
    if last < 0:
        top = -above_zero(-last, step)
    return _signed(bottom), _signed(top)


def _counted(number: Decimal, unit: str) -> str:
    written = _written(number)
    return f"{written}{unit}{'s' if unit and written != '1' else ''}"


def _written(number: Decimal) -> str:
    """A number with commas between thousands; with an exponent if it is very large or small."""
    if not number:
        return "0"
    if number.adjusted() not in _PLAIN:
        return f"{number.normalize(EXACT):e}"
    return f"{number:,f}"


def _signed(number: Decimal) -> str:
    return f"+{_written(number)}" if number > 0 else _written(number)
