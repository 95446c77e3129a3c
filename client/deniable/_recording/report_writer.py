"""Making a report: paying for it, randomizing the value, and storing the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable._recording.day_keeper import DayKeeper
from deniable._recording.metric_plan import (
    RELAY_HOLD_SECONDS,
    RELAY_SPREAD_SECONDS,
    MetricPlan,
    draw_delay,
)
from deniable._status import Outcome
from deniable._storage.cost import limit_nano_nats
from deniable_shared.periods import period
from deniable_shared.registry import MAX_EPSILON_LIFETIME, MAX_EPSILON_PER_DAY, Metric, Registry
from deniable_shared.wire import ID_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._clock import DeviceClock
    from deniable._randomness import Randomness
    from deniable._remote.configuration import RemoteSettings
    from deniable._storage.device import DeviceStorage


class ReportWriter:
    """Makes the reports of all metrics within the budget.

    Args:
        registry: contains the budget.
        storage: where reports are stored.
        remote: makes fewer devices report, and lengthens delays.
        randomness: for reports, ids and delays; used only while the storage is locked.
        clock: the device's.
        delay_seconds: the longest random delay that the application wants.
        relayed: see `MetricPlan`.

    Attributes:
        limits: what one day and a lifetime may cost, in nano-nats.
    """

    def __init__(
        self,
        registry: Registry,
        storage: DeviceStorage,
        remote: RemoteSettings,
        randomness: Randomness,
        clock: DeviceClock,
        delay_seconds: float,
        *,
        relayed: bool,
    ) -> None:
        self._storage = storage
        self._remote = remote
        self._randomness = randomness
        self._delay_seconds = delay_seconds
        self._relayed = relayed
        budget = registry.budget
        # Checked here too: a registry that was not read from a file may exceed the ceilings.
        self.limits = (
            limit_nano_nats(min(budget.epsilon_per_day, MAX_EPSILON_PER_DAY)),
            limit_nano_nats(min(budget.epsilon_lifetime, MAX_EPSILON_LIFETIME)),
        )
        self._days = DayKeeper(storage, clock, self.limits[0])
        self._plans: dict[str, MetricPlan] = {}

    @property
    def longest_delay_seconds(self) -> float:
        """The longest random delay that any report is given."""
        if self._relayed:
            return RELAY_HOLD_SECONDS + RELAY_SPREAD_SECONDS
        return self._remote.longest(self._delay_seconds)

    def plan_for(self, metric: Metric) -> MetricPlan:
        """How a metric is recorded; always the same object for one metric."""
        plan = self._plans.get(metric.spec.name)
        if plan is None:
            plan = MetricPlan(metric, self._randomness, self._delay_seconds, relayed=self._relayed)
            self._plans[metric.spec.name] = plan
        return plan

    def plans(self) -> list[MetricPlan]:
        """How metrics are recorded, of those that were."""
        return list(self._plans.values())

    def draw_delay(self, plan: MetricPlan, randomness: Randomness) -> float:
        """A random delay for a report, in seconds, to be drawn before its noise.

        One for a relay is not lengthened by remote configuration: its crowd leaves in the same
        hours.
        """
        longest = plan.delay_seconds if plan.relayed else self._remote.stretched(plan.delay_seconds)
        return draw_delay(longest, randomness)

    def begin_day(self, epoch: int) -> None:
        """Notes that a day has begun, see `DayKeeper.begin`; to be called by `run_locked`.

        Args:
            epoch: today, in days since 1970-01-01.
        """
        self._days.begin(epoch)

    def pay(self, plan: MetricPlan, number: int, epoch: int) -> Outcome:
        """Pays for a period of a metric that reports absence; to be called by `run_locked`.

        Devices pay when they are first at work in a period, so that neither the day nor the order
        of debits depends on what is recorded.

        Args:
            plan: the metric's.
            number: the number of the period.
            epoch: today, in days since 1970-01-01, which has begun.
        """
        storage = self._storage
        if self._remote.skips_period(plan.spec, number, storage.secret):
            return Outcome.THINNED
        if self._days.is_reported(plan.spec.every, number):
            return Outcome.OVER_BUDGET  # a clock that was ahead may have paid, and reported
        return self._charge(plan, number, epoch)

    def write(
        self,
        plan: MetricPlan,
        item: object,
        number: int,
        epoch: int,
        day: int,
        since: float,
        rank: int = 0,
    ) -> tuple[Outcome, float, int]:
        """Pays for a report and stores it; to be called by `DeviceStorage.run_locked`.

        The report of a metric that reports absence was paid for by `pay`, or is not made. A period
        is paid for once, see `replace` for its further values.

        Args:
            plan: the metric's.
            item: the value, as the spec encodes it.
            number: the number of the period that the report is for.
            epoch: today, in days since 1970-01-01; the report is charged to it.
            day: the day that the report carries, in days since 1970-01-01.
            since: when its random delay begins, in seconds since 1970-01-01.
            rank: of the value, see `draw_rank`; 0 for one that no other may replace.

        Returns:
            The outcome, when the report is due in seconds since 1970-01-01, and the least rank of
            the period; 0 if nothing can take the place of what was reported.
        """
        storage, randomness = self._storage, self._randomness
        due = since

        def store(debit: bytes) -> None:
            nonlocal due
            # Before the noise, which takes more or less randomness by the value.
            due += self.draw_delay(plan, randomness)
            upload_id = randomness.take(ID_BYTES)
            payload = plan.randomizer.report(item, storage.secret)
            self.store(plan, upload_id, day, payload, due, debit, rank)

        outcome = self.debit(plan, number, epoch, store)
        if not rank or outcome is not Outcome.ALREADY_REPORTED:
            return outcome, due, rank
        return self.replace(plan, day, rank, lambda: plan.randomizer.report(item, storage.secret))

    def replace(
        self, plan: MetricPlan, day: int, rank: int, payload: Callable[[], bytes]
    ) -> tuple[Outcome, float, int]:
        """Has a further value of a period take the place of the stored one if its rank is lower.

        Once a round of uploads has seen that the period is over, its report stays.

        Args:
            plan: the metric's, which picks one of all values.
            day: the last day of the value's period, in days since 1970-01-01.
            rank: of the value, see `draw_rank`.
            payload: randomizes the value.

        Returns:
            What `write` returns; ``ALREADY_REPORTED`` if no report waits for the period's end.
        """
        spool = self._storage.spool
        report = spool.replaceable(plan.spec.digest, day)
        if report is None:
            return Outcome.ALREADY_REPORTED, 0.0, 0
        if rank < report.least:
            spool.replace(report, payload(), rank)
        return Outcome.RECORDED, report.due, min(rank, report.least)

    def debit(
        self, plan: MetricPlan, number: int, epoch: int, store: Callable[[bytes], None]
    ) -> Outcome:
        """Pays for a report and has it stored; see `write`, and `Ledger.debit` for `store`."""
        if plan.reports_absence:
            return self._mark(plan, number, epoch, store)
        if self._remote.skips_period(plan.spec, number, self._storage.secret):
            return Outcome.THINNED
        return self._charge(plan, number, epoch, store)

    def store(
        self,
        plan: MetricPlan,
        upload_id: bytes,
        day: int,
        payload: bytes,
        due: float,
        debit: bytes,
        rank: int,
    ) -> None:
        """Stores a report with the body of its debit; see `Spool.add`."""
        digest, description = plan.spec.digest, plan.description
        add = self._storage.spool.add
        memoized = plan.memoized
        add(upload_id, digest, day, payload, due, description, debit, rank, memoized=memoized)

    def _charge(
        self,
        plan: MetricPlan,
        number: int,
        epoch: int,
        store: Callable[[bytes], None] | None = None,
    ) -> Outcome:
        ledger = self._storage.ledger
        self._days.begin(epoch)
        if self._days.is_reported(plan.spec.every, number):
            return Outcome.ALREADY_REPORTED
        outcome = ledger.debit(plan.charge, number, epoch, self.limits, store)
        if outcome is Outcome.OVER_BUDGET:
            plan.refused_until = ledger.refused_until
        return outcome

    def _mark(
        self, plan: MetricPlan, number: int, epoch: int, store: Callable[[bytes], None]
    ) -> Outcome:
        """Notes that the report of a period is written, if the period was paid for."""
        self._days.begin(epoch)
        ledger, spec = self._storage.ledger, plan.spec
        last = ledger.last_active_day(spec.name, spec.every)
        is_enrolled = last is not None and period(spec.every, last) == number
        if is_enrolled and ledger.is_charged(plan.charge, number):
            return ledger.mark(spec.name, spec.every, number, store)
        if self._remote.skips_period(spec, number, self._storage.secret):
            return Outcome.THINNED
        over_budget = epoch <= plan.refused_until
        return Outcome.OVER_BUDGET if over_budget else Outcome.ALREADY_REPORTED
