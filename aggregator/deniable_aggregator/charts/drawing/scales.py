"""Numbers to pixels, and the round numbers of an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.charts.figure import Unit

LEAST_TICKS: Final = 3
FURTHEST: Final = 1e15
"""A number beyond this has no place on an axis: what is drawn of it goes on past its end."""

FURTHEST_RATIO: Final = 1e12
"""The same for logarithmic axes."""

LEAST_LOG: Final = 0.05
"""How much longer than its numbers a logarithmic axis is at both ends, at least."""

_ROUND: Final = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis.

    Attributes:
        low: the number at its start.
        high: the number at its end.
        start: the pixel at its start.
        end: the pixel at its end; smaller than `start` for an axis that goes up.
        log: whether it is logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a number is, in pixels; one beyond an end is at the end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, about: int) -> list[float]:
        """Round numbers on the axis.

        Args:
            about: how many there should be, at least 1.
        """
        found = _log_ticks(self.low, self.high, about) if self.log else []
        # Two numbers at least are needed to read a scale, and three to see that it is even.
        for number in (about, about + 1, about + 2, 2 * about + 2):
            if len(found) < LEAST_TICKS:
                found = _even_ticks(self.low, self.high, number)
        return found


def scale_over(
    numbers: Iterable[float | None],
    start: float,
    end: float,
    *,
    log: bool = False,
    pad: float = 0.0,
) -> Scale:
    """An axis on which all numbers are.

    Args:
        numbers: None, and what is further than any axis, is left out.
        start: the pixel at its start.
        end: the pixel at its end.
        log: whether it is logarithmic; numbers that are not above 0 are left out.
        pad: how much longer it is at both ends, as a part of its length.
    """
    found = [
        value
        for value in numbers
        if value is not None and abs(value) <= FURTHEST and (value > 0 or not log)
    ]
    if log:
        logs = [math.log(min(max(value, 1 / FURTHEST_RATIO), FURTHEST_RATIO)) for value in found]
        low, high = min(logs, default=0.0), max(logs, default=0.0)
        wider = max(pad * (high - low), LEAST_LOG)
        return Scale(math.exp(low - wider), math.exp(high + wider), start, end, log)
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        around = abs(high) / 10 or 0.01
        low, high = low - around, high + around
    wider = pad * (high - low)
    return Scale(low - wider, high + wider, start, end)


def tick_words(value: float, step: float, unit: Unit) -> str:
    """A number of an axis.

    Args:
        value: the number.
        step: to the next one.
        unit: how it is written.
    """
    if unit in ("share", "points"):
        value, step = 100 * value, 100 * step
    if unit == "ratio":
        return f"{value:.10g} ×"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    if max(abs(value), step) >= 1e9 or decimals > 6:
        text = f"{value:g}"
    else:
        sign = "+" if unit == "points" and value > 0 else ""
        text = f"{round(value, decimals) + 0.0:{sign},.{decimals}f}"
    return f"{text}%" if unit == "share" else text


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in _ROUND if power * each >= least * (1 - 1e-9))


def _even_ticks(low: float, high: float, about: int) -> list[float]:
    step = _round_step((high - low) / about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * number for number in range(first, last + 1)]


def _log_ticks(low: float, high: float, about: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = [10.0**power for power in powers]
    inside = [each for each in decades if low <= each <= high]
    if len(inside) > 2:
        most = (len(inside) - 1) // (LEAST_TICKS - 1)
        return inside[:: min(-(-len(inside) // max(about, 1)), most)]
    fine = [power * each for power in decades for each in (1.0, 2.0, 5.0)]
    return [each for each in fine if low <= each <= high]
