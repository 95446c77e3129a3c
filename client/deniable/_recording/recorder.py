"""Recording a value: from what the application passes to a stored report."""

from __future__ import annotations

import contextlib
import math
import time
from itertools import islice
from typing import TYPE_CHECKING, Final

from deniable._recording.absence import AbsenceReporter
from deniable._recording.metric_plan import NOTHING_REPORTED, draw_rank
from deniable._recording.plain_values import as_plain
from deniable._recording.report_writer import ReportWriter
from deniable._recording.waiting import WaitingReport, WaitingReports
from deniable._status import Dropped, Outcome
from deniable._storage.device import STORAGE_ERRORS, DeviceStorage
from deniable._storage.directory import BusyError
from deniable_shared.errors import DomainError, RecordError
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at, period

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable._clock import DeviceClock
    from deniable._consent import Consent
    from deniable._event_log import EventLog
    from deniable._randomness import Randomness
    from deniable._recording.metric_plan import MetricPlan
    from deniable._remote.configuration import RemoteSettings
    from deniable_shared.registry import Registry

_LONGEST_PERIOD_DAYS: Final = 31
_MAX_NAMES_LISTED: Final = 20
"""How many names an error about an unknown metric lists; some registries have thousands."""

_CLOCK_WRONG: Final = Outcome.CLOCK_WRONG.value
_NO_WAIT: Final = 0.0
"""Retry a pending deletion without blocking, so that `record` stays fast."""

_REPORTED: Final = (Outcome.RECORDED, Outcome.WAITING, Outcome.ALREADY_REPORTED)


class Recorder:
    """Checks values and has reports made of them.

    Args:
        registry: the metrics and the budget.
        storage: where reports are stored.
        consent: whether they may be.
        remote: which metrics are disabled; see also `ReportWriter`.
        events: where problems are noted.
        randomness: see `ReportWriter`.
        clock: the device's.
        delay_seconds: the longest random delay of a report.
        relayed: whether reports go through a relay.

    Attributes:
        limits: what one day and a lifetime may cost, in nano-nats.
        counts_absence: whether some metric reports even if nothing is recorded.
        absence_digests: the digests of these metrics' specs.
        held_digests: those of all metrics whose reports wait for the end of their period.
        required_digests: those of metrics whose reports are taken through a relay alone.
    """

    def __init__(
        self,
        registry: Registry,
        storage: DeviceStorage,
        consent: Consent,
        remote: RemoteSettings,
        events: EventLog,
        randomness: Randomness,
        clock: DeviceClock,
        delay_seconds: float,
        *,
        relayed: bool,
    ) -> None:
        self._registry = registry
        self._storage = storage
        self._consent = consent
        self._remote = remote
        self._events = events
        self._clock = clock
        self._writer = ReportWriter(
            registry, storage, remote, randomness, clock, delay_seconds, relayed=relayed
        )
        self._waiting = WaitingReports(storage, consent, remote, self._writer)
        self._absence = AbsenceReporter(registry, storage, consent, remote, self._writer, clock)
        self.limits = self._writer.limits
        self.counts_absence = bool(self._absence.metrics)
        self.absence_digests = self._absence.digests
        specs = [each.spec for each in registry.metrics.values()]
        self.held_digests = frozenset(
            each.digest for each in specs if relayed or each.waits_for_period_end
        )
        self.required_digests = frozenset(
            each.spec.digest
            for each in registry.metrics.values()
            if relayed and each.relay_required
        )
        self._picks = any(each.picks for each in specs)
        self._plans: dict[str, MetricPlan] = {}
        self._known_since: tuple[int, int] | None = None
        self._doubted = False

    @property
    def longest_wait_seconds(self) -> float:
        """The longest time between recording a value and sending its report."""
        hold = _LONGEST_PERIOD_DAYS * SECONDS_PER_EPOCH if self.held_digests else 0
        return self._writer.longest_delay_seconds + hold

    def record(
        self, metric: object, value: object, segment: object = None, *, agreed: bool
    ) -> tuple[Outcome, float | None]:
        """Records a value, see `Client.record`.

        Returns:
            The outcome, and in how many seconds the uploader has something to do, or None.

        Raises:
            RecordError: if the value was refused because of a mistake of the programmer.
            StorageError, OSError: if the storage cannot be used.
        """
        if not (agreed and self._consent.given):
            with contextlib.suppress(*STORAGE_ERRORS):  # then deletion stays owed
                self._consent.delete_owed(_NO_WAIT)
            return self._consent.refusal or Outcome.NO_CONSENT, None
        plan = self._plans.get(metric) if isinstance(metric, str) else None
        if plan is None:
            plan = self._plan_for(metric)
        if self.clock_is_doubted():
            return Outcome.CLOCK_WRONG, None
        now = self._clock()
        epoch = epoch_at(now)
        self._begin_day(epoch)
        if epoch > plan.last_epoch:
            raise RecordError(Outcome.EXPIRED, f"{plan.spec.name} has expired")
        # Before the value is looked at, so that nothing about it decides whether it counts.
        rank = draw_rank() if plan.picks else 0
        try:
            item = self._encode(plan, value, segment)
        except RecordError:
            if self.counts_absence:  # whether the day is paid for must not depend on the value
                with contextlib.suppress(*STORAGE_ERRORS):
                    self._report_absence()
            raise
        if self._remote.disables(plan.spec.name):
            return Outcome.DISABLED, None
        wake = 0.0 if self.counts_absence and self._report_absence() else None
        number = period(plan.spec.every, epoch)
        last, least = plan.reported
        if number <= last and rank >= least:
            return Outcome.RECORDED if least else Outcome.ALREADY_REPORTED, wake
        if epoch <= plan.refused_until:
            return Outcome.OVER_BUDGET, wake
        self._consent.delete_owed(_NO_WAIT)
        day, since = epoch, now
        # Unless that is done: what was owed was in the way.
        if plan.reports_absence and self._report_absence():
            wake = 0.0
        if plan.waits:
            # Of absence, so that day and time reveal nothing; of a picked value, as one that is
            # recorded later may take its place; for a relay, to be like those of other devices.
            day, since = plan.period_end(epoch)
        arguments = plan, item, number, epoch, day, since, rank
        try:
            outcome, due, least, written = self._storage.run_briefly(
                self._write_if_agreed, *arguments
            )
        except BusyError:
            outcome, wake, least = self._waiting.keep(*arguments), 0.0, rank
        else:
            self._waiting.settle(written)
        if outcome in _REPORTED:
            # Further calls of this day need not ask the ledger.
            plan.reported = number, least
        if outcome is Outcome.RECORDED and wake is None:
            wake = due - now
        return outcome, wake

    def prepare(self) -> bool:
        """Does what must come before uploads: deletion that is owed, reports of absence.

        Returns:
            Whether the user agrees to what may be sent; see also `clock_is_doubted`.

        Raises:
            StorageError, OSError: if the storage cannot be used.
        """
        self._consent.delete_owed()
        if not self._consent.still_given():
            return False
        self._storage.tidy_up()
        if not self.clock_is_doubted():
            self._begin_day(epoch_at(self._clock()))
            self._write_waiting()
            self._absence.report_due()
        return True

    def clock_is_doubted(self) -> bool:
        """Whether nothing may be recorded or sent now as the device's clock is not believed."""
        doubt = self._clock.doubt()
        if doubt is not None:
            self._doubted = True
            self._events.problem(_CLOCK_WRONG, doubt)
        elif self._doubted:
            self._doubted = False
            self._events.solved(
                {_CLOCK_WRONG}, None, "clock_right", "the device's clock is believed again"
            )
        return doubt is not None

    def _begin_day(self, epoch: int) -> None:
        """Forgets what was known of another day: the clock may have gone back, and the ledger, too.

        And what was known before this process has deleted reports. Nothing else that was known is
        wrong on the same day: while it lasts, periods and budget are never freed.
        """
        since = epoch, self._storage.deletions
        if since == self._known_since:
            return
        self._known_since = since
        for plan in self._writer.plans():
            plan.reported, plan.refused_until = NOTHING_REPORTED, -math.inf

    def finish(self, wait_seconds: float) -> None:
        """Writes what waits in memory, or gives it up, and erases reports that were replaced.

        One that was replaced may stay until the next process erases it, so that short programs
        seldom wait for the disk.

        Args:
            wait_seconds: how long to wait for others that use the storage.
        """
        deadline = time.monotonic() + wait_seconds
        with contextlib.suppress(*STORAGE_ERRORS):
            if self._storage.waiting and not self.clock_is_doubted():
                self._write_waiting(wait_seconds)
        self._storage.discard_waiting(Dropped.NOT_WRITTEN)
        with contextlib.suppress(*STORAGE_ERRORS):
            if self._picks and self._storage.exists:
                left = max(0.0, deadline - time.monotonic())
                self._storage.run_syncing(self._erase_replaced, left)

    def _erase_replaced(self) -> None:
        if self._storage.spool.replaced > 1:
            self._storage.erase_traces()

    def _write_waiting(self, wait_seconds: float | None = None) -> None:
        if self._storage.waiting:
            written = self._storage.run_locked(self._write_all, wait_seconds=wait_seconds)
            self._waiting.settle(written)

    def _write_all(self) -> Sequence[tuple[WaitingReport, bool]]:
        if not self._consent.still_given():
            return ()
        return self._write_in_order(epoch_at(self._clock()))

    def _write_in_order(self, today: int) -> Sequence[tuple[WaitingReport, bool]]:
        """Writes what waits, and reports absence: of a period that is over a value comes first."""
        over = self._waiting.write(today, over=True)
        self._absence.report_first()
        return [*over, *self._waiting.write(today, over=False)]

    def _report_absence(self) -> bool:
        """Whether the uploader has something to do, as absence was reported or has still to be."""
        try:
            if self._storage.waiting:
                self._waiting.settle(self._storage.run_briefly(self._write_all))
            return self._absence.report_due(briefly=True)
        except BusyError:
            return True

    def _write_if_agreed(
        self,
        plan: MetricPlan,
        item: object,
        number: int,
        epoch: int,
        day: int,
        since: float,
        rank: int,
    ) -> tuple[Outcome, float, int, Sequence[tuple[WaitingReport, bool]]]:
        if not self._consent.still_given():
            # Consent was withdrawn while this waited for the lock, or in another process, and the
            # reports are deleted.
            return Outcome.NO_CONSENT, since, 0, ()
        waits = self.counts_absence or self._storage.waiting
        written = self._write_in_order(epoch) if waits else ()
        return *self._writer.write(plan, item, number, epoch, day, since, rank), written

    def _encode(self, plan: MetricPlan, value: object, segment: object) -> object:
        try:
            return plan.spec.encode(value, segment)
        except DomainError as error:
            problem = str(error)  # names the metric, never the value
        with contextlib.suppress(Exception):  # whatever the value raises; it may hold the value
            return plan.spec.encode(as_plain(value), segment)
        self._events.problem("outside_domain", problem)
        raise RecordError(Outcome.OUTSIDE_DOMAIN, problem)

    def _plan_for(self, name: object) -> MetricPlan:
        metric = self._registry.metrics.get(name) if isinstance(name, str) else None
        if metric is None:
            # The name is not shown: somebody who mixes up the arguments passes the value as name.
            self._events.problem("unknown_metric", "a metric is not in the registry")
            known = sorted(islice(self._registry.metrics, _MAX_NAMES_LISTED))
            if more := len(self._registry.metrics) - len(known):
                known.append(f"{more} more")
            raise RecordError(
                Outcome.UNKNOWN_METRIC,
                f"metric must be one of {', '.join(known)}, got something else (not shown)",
            )
        plan = self._plans[metric.spec.name] = self._writer.plan_for(metric)
        return plan
