"""Whether the reports of a metric have stopped."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

QUIET_DAYS: Final = {"day": 2, "week": 8, "month": 32, "once": 8}
"""Reports have stopped if so many whole days have none, by how often a device reports."""


def stopped_since(
    every: str, expires: date | None, last_day: date | None, today: date
) -> date | None:
    """The first day without reports, if they have stopped.

    Args:
        every: how often devices report, as the newest version of the metric says.
        expires: the last day on which they do, as it says, or None.
        last_day: the last day with reports, or None.
        today: the server's day, which is not over.
    """
    if last_day is None or (expires is not None and expires < today):
        return None  # nothing has begun, or devices are not to report any more
    quiet = (today - last_day).days - 1
    return last_day + timedelta(1) if quiet >= QUIET_DAYS[every] else None
