"""The part of an interval that is drawn: none of it beyond what the number can be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deniable_aggregator.limits import SHARE, cut

if TYPE_CHECKING:
    from deniable_aggregator.charts.figure import Interval, Unit


def shown_part(interval: Interval, unit: Unit) -> Interval:
    """An interval as it is drawn: cut where its number cannot be, as words say it.

    A share lies within 0 and 100%, a mean within the range of its metric. An estimate beyond an end
    is drawn at that end. A share that cannot be told from zero is drawn from zero on.

    Args:
        interval: of a figure.
        unit: what its number is.
    """
    limits = SHARE if unit == "share" else interval.limits
    if limits is None:
        return interval
    low, high = cut(interval.low, interval.high, limits)
    if unit == "share" and not interval.told:
        low = SHARE[0]

    def inside(number: float) -> float:
        return min(max(number, low), high)

    return replace(
        interval,
        estimate=None if interval.estimate is None else inside(interval.estimate),
        low=low,
        high=high,
        core_low=inside(interval.core_low),
        core_high=inside(interval.core_high),
    )
