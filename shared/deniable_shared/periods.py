"""Time as Deniable knows it: the epoch is a UTC day, and nothing is finer.

An epoch is counted in days since 1970-01-01. A period is how often a metric may report.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final, Literal

    Every = Literal["day", "week", "month", "once"]

EVERY: Final[tuple[str, ...]] = ("day", "week", "month", "once")
SECONDS_PER_EPOCH: Final = 86_400


def epoch_at(unix_seconds: float) -> int:
    """The UTC day of a moment, in days since 1970-01-01."""
    return int(unix_seconds // SECONDS_PER_EPOCH)


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
