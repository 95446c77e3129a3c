"""Time as Deniable knows it: the epoch is a UTC day, and nothing is finer.

An epoch is counted in days since 1970-01-01. A period is how often a metric may report.
"""

from __future__ import annotations

import time
from functools import lru_cache

TYPE_CHECKING = False

if TYPE_CHECKING:
    from datetime import date
    from typing import Final, Literal

    Every = Literal["day", "week", "month", "once"]

EVERY: Final[tuple[str, ...]] = ("day", "week", "month", "once")
SECONDS_PER_EPOCH: Final = 86_400
_FOUR_YEARS: Final = 1_461


def epoch_at(unix_seconds: float) -> int:
    """The UTC day of a moment, in days since 1970-01-01."""
    return int(unix_seconds // SECONDS_PER_EPOCH)


def calendar_day(epoch: int) -> date:
    """An epoch as a day of the calendar; the nearest one that a date can hold."""
    from datetime import date  # costs start-up time, and recording does without

    first = date(1970, 1, 1).toordinal()
    return date.fromordinal(min(max(first + epoch, 1), date.max.toordinal()))


def often(every: Every) -> str:
    """How often a device reports at most, such as "once a day", or "once"."""
    return "once" if every == "once" else f"once a {every}"


@lru_cache(1_024)  # goes through four years of months
def most_periods(every: str, days: int) -> int:
    """How many periods so many days in a row fall into at most, wherever they begin.

    30 days may touch six weeks, and three months.

    Args:
        every: the kind of period, one of `EVERY`.
        days: at least 1.
    """
    if every == "day":
        return days
    if every == "week":
        return (days + 5) // 7 + 1
    if every == "once":
        return 1
    return max(
        period("month", start + days - 1) - period("month", start) + 1
        for start in range(_FOUR_YEARS)
    )


def period(every: Every, epoch: int) -> int:
    """The number of the period that a day belongs to; each period allows one report.

    Weeks begin on Monday, months are calendar months, and "once" is a single period.
    """
    if every == "day":
        return epoch
    if every == "week":
        return (epoch + 3) // 7
    if every == "month":
        day = time.gmtime(epoch * SECONDS_PER_EPOCH)
        return day.tm_year * 12 + day.tm_mon
    return 0
