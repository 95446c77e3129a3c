"""What the server and the process that writes the SQL table say to each other: lines of JSON."""

from __future__ import annotations

import msgspec

# msgspec reads the annotations.
from deniable_aggregator.answers.words import Count, PeriodLength  # noqa: TC001


class Job(msgspec.Struct, frozen=True):
    """What the process is to do; the first line that it reads.

    Attributes:
        store: the path or URL of the store.
        memory_bytes: how much memory it may take.
        seconds: after so many it begins no further period.
        accept_days: for how many days a day stays open for reports.
        retain_days: after so many days reports are deleted at the latest; None for never.
        today: the server's day, in days since 1970-01-01.
        lengths: how long periods are.
    """

    store: str
    memory_bytes: Count
    seconds: float
    accept_days: Count
    retain_days: Count | None
    today: int
    lengths: tuple[PeriodLength, ...]


class Busy(msgspec.Struct, frozen=True, tag=True):
    """Another process is at it."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """What was due is not written, or not all of it.

    Attributes:
        why: for the log.
    """

    why: str


class Finished(msgspec.Struct, frozen=True, tag=True):
    """What was done.

    Attributes:
        periods: how many periods were written.
        deleted: how many were deleted.
        left: how many are still due.
    """

    periods: Count
    deleted: Count
    left: Count


Message = Busy | Failed | Finished
"""The line that the process writes before it ends."""
