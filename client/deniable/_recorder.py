"""From a value to a stored report: the path that every recorded value takes, once."""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import TYPE_CHECKING, Final

from deniable._metric_plan import MetricPlan
from deniable._status import Outcome
from deniable._storage.cost import limit_nano_nats
from deniable._storage.device import STORAGE_ERRORS
from deniable._storage.ledger import SecretReplacedError
from deniable._storage.spool import MAX_AGE_DAYS
from deniable_shared.errors import DomainError, RecordError
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at, period
from deniable_shared.registry import MAX_EPSILON_LIFETIME, MAX_EPSILON_PER_DAY
from deniable_shared.wire import ID_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._consent import Consent
    from deniable._event_log import EventLog
    from deniable._randomness import Randomness
    from deniable._remote.configuration import RemoteSettings
    from deniable._storage.device import DeviceStorage
    from deniable_shared.registry import Registry

_DELAY_STEPS: Final = 1 << 32
_LONGEST_PERIOD_DAYS: Final = 31
_MAX_NAMES_LISTED: Final = 20
"""So many metrics are named to somebody who got a name wrong; some registries have thousands."""
_NO_WAIT: Final = 0.0
"""Deleting that is owed was waited for when it was asked for; each `record` must not wait, too."""

_MARKED: Final = (Outcome.RECORDED, Outcome.ALREADY_REPORTED)


class Recorder:
    """Checks, charges, randomizes and stores values, and reports that there was none.

    Args:
        registry: the metrics, and the budget.
        storage: where reports are stored.
        consent: whether they may be.
        remote: what the application's owners have asked to do less of.
        events: where problems are noted.
        randomness: for reports, ids and delays; used inside the device's lock only.
        clock: seconds since 1970-01-01.
        delay_seconds: the longest random delay of a report.

    Attributes:
        limits: nano-nats of one day and of a lifetime.
    """

    def __init__(
        self,
        registry: Registry,
        storage: DeviceStorage,
        consent: Consent,
        remote: RemoteSettings,
        events: EventLog,
        randomness: Randomness,
        clock: Callable[[], float],
        delay_seconds: float,
    ) -> None:
        self._registry = registry
        self._storage = storage
        self._consent = consent
        self._remote = remote
        self._events = events
        self._randomness = randomness
        self._clock = clock
        self._delay_seconds = delay_seconds
        budget = registry.budget
        # A registry that was not read from a file cannot lift the ceilings either.
        self.limits = (
            limit_nano_nats(min(budget.epsilon_per_day, MAX_EPSILON_PER_DAY)),
            limit_nano_nats(min(budget.epsilon_lifetime, MAX_EPSILON_LIFETIME)),
        )
        self._plans: dict[str, MetricPlan] = {}
        self._absence_metrics = [
            name
            for name, metric in registry.metrics.items()
            if metric.spec.absent is not None and metric.spec.every != "once"
        ]
        self._absences_checked: tuple[int, int] | None = None

    @property
    def counts_absence(self) -> bool:
        """Whether some metric reports even when nothing is recorded."""
        return bool(self._absence_metrics)

    @property
    def absence_digests(self) -> frozenset[bytes]:
        """The digests of the metrics that report even when nothing is recorded."""
        return frozenset(self._registry.metrics[name].spec.digest for name in self._absence_metrics)

    @property
    def longest_wait_seconds(self) -> float:
        """The longest time that a report is given to wait."""
        hold = _LONGEST_PERIOD_DAYS * SECONDS_PER_EPOCH if self._absence_metrics else 0
        return self._remote.longest(self._delay_seconds) + hold

    def record(
        self, metric: object, value: object, segment: object = None
    ) -> tuple[Outcome, float | None]:
        """Records a value, see `Client.record`.

        Returns:
            The outcome, and in how many seconds the uploader has something to do, or None.

        Raises:
            RecordError: if it was refused for a mistake of the programmer, in words for them.
            StorageError, LedgerError, sqlite3.Error, OSError: if the storage cannot be used.
        """
        if not self._consent.given:
            with contextlib.suppress(*STORAGE_ERRORS):  # then it stays owed
                self._consent.delete_owed(_NO_WAIT)
            refused = self._consent.do_not_track
            return (Outcome.DO_NOT_TRACK if refused else Outcome.NO_CONSENT), None
        plan = self._plans.get(metric) if isinstance(metric, str) else None
        if plan is None:
            plan = self._plan_for(metric)
        now = self._clock()
        epoch = epoch_at(now)
        if epoch > plan.last_epoch:
            raise RecordError(Outcome.EXPIRED, f"{plan.charge.metric} has expired")
        item = self._encode(plan, value, segment)
        if self._remote.disables(plan.charge.metric):
            return Outcome.DISABLED, None
        wake = 0.0 if self._absence_metrics and self.report_absences() else None
        current = period(plan.spec.every, epoch)
        if current <= plan.last_reported:
            return Outcome.ALREADY_REPORTED, wake
        self._consent.delete_owed(_NO_WAIT)
        day, since = epoch, now
        if plan.reports_absence:
            # As a report of absence would have it, so that neither day nor time tells them apart.
            day, since = plan.period_end(current, epoch)
        use = self._storage.run_locked
        try:
            outcome, due = use(self._store_if_agreed, plan, item, current, epoch, day, since)
        except SecretReplacedError:  # it has been closed, and is opened with the new one
            outcome, due = use(self._store_if_agreed, plan, item, current, epoch, day, since)
        if outcome in _MARKED:
            # Marks never go back, so the next call today need not ask the ledger.
            plan.last_reported = current
        if outcome is Outcome.RECORDED and wake is None:
            wake = due - now
        return outcome, wake

    def prepare(self) -> bool:
        """What is to be done before anything is sent: wiping that is owed, reports of absence.

        Returns:
            Whether anything may be sent.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if the storage cannot be used.
        """
        self._consent.delete_owed()
        if not self._consent.given:
            return False
        self.report_absences()
        return True

    def report_absences(self) -> bool:
        """Reports, for metrics that count absence, that a period passed without a value.

        It is the last period in which the device was at work. So a device that has agreed reports
        every period in which it is at work, and no other: which they are tells nothing about
        values. The first time only notes that the device takes part from this period on.

        Returns:
            Whether a report was stored.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if the storage cannot be used.
        """
        epoch = epoch_at(self._clock())
        looked = (epoch, self._consent.withdrawals)
        if (
            looked == self._absences_checked
            or not self._absence_metrics
            or self._consent.deletion_owed
        ):
            return False
        try:
            recorded = self._storage.run_locked(self._report_due_absences, epoch)
        except SecretReplacedError:
            return False  # the next look is due
        self._absences_checked = looked
        return recorded

    def _report_due_absences(self, epoch: int) -> bool:
        if not self._consent.given:
            return False
        ledger = self._storage.ledger
        recorded = False
        owed, excused = [], []
        for name in self._absence_metrics:
            own = name, self._registry.metrics[name].spec.every
            last = ledger.last_active_day(*own)
            if self._remote.disables(name):
                if last is not None:
                    excused.append(own)
            elif last != epoch:
                if last is not None:
                    recorded = self._report_absence(name, last, epoch) or recorded
                owed.append(own)
        # Last: whoever dies before it finds the periods reported, and enrols then.
        if owed or excused:
            ledger.enrol(owed, excused, epoch)
        return recorded

    def _report_absence(self, name: str, last: int, epoch: int) -> bool:
        every = self._registry.metrics[name].spec.every
        number = period(every, last)
        if number >= period(every, epoch):
            return False  # it is not over
        plan = self._plan_for(name)
        day, since = plan.period_end(number, last)
        if period(every, day) < number:
            return False  # the metric had expired before that period
        if day < epoch - MAX_AGE_DAYS:
            return False  # a value of that period would not be sent any more, either
        absent = plan.spec.encode(plan.spec.absent)
        outcome, _ = self._store(plan, absent, number, epoch, day, since)
        return outcome is Outcome.RECORDED

    def _store_if_agreed(
        self, plan: MetricPlan, item: object, current: int, epoch: int, day: int, since: float
    ) -> tuple[Outcome, float]:
        if not self._consent.given:
            # Withdrawn by now, and what was pending is deleted.
            return Outcome.NO_CONSENT, since
        return self._store(plan, item, current, epoch, day, since)

    def _store(
        self, plan: MetricPlan, item: object, current: int, epoch: int, day: int, since: float
    ) -> tuple[Outcome, float]:
        """Pays for a report and stores it, inside the device's lock.

        Args:
            plan: of its metric.
            item: the value, as the spec encodes it.
            current: the period it is for.
            epoch: the day it is charged to.
            day: the day that the report says it is of.
            since: from when on its random delay counts, in seconds since 1970-01-01.

        Returns:
            The outcome, and when the report is due.
        """
        device, randomness = self._storage, self._randomness
        if self._remote.skips_period(plan.spec, current, device.secret):
            return Outcome.THINNED, since
        outcome = device.ledger.debit(plan.charge, current, epoch, self.limits)
        due = since
        if outcome is Outcome.RECORDED:
            payload = plan.randomizer.report(item, device.secret)
            delay_seconds = self._remote.stretched(plan.delay_seconds)
            due += delay_seconds * randomness.word() / _DELAY_STEPS
            device.spool.add(
                randomness.take(ID_BYTES),
                plan.spec.digest,
                day,
                payload,
                device.ledger.lifetime,
                due,
                plan.description,
            )
        return outcome, due

    def _encode(self, plan: MetricPlan, value: object, segment: object) -> object:
        try:
            return plan.spec.encode(value, segment)
        except DomainError as error:
            problem = str(error)  # names the metric, never the value
        self._events.problem("outside_domain", problem)
        raise RecordError(Outcome.OUTSIDE_DOMAIN, problem)

    def _plan_for(self, name: object) -> MetricPlan:
        metric = self._registry.metrics.get(name) if isinstance(name, str) else None
        if metric is None:
            # Not named: whoever mixes up the arguments passes the value as the name.
            self._events.problem("unknown_metric", "a metric is not in the registry")
            known = sorted(islice(self._registry.metrics, _MAX_NAMES_LISTED))
            if more := len(self._registry.metrics) - len(known):
                known.append(f"{more} more")
            raise RecordError(
                Outcome.UNKNOWN_METRIC,
                f"metric must be one of {', '.join(known)}, got something else (not shown)",
            )
        plan = self._plans.get(metric.spec.name)
        if plan is None:
            plan = MetricPlan(metric, self._randomness, self.limits, self._delay_seconds)
            self._plans[metric.spec.name] = plan
        return plan
