"""When devices report: weeks up to yesterday. The last full one has a release and a forger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from deniable_shared.periods import period

WEEKS: Final = 8
DAYS_PER_WEEK: Final = 7
WEEKEND_VOLUME: Final = 0.6
"""Reports of a Saturday or Sunday, relative to another day."""

FORGED_DAYS: Final = 3


@dataclass(frozen=True)
class Calendar:
    """The days of the demo, each as days since 1970-01-01.

    Attributes:
        today: the day on which the demo runs.
    """

    today: int

    @property
    def days(self) -> range:
        """From a Monday up to yesterday: at least eight weeks."""
        return range(self.release - (WEEKS - 1) * DAYS_PER_WEEK, self.today)

    @property
    def release(self) -> int:
        """The Monday of the last full week, on which a new version was released."""
        monday = self.today
        while period("week", monday - 1) == period("week", self.today):
            monday -= 1
        return monday - DAYS_PER_WEEK

    @property
    def forged(self) -> range:
        """The days on which somebody sends forged reports: from that week's Tuesday on."""
        return range(self.release + 1, self.release + 1 + FORGED_DAYS)

    def volume(self, day: int) -> float:
        """How many devices report on a day, relative to a working day."""
        return WEEKEND_VOLUME if (day - self.release) % DAYS_PER_WEEK >= 5 else 1.0
