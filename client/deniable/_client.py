"""The client: what an application holds to record values and to say what became of them."""

from __future__ import annotations

import contextlib
import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from deniable._device import STORAGE_ERRORS, Device
from deniable._ledger import NANO, cost_nano_nats, limit_nano_nats
from deniable._lifecycle import Engine, close
from deniable._randomness import Randomness
from deniable._status import FlushResult, Journal, Outcome, Status
from deniable._transport import HttpTransport
from deniable._uploader import Uploader
from deniable.randomizers import randomizer_for
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.periods import epoch_at, period
from deniable_shared.registry import (
    MAX_EPSILON_LIFETIME,
    MAX_EPSILON_PER_DAY,
    Registry,
    load,
)
from deniable_shared.wire import ID_BYTES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from deniable._transport import Transport
    from deniable_shared.registry import Metric

UPLOAD_DELAY_SECONDS: Final = 3_600.0
FLUSH_TIMEOUT_SECONDS: Final = 5.0
MAX_FLUSH_SECONDS: Final = 86_400.0

_UNIX_DAY_ZERO: Final = 719_163  # date(1970, 1, 1).toordinal()
_DELAY_STEPS: Final = 1 << 32


class Client:
    """Randomizes values on this device and uploads the reports in the background.

    Construction touches neither disk nor network unless consent was given and earlier reports are
    waiting. Nothing but construction ever raises. Safe for threads, for forks, and for several
    processes that share a directory.

    Args:
        registry: path of a metrics.toml, or a registry that was loaded before.
        endpoint: the aggregator's base URL; ``https://``, or ``http://`` to this machine.
        key: the application's write key.
        directory: private to this application and device; made with mode 0700 once there is consent
            and something to record.
        consent: whether the user has agreed. Without it nothing is randomized, stored or sent.
        transport: carries the uploads instead of HTTP; then endpoint and key are left out.
        upload_delay_seconds: every report waits a uniformly random time up to this one, so that the
            time of an upload does not tell when a value was recorded; 0 or more.
        clock: seconds since 1970-01-01; for tests.

    Raises:
        ParameterError: if endpoint, key, directory or delay cannot be used.
        RegistryError: if the registry cannot be read or has problems.
    """

    def __init__(
        self,
        registry: Registry | str | os.PathLike[str],
        *,
        endpoint: str | None = None,
        key: str | None = None,
        directory: str | os.PathLike[str],
        consent: bool = False,
        transport: Transport | None = None,
        upload_delay_seconds: float = UPLOAD_DELAY_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not (
            isinstance(upload_delay_seconds, int | float) and 0 <= upload_delay_seconds < math.inf
        ):
            raise ParameterError(
                "upload_delay_seconds", "a finite number, 0 or more", upload_delay_seconds
            )
        if transport is None:
            if endpoint is None or key is None:
                raise ParameterError("endpoint and key", "given unless there is a transport", None)
            transport = HttpTransport(endpoint, key)
        elif endpoint is not None or key is not None:
            raise ParameterError("endpoint and key", "left out if there is a transport", "both")
        self._registry = registry if isinstance(registry, Registry) else load(Path(registry))
        budget = self._registry.budget
        # A registry that was not read from a file cannot lift the ceilings either.
        self._limits = (
            limit_nano_nats(min(budget.epsilon_per_day, MAX_EPSILON_PER_DAY)),
            limit_nano_nats(min(budget.epsilon_lifetime, MAX_EPSILON_LIFETIME)),
        )
        self._transport = transport
        self._delay_seconds = float(upload_delay_seconds)
        self._clock = clock
        self._journal = Journal()
        self._randomness = Randomness()
        self._device = Device(_absolute(directory), self._journal)
        self._uploader = Uploader(
            self._device, transport, self._journal, clock, self._delay_seconds
        )
        self._plans: dict[str, _Plan] = {}
        self._engine = Engine(self._device, self._uploader, self._journal, self._randomness)
        self._consent = False
        self.consent = consent

    def record(self, metric: str, value: bool | float | str | Mapping[str, bool | str]) -> Outcome:
        """Records a value: checks, randomizes and stores it, all before returning.

        Never raises and never waits for the network. Once it answers ``RECORDED`` the report
        survives the death of the process. The value itself is kept nowhere.

        Args:
            metric: its name in the registry.
            value: a bool for ``boolean`` metrics, a str for ``category`` and ``string``, an int or
                float for ``number`` and ``distribution`` (what is outside the range counts as its
                end), and for ``attributes`` a mapping from each name to its bool or str.

        Returns:
            What became of it. Every outcome is counted in `status`.
        """
        try:
            outcome = self._record(metric, value)
        except STORAGE_ERRORS:
            outcome = Outcome.STORAGE_UNAVAILABLE  # the device has noted why
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._journal.trouble("internal_error", type(error).__name__)
            outcome = Outcome.INTERNAL_ERROR
        self._journal.outcome(outcome)
        return outcome

    def flush(self, *, timeout_seconds: float = FLUSH_TIMEOUT_SECONDS) -> FlushResult:
        """Sends what is stored now, without waiting for its random times.

        Each report is tried once; when the aggregator cannot be reached, the flush ends early.
        Flushing after every record tells the aggregator when things happened: prefer not to.

        Args:
            timeout_seconds: when to return at the latest; a day at most.

        Returns:
            What was sent and dropped in this time, and what is pending after it.
        """
        if self._engine.closed:
            return FlushResult(sent=0, pending=0, dropped=0)
        if not self._consent:
            pending = self.status().pending
            return FlushResult(sent=0, pending=pending, dropped=0)
        try:
            return self._uploader.flush(min(timeout_seconds, MAX_FLUSH_SECONDS))
        except Exception as error:  # noqa: BLE001  not even a wrong timeout may reach the host
            self._journal.trouble("internal_error", type(error).__name__)
            return FlushResult(sent=0, pending=self.status().pending, dropped=0)

    def close(self) -> None:
        """Ends the background thread and closes the files, within a second whatever happens.

        Reports that were not sent stay stored, and the next client on this directory sends them.
        """
        close([self._engine])

    @property
    def consent(self) -> bool:
        """Whether the user agrees. Withdrawing deletes what is pending; the budget stays spent."""
        return self._consent

    @consent.setter
    def consent(self, agreed: bool) -> None:
        withdrawn = self._consent and not agreed
        self._consent = bool(agreed)
        try:
            if not self._device.exists:
                return
            if agreed:
                self._uploader.wake(0.0)
            elif withdrawn:
                self._uploader.stop()
                with self._device as device:
                    device.spool.clear()
        except STORAGE_ERRORS:
            return  # the device has noted why

    def status(self) -> Status:
        """Counts, the last trouble and what is left of the budget."""
        left = self._limits
        pending = 0
        try:
            if self._device.exists:
                with self._device as device:
                    spent = device.ledger.spent(epoch_at(self._clock()))
                    pending = device.spool.count()
                left = (self._limits[0] - spent[0], self._limits[1] - spent[1])
        except STORAGE_ERRORS:
            left = (0, 0)
        return Status(
            consent=self._consent,
            pending=pending,
            sent=self._journal.sent,
            outcomes=self._journal.outcomes(),
            dropped=self._journal.dropped(),
            last_error=self._journal.last_error,
            epsilon_left_today=max(0, min(left)) / NANO,
            epsilon_left_lifetime=max(0, left[1]) / NANO,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Client({self._registry.application!r}, transport={type(self._transport).__name__}, "
            f"directory={str(self._device.directory)!r}, consent={self._consent})"
        )

    def _record(self, metric: str, value: object) -> Outcome:
        if self._engine.closed:
            return Outcome.CLOSED
        if not self._consent:
            return Outcome.NO_CONSENT
        plan = self._plans.get(metric) if isinstance(metric, str) else None
        if plan is None:
            plan = self._plan(metric)
            if plan is None:
                return Outcome.UNKNOWN_METRIC
        now = self._clock()
        epoch = epoch_at(now)
        if epoch > plan.last_epoch:
            return Outcome.EXPIRED
        spec = plan.spec
        try:
            item = spec.encode(value)
        except DomainError:
            self._journal.trouble("outside_domain", f"a value for {spec.name} was not recorded")
            return Outcome.OUTSIDE_DOMAIN
        current = period(spec.every, epoch)
        if current <= plan.reported:
            return Outcome.ALREADY_REPORTED
        with self._device as device:
            if not self._consent:
                return Outcome.NO_CONSENT  # withdrawn by now, and what was pending is deleted
            outcome = device.ledger.debit(
                spec.name, spec.every, current, epoch, plan.cost, self._limits
            )
            if outcome is Outcome.RECORDED:
                randomness = self._randomness
                payload = plan.randomizer.report(item, device.secret)
                delay = self._delay_seconds * randomness.word() / _DELAY_STEPS
                device.spool.add(
                    randomness.take(ID_BYTES),
                    spec.digest,
                    epoch,
                    payload,
                    device.ledger.lifetime,
                    now + delay,
                    plan.description,
                )
        if outcome is not Outcome.OVER_BUDGET:
            # Marks never go back, so the next call today need not ask the ledger.
            plan.reported = current
        if outcome is Outcome.RECORDED:
            self._uploader.wake(delay)
        return outcome

    def _plan(self, name: object) -> _Plan | None:
        metric = self._registry.metrics.get(name) if isinstance(name, str) else None
        if metric is None:
            # Not named: whoever mixes up the arguments passes the value as the name.
            self._journal.trouble("unknown_metric", "a metric is not in the registry")
            return None
        plan = self._plans[metric.spec.name] = _Plan(metric, self._randomness, self._limits)
        return plan


def _absolute(directory: str | os.PathLike[str]) -> Path:
    """The directory, wherever the host application changes to later."""
    path = Path(directory)
    if "\0" in str(path):
        raise ParameterError("directory", "a path", directory)
    with contextlib.suppress(OSError):  # the working directory may be gone
        path = path.absolute()
    return path


class _Plan:
    """What recording one metric needs, worked out once."""

    __slots__ = ("cost", "description", "last_epoch", "randomizer", "reported", "spec")

    def __init__(self, metric: Metric, randomness: Randomness, limits: tuple[int, int]) -> None:
        self.spec = metric.spec
        # For those who want to know what this device has said, without the registry.
        self.description = json.dumps({"spec": metric.spec.canonical(), "limits": limits})
        self.randomizer = randomizer_for(metric.spec, randomness)
        self.cost = cost_nano_nats(metric.spec.mechanism.epsilon)
        expires = metric.expires
        self.last_epoch = math.inf if expires is None else expires.toordinal() - _UNIX_DAY_ZERO
        self.reported: float = -math.inf
