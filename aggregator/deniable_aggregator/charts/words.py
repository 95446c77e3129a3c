"""Numbers as pictures write them: ranges rounded outward, as sentences round them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import CHANGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from deniable_aggregator.charts.figure import Interval, Unit

ENDINGS: Final[Mapping[Unit, str]] = {"share": "%", "points": " points", "ratio": " times"}

MARKS: Final[Mapping[str, str]] = {
    "suspicious": "suspicious reports",
    "uneven": "a key answers differently from the others",
    "missing": "no reports",
    "incomplete": "not over",
    "release": "a new version",
}
"""What is special about periods; where one has several marks, the first of them is drawn."""

VERDICTS: Final[Mapping[str, str]] = {
    "ok": "as devices send them",
    "suspicious": "suspicious reports",
    "uneven": "a key answers differently from the others",
    "unknown": "not checked",
}
"""What verdicts about reports mean."""

_AT_MOST: Final = 1e300


def in_words(interval: Interval, unit: Unit) -> str:
    """An interval as it stands beside its mark: "44 to 46%", "below 0.6%", "+8 to +12 points"."""
    # Plans are drawn without these, where msgspec is not installed.
    from deniable_aggregator.sentences.ranges import number_range_in_words, range_in_words

    low, high = _finite(interval.low), _finite(interval.high)
    if unit == "share":
        return range_in_words(min(low, high) if interval.told else min(0.0, low, high), high)
    text = number_range_in_words(factor(unit) * low, factor(unit) * high, interval.limits)
    if unit in CHANGES:
        text = " to ".join(_signed(end) for end in text.split(" to "))
    return text + ENDINGS.get(unit, "")


def estimate_in_words(value: float, interval: Interval, unit: Unit) -> str:
    """A number, rounded as its interval is, and within what it can be.

    Args:
        value: the estimate, or another number beside it.
        interval: how far it may be off.
        unit: how it is written.
    """
    from deniable_aggregator.sentences.ranges import number_in_words

    scale = factor(unit)
    low, high = scale * _finite(interval.low), scale * _finite(interval.high)
    text = number_in_words(scale * _finite(value), low, high, interval.limits)
    return (_signed(text) if unit in CHANGES else text) + ENDINGS.get(unit, "")


def from_to(before: float, after: float, difference: Interval, unit: Unit) -> str:
    """Two estimates, rounded as the interval of their difference is: "from 44% to 54%"."""
    ends = (estimate_in_words(each, difference, unit) for each in (before, after))
    return "from {} to {}".format(*ends)


def days_shortly(days: Sequence[date]) -> str:
    """Some days, such as "2026-09-01 to 2026-09-07, 2026-09-12"."""
    # Plans are drawn without these, where msgspec is not installed.
    from deniable_aggregator.answers import days as answered

    return answered.days_shortly(days)


def plain(value: float, figures: int = 6) -> str:
    """A number with at most so many figures."""
    return f"{value:,.{figures}g}"


def factor(unit: Unit) -> float:
    """What a number is multiplied by where it is written."""
    return 100.0 if unit in ("share", "points") else 1.0


def _finite(number: float) -> float:
    """A number that can be written: an interval without an end goes very far."""
    return min(max(number, -_AT_MOST), _AT_MOST) if not math.isnan(number) else 0.0


def _signed(text: str) -> str:
    return text if text.startswith(("-", "0")) and not text.startswith("0.") else f"+{text}"
