"""The ledger's latest day, as the clock moves on, goes back or was wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable._recording.charged_days import ChargedDays, is_reported_ahead, next_step

if TYPE_CHECKING:
    from deniable._clock import DeviceClock
    from deniable._storage.device import DeviceStorage
    from deniable_shared.periods import Every


class DayKeeper:
    """Has the ledger note each day before anything is charged to it.

    Its methods are called by actions of `DeviceStorage.run_locked`.

    Args:
        storage: whose ledger it is.
        clock: the device's; says whether it went back.
        day_nano_nats: what one day may cost.
    """

    def __init__(self, storage: DeviceStorage, clock: DeviceClock, day_nano_nats: int) -> None:
        self._storage = storage
        self._clock = clock
        self._day_nano_nats = day_nano_nats
        self._latest: int | None = None
        self._days = ChargedDays()

    def begin(self, today: int) -> None:
        """Notes what today's day means, see `next_step`.

        Where a latest day that lay ahead is given up, waiting reports of days after tomorrow are
        dropped and counted; what was paid for them stays paid.

        Args:
            today: by the clock, in days since 1970-01-01.

        Raises:
            OSError: if it cannot be written.
        """
        ledger = self._storage.ledger
        latest = ledger.latest_day()
        if latest == today == self._latest:
            return
        days = ChargedDays(*ledger.charged_days())
        step = next_step(latest, today, days, certain=self._clock.went_back)
        if step is not None:
            days = step.days
            silent = self._day_nano_nats if step.silent else None
            if step.day is not None and step.day < latest:
                # First: whoever is killed before the end begins this day again.
                self._storage.spool.drop_ahead(today + 1)
            ledger.note_days(days.runs, days.ahead, step.day, silent)
            latest = latest if step.day is None else step.day
        self._latest, self._days = latest, days

    def is_reported(self, every: Every, number: int) -> bool:
        """Whether a period may have been reported by a clock that was ahead; after `begin`.

        Args:
            every: the kind of period.
            number: of the period.
        """
        return self._latest is not None and is_reported_ahead(
            every, number, self._latest, self._days
        )
