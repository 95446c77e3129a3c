"""Which reports are sent in one round of the upload thread, and when it looks again.

Usually each report is sent at its own random time. Reports that became due while no process ran, or
while the aggregator could not be reached, would be sent together, and so reveal that they come from
one device. Of these only one is sent, and each of the others gets another random time. A report
that has missed that time as well, or is late, is sent when the next process starts: a program that
never runs for long would otherwise send it too late or never.

Reports that leave together leave in random order. In the order of recording, the place of a metric
that counts absence would tell whether there was a value: absence is recorded a day later.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final, TypeVar

from deniable._upload.delivery import (
    CLAIM_SECONDS,
    ReportSender,
    is_claimed_elsewhere,
    random_fraction,
)
from deniable._upload.workers import run_parallel
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from deniable._engine_history import EngineHistory
    from deniable._storage.device import DeviceStorage
    from deniable._storage.stored_report import StoredReport

_T = TypeVar("_T")

MAX_WAIT_SECONDS: Final = 3_600.0
"""The thread looks at the clock at least this often, because somebody may set the clock."""

MAX_SPREAD_SECONDS: Final = 3_600.0
"""Overdue reports are sent within this time, or within the upload delay if that is shorter."""

LATE_DAYS: Final = 7
"""Reports of this age cannot wait until a program starts once more: the aggregator closes their day
after 14 days, unless it is configured otherwise."""

ERASE_SECONDS: Final = 3_600.0
"""How often traces are erased while nothing is sent: erasing waits for the disk, and `record` for
it."""

_BATCH: Final = 32
_KEY_BYTES: Final = 16
"""Of a random number whose ties and remainders have a probability below 2^-100."""


class UploadRounds:
    """Picks the reports that are to be sent, and has them sent.

    Args:
        storage: the storage whose spool holds the reports.
        sender: sends a report.
        clock: seconds since 1970-01-01.
        history: when traces have to be erased again.
        delay_seconds: the longest random delay that the application wants.
        longest_wait_seconds: the longest time that any report was given to wait.
        absence_digests: digests of metrics that report even if nothing is recorded.
        held_digests: digests of metrics whose reports wait for the end of their period.
        required_digests: digests of metrics whose reports are taken through a relay alone.
        hold_seconds: how long reports that wait for the end of their period wait after it.
    """

    def __init__(
        self,
        storage: DeviceStorage,
        sender: ReportSender,
        clock: Callable[[], float],
        history: EngineHistory,
        *,
        delay_seconds: float,
        longest_wait_seconds: float,
        absence_digests: frozenset[bytes],
        held_digests: frozenset[bytes],
        required_digests: frozenset[bytes],
        hold_seconds: float,
    ) -> None:
        self._storage = storage
        self._sender = sender
        self._clock = clock
        self._absence_digests = absence_digests
        self._held_digests = held_digests
        self._required_digests = required_digests
        self._hold_seconds = hold_seconds
        self._spread_seconds = min(delay_seconds, MAX_SPREAD_SECONDS)
        # A report that is due even later was given its time by a clock that was ahead.
        longest_wait_seconds = max(longest_wait_seconds, sender.longest_backoff_seconds)
        self._horizon_seconds = longest_wait_seconds + CLAIM_SECONDS
        self._history = history
        self._has_sent_due = False

    def after_fork_in_child(self) -> None:
        """Begins as a new process does."""
        self._has_sent_due = False

    def send_due(self, wanted: Callable[[], bool], enough: Callable[[], bool]) -> None:
        """Sends the reports that are due, one after another.

        Args:
            wanted: asked in the last moment whether a report is still to be sent.
            enough: asked before each report whether to stop.
        """
        again, self._has_sent_due = self._has_sent_due, True
        if time.monotonic() < self._sender.silent_until:
            self._storage.run_locked(self._drop_old, epoch_at(self._clock()))
        elif self._storage.run_locked(self._is_any_due, self._clock()):
            self._storage.seal()
        while time.monotonic() >= self._sender.silent_until:
            report = self._storage.run_locked(self.next_due_report, self._clock(), again)
            if report is None or enough():
                return
            if not self._sender.send(report, wanted):
                return

    def send_all(
        self,
        wanted: Callable[[], bool],
        enough: Callable[[], bool],
        seconds_left: Callable[[], float],
    ) -> None:
        """Sends every stored report once in random order, several at a time if that is allowed.

        Args:
            wanted: see `send_due`.
            enough: see there.
            seconds_left: returns in how many seconds it has to end.
        """
        today = epoch_at(self._clock())
        ids = in_random_order(self._storage.run_locked(self._all_ids, today))
        if ids:
            self._storage.seal()
        pace = self._sender.pace(len(ids), seconds_left)

        def send(report: StoredReport) -> bool:
            began = time.monotonic()
            more = self._sender.send(report, wanted)
            pace.note_answer(time.monotonic() - began)
            return more

        run_parallel(
            self._reports_to_flush(enough, today, ids),
            send,
            min(self._sender.parallel_uploads, max(len(ids), 1)),
            pace.allowed,
        )

    def erase_traces(self, *, at_once: bool) -> None:
        """Removes what the files still tell of deleted reports, and of the order of recording.

        Args:
            at_once: whether to do so even if it was done within `ERASE_SECONDS`.
        """
        now = time.monotonic()
        if now < self._history.erase_at and not at_once:
            return
        self._history.erase_at = now + ERASE_SECONDS
        self._storage.run_syncing(self._storage.erase_traces)

    def next_wait(self) -> float | None:
        """In how many seconds to look again, or None if there is nothing to wait for."""
        spool = self._storage.spool
        due, replaced = self._storage.run_locked(lambda: (spool.next_due_time(), spool.replaced))
        now = self._clock()
        longest = MAX_WAIT_SECONDS
        if replaced:
            longest = max(min(longest, self._history.erase_at - time.monotonic()), 1.0)
        if self._absence_digests:
            # Look when each day begins, whether or not a value is recorded in it.
            tomorrow = SECONDS_PER_EPOCH - now % SECONDS_PER_EPOCH
            longest = min(longest, max(tomorrow, 1.0))
        if due is None:
            return longest if self._absence_digests else None
        wait = due - now
        if wait > self._horizon_seconds:
            wait = 0.0
        return min(max(wait, self._sender.silent_until - time.monotonic(), 0.0), longest)

    def next_due_report(self, now: float, again: bool) -> StoredReport | None:
        """A random one of the reports that are due, if any; the others get another time.

        To be called by `DeviceStorage.run_locked`.

        Args:
            now: in seconds since 1970-01-01.
            again: False for the first report of this process, see `Spool.reschedule_overdue`.
        """
        spool = self._storage.spool
        self._drop_old(epoch_at(now))
        horizon = now + self._horizon_seconds
        reports = [each for each in spool.due(now, horizon) if spool.may_leave(each)]
        if not reports:
            return None
        report = draw_one(reports)
        if self._spread_seconds > 0:

            def later() -> float:
                return now + self._spread_seconds * random_fraction()

            late = epoch_at(now) - LATE_DAYS
            spool.reschedule_overdue(report, now, horizon, later, late=late, again=again)
        return report

    def _is_any_due(self, now: float) -> bool:
        self._drop_old(epoch_at(now))
        return bool(self._storage.spool.due(now, now + self._horizon_seconds))

    def _reports_to_flush(
        self, enough: Callable[[], bool], today: int, ids: Sequence[bytes]
    ) -> Iterator[StoredReport]:
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            for report in self._storage.run_locked(self._reports, batch):
                if enough():
                    return
                if report.epoch > today:
                    continue  # the aggregator takes no report of a day that lies ahead
                if report.digest in self._held_digests and self._clock() < self._free_at(report):
                    continue  # absence may still be reported, another value be picked
                if not is_claimed_elsewhere(report, self._clock()):
                    yield report

    def _free_at(self, report: StoredReport) -> float:
        """From when on a report may leave that waits for the end of its period."""
        return (report.epoch + 1) * SECONDS_PER_EPOCH + self._hold_seconds

    def _all_ids(self, today: int) -> list[bytes]:
        self._drop_old(today)
        return self._storage.spool.ids()

    def _drop_old(self, today: int) -> None:
        self._storage.spool.drop_old(today, self._absence_digests, self._required_digests)

    def _reports(self, ids: Iterable[bytes]) -> list[StoredReport]:
        return self._storage.spool.reports(ids)


def in_random_order(items: Iterable[_T]) -> list[_T]:
    """The items in an order from the operating system's randomness; all are equally likely."""
    return sorted(items, key=lambda _: os.urandom(_KEY_BYTES))


def draw_one(items: Sequence[_T]) -> _T:
    """One of the items, by the operating system's randomness; all are equally likely."""
    return items[int.from_bytes(os.urandom(_KEY_BYTES), "big") % len(items)]
