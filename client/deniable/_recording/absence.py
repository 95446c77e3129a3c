"""Reporting that no value was recorded, for metrics that count absence.

A device that has agreed pays for a period when it is first at work in it, and reports every period
that it has paid for, and no other. So neither which periods it reports nor when its budget ends
says anything about its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable._status import Outcome
from deniable_shared.periods import epoch_at, period

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._consent import Consent
    from deniable._recording.report_writer import ReportWriter
    from deniable._remote.configuration import RemoteSettings
    from deniable._storage.device import DeviceStorage
    from deniable_shared.registry import Metric, Registry


class AbsenceReporter:
    """Reports periods that have passed without a value.

    Args:
        registry: contains the metrics.
        storage: where reports are stored.
        consent: whether they may be.
        remote: which metrics are disabled.
        writer: makes the reports.
        clock: seconds since 1970-01-01.

    Attributes:
        metrics: those that count absence.
        digests: the digests of their specs.
    """

    def __init__(
        self,
        registry: Registry,
        storage: DeviceStorage,
        consent: Consent,
        remote: RemoteSettings,
        writer: ReportWriter,
        clock: Callable[[], float],
    ) -> None:
        self._storage = storage
        self._consent = consent
        self._remote = remote
        self._writer = writer
        self._clock = clock
        self.metrics: list[Metric] = [
            metric for metric in registry.metrics.values() if metric.spec.reports_absence
        ]
        self.digests = frozenset(metric.spec.digest for metric in self.metrics)
        self._checked: tuple[int, int] | None = None

    def report_due(self, *, briefly: bool = False) -> bool:
        """Reports the last period in which the device was at work, if it passed without a value.

        And pays for the period of today. Only the first call of a day does anything.

        Args:
            briefly: whether `record` waits for this.

        Returns:
            Whether a report was stored.

        Raises:
            StorageError, OSError: if the storage cannot be used.
        """
        check = self._due_check()
        if check is None:
            return False
        run = self._storage.run_briefly if briefly else self._storage.run_locked
        recorded = run(self._report_all, check[0])
        self._checked = check
        return recorded

    def report_first(self) -> None:
        """Does what `report_due` does; to be called by `DeviceStorage.run_locked`.

        Before a value is recorded: a period without a value that is reported later than the next
        one could not be reported any longer.
        """
        check = self._due_check()
        if check is not None:
            self._report_all(check[0])

    def _due_check(self) -> tuple[int, int] | None:
        """The day, and how often consent has ended; None if all was done on it."""
        check = (epoch_at(self._clock()), self._consent.endings)
        done = check == self._checked or not self.metrics or self._consent.deletion_owed
        return None if done else check

    def _report_all(self, epoch: int) -> bool:
        if not self._consent.still_given():
            return False
        self._writer.begin_day(epoch)
        ledger = self._storage.ledger
        recorded = False
        enrolled, dropped = [], []
        for metric in self.metrics:
            key = metric.spec.name, metric.spec.every
            last = ledger.last_active_day(*key)
            if self._remote.disables(metric.spec.name):
                if last is not None:
                    dropped.append(key)
            elif last != epoch or not self._is_charged(metric, epoch):
                if last is not None:
                    recorded = self._report_absence(metric, last, epoch) or recorded
                if self._is_paid(metric, last, epoch):
                    enrolled.append(key)
                elif last is not None and last <= epoch:
                    dropped.append(key)
        # Last: after a crash before this, the next call finds the periods reported and paid for.
        if enrolled or dropped:
            ledger.enrol(enrolled, dropped, epoch)
        return recorded

    def _is_paid(self, metric: Metric, last: int | None, epoch: int) -> bool:
        """Whether the period of a day was paid for, or is now: whatever will be recorded in it."""
        plan, every = self._writer.plan_for(metric), metric.spec.every
        number = period(every, epoch)
        if last is not None and period(every, last) == number and self._is_charged(metric, epoch):
            return True
        if epoch > plan.last_epoch:
            return False
        outcome = self._writer.pay(plan, number, epoch)
        # Who was enrolled and has paid was interrupted. Others opted out in this period, and with
        # that whether there was a value before.
        interrupted = last is not None and last < epoch and outcome is Outcome.ALREADY_REPORTED
        return outcome is Outcome.RECORDED or interrupted

    def _is_charged(self, metric: Metric, epoch: int) -> bool:
        """Whether the period of a day was paid for with this version of the metric."""
        charge = self._writer.plan_for(metric).charge
        return self._storage.ledger.is_charged(charge, period(metric.spec.every, epoch))

    def _report_absence(self, metric: Metric, last: int, epoch: int) -> bool:
        every = metric.spec.every
        number = period(every, last)
        if number >= period(every, epoch):
            return False  # the period is not over yet
        plan = self._writer.plan_for(metric)
        day, since = plan.period_end(last)
        if day < epoch - plan.max_age_days:
            return False  # so long ago that a value would not be sent either
        absent = plan.spec.encode_absent()
        outcome, _, _ = self._writer.write(plan, absent, number, epoch, day, since)
        return outcome is Outcome.RECORDED
