"""Numbers to pixels, and the round numbers of an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_aggregator.charts.figure import Unit

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
        if self.log:
            return _log_ticks(self.low, self.high, about)
        step = _round_step((self.high - self.low) / about)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [step * number for number in range(first, last + 1)]


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
        numbers: None and what is not finite is left out.
        start: the pixel at its start.
        end: the pixel at its end.
        log: whether it is logarithmic; numbers that are not above 0 are left out.
        pad: how much longer it is at both ends, as a part of its length.
    """
    found = [
        value
        for value in numbers
        if value is not None and math.isfinite(value) and (value > 0 or not log)
    ]
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    if log:
        low = low or 0.1
        wider = max((high / low) ** pad, 1.05)
        return Scale(low / wider, high * wider, start, end, log)
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
        return f"{value:g} ×"
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


def _log_ticks(low: float, high: float, about: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = [10.0**power for power in powers]
    inside = [each for each in decades if low <= each <= high]
    if len(inside) > 2:
        every = -(-len(inside) // max(about, 1))
        return inside[::every]
    fine = [power * each for power in decades for each in (1.0, 2.0, 5.0)]
    return [each for each in fine if low <= each <= high] or [math.sqrt(low * high)]
