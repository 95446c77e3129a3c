"""Trying metrics: each is recorded once by a device made up for it, and what leaves is kept."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from deniable._disclosure.explain import explain
from deniable._status import FlushResult, Outcome, Status
from deniable._transport.http import Response, Transport
from deniable._trial.device import Device
from deniable._trial.samples import draw_sample, wrong_value
from deniable._upload.delivery import WAITING
from deniable._upload.problems import Target, of_exception, of_status
from deniable_shared import wire
from deniable_shared.periods import SECONDS_PER_EPOCH, calendar_day, epoch_at, period
from deniable_shared.registry import Metric, Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from datetime import date
    from pathlib import Path

    from deniable._trial.samples import Value
    from deniable_shared.spec import Spec

SEND_SECONDS: Final = 20.0
"""Longer than an upload can take."""

ACCEPTED_DAYS: Final = 14
"""How old a report's day may be, unless a server is configured otherwise."""

_ABOUT_ONE_REPORT: Final = wire.REFUSED | WAITING | {wire.ACCEPTED}
"""Answers to one report; any other answer would be given to all."""


@dataclass(frozen=True)
class Refused:
    """A value that is wrong on purpose.

    Attributes:
        value: what was recorded.
        outcome: what `record` answered.
        problem: why, in words.
    """

    value: Value
    outcome: Outcome
    problem: str


@dataclass(frozen=True)
class Sent:
    """What leaves the device.

    Attributes:
        body: the whole upload, the same at every try.
        upload_id: 16 random bytes of this upload.
        version: the digest of the metric's version.
        day: the UTC day that the report counts for.
        noise: the report itself.
        meaning: what the report says, and how likely the device was to say so.
    """

    body: bytes
    upload_id: bytes
    version: bytes
    day: date
    noise: bytes
    meaning: str


@dataclass(frozen=True)
class Answer:
    """What came of an upload.

    Attributes:
        accepted: whether the server has stored the report.
        status: of the HTTP answer; None if there was none.
        problem: cause and remedy; None if it was accepted.
    """

    accepted: bool
    status: int | None
    problem: str | None


@dataclass(frozen=True)
class Trial:
    """One metric, recorded once.

    Attributes:
        metric: its name.
        value: the made-up value.
        segment: the made-up segment; None for a metric without segments.
        outcome: what `record` answered.
        problem: why nothing was recorded, in words; None if it was.
        refused: what a wrong value is answered.
        sent: what leaves the device; None if nothing was recorded.
        answer: what the server said; None if it was not asked.
        waits: whether a report may leave only after its period.
        held_until: the day on which it may leave, if that is still to come.
        relay_required: whether it is taken through a relay alone, and so is never sent from here.
    """

    metric: str
    value: Value
    segment: str | None
    outcome: Outcome
    problem: str | None
    refused: Refused
    sent: Sent | None = None
    answer: Answer | None = None
    waits: bool = False
    held_until: date | None = None
    relay_required: bool = False

    @property
    def failed(self) -> bool:
        """Whether something has to be done before devices can report this metric."""
        if self.outcome is Outcome.EXPIRED:
            return False  # as the registry wants it
        return self.sent is None or (self.answer is not None and not self.answer.accepted)


class Trials:
    """Tries metrics one after another, on as few devices as their budget allows.

    Args:
        registry: the metrics.
        folder: for the directories of the devices; whoever made it deletes it.
        transport: to the server; None to send nothing.
        clock: seconds since 1970-01-01.
    """

    def __init__(
        self,
        registry: Registry,
        folder: Path,
        transport: Transport | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._registry = registry
        self._folder = folder
        self._transport = transport
        self._clock = clock
        self._devices = 0
        self._shared: Device | None = None

    def of(self, metrics: Iterable[Metric]) -> Generator[Trial]:
        """Tries these metrics."""
        try:
            for metric in metrics:
                waits = metric.spec.waits_for_period_end
                yield self._try_earlier(metric) if waits else self._try(metric)
        finally:
            if self._shared is not None:
                self._shared.client.close()

    def _try(self, metric: Metric) -> Trial:
        if self._shared is not None:
            trial = self._record_and_send(metric, self._shared)
            if trial.outcome is not Outcome.OVER_BUDGET:
                return trial
            # All metrics together may cost more than a device has. Each by itself should not.
            self._shared.client.close()
        self._shared = self._new_device(
            each for each in self._registry.metrics.values() if not each.spec.waits_for_period_end
        )
        return self._record_and_send(metric, self._shared)

    def _try_earlier(self, metric: Metric) -> Trial:
        """Tries a metric whose reports wait for the end of their period: in the one before.

        A period that ended too long ago for the server is left alone, and then nothing is sent.
        """
        every, today = metric.spec.every, epoch_at(self._clock())
        last = today
        while period(every, last) == period(every, today):
            last -= 1
        if today - last < ACCEPTED_DAYS:
            with self._new_device([metric], (last - today) * SECONDS_PER_EPOCH) as device:
                return self._record_and_send(metric, device, days_until_sent=today - last)
        end = today + 1
        while period(every, end) == period(every, today):
            end += 1
        with self._new_device([metric]) as device:
            device.courier.transport = None
            trial = self._record_and_send(metric, device, days_until_sent=end - today)
            return replace(trial, held_until=calendar_day(end))

    def _new_device(self, metrics: Iterable[Metric], shift_seconds: float = 0.0) -> Device:
        """A device that has not recorded anything."""
        self._devices += 1
        named = {each.spec.name: each for each in metrics}
        registry = Registry(self._registry.application, self._registry.budget, named)
        folder = self._folder / str(self._devices)
        return Device(registry, folder, self._transport, self._clock, shift_seconds)

    def _record_and_send(self, metric: Metric, device: Device, days_until_sent: int = 0) -> Trial:
        spec, client = metric.spec, device.client
        sample, wrong = draw_sample(spec), wrong_value(spec)
        outcome = client.record(spec.name, sample.value, segment=sample.segment)
        problem = None if outcome is Outcome.RECORDED else _problem(outcome, spec, client.status())
        refusal = client.record(spec.name, wrong, segment=sample.segment)
        refused = Refused(wrong, refusal, _problem(refusal, spec, client.status()))
        trial = Trial(
            spec.name,
            *sample,
            outcome,
            problem,
            refused,
            waits=metric.spec.waits_for_period_end,
            relay_required=metric.relay_required,
        )
        if outcome is not Outcome.RECORDED:
            return trial
        device.shift_seconds += days_until_sent * SECONDS_PER_EPOCH
        transport = device.courier.transport
        if metric.relay_required:
            device.courier.transport = None
        asked, device.courier.body = device.courier.transport is not None, b""
        result = client.flush(timeout_seconds=SEND_SECONDS)
        device.courier.transport = transport
        if not device.courier.body:  # it could not even be tried
            return replace(trial, problem=client.status().last_error or "it was not sent in time")
        answer = self._judge(device, result, spec.name) if asked else None
        if result.pending != 0:
            client.forget()  # so that it is not sent again with the next metric
        return replace(trial, sent=_decode(spec, device.courier.body), answer=answer)

    def _judge(self, device: Device, result: FlushResult, metric: str) -> Answer:
        """What the server has said to an upload; if it holds for all, no other one is sent."""
        given = device.courier.answer
        status = given.status if isinstance(given, Response) else None
        if result.sent:
            return Answer(True, status, None)
        if status not in _ABOUT_ONE_REPORT:
            self._transport = device.courier.transport = None
        # Not the flush's own words, which say that the report is kept: this device is deleted.
        target = Target(self._registry.application, device.courier.public_endpoint)
        if isinstance(given, Response):
            return Answer(False, status, of_status(given.status, target, metric).cause)
        error = TimeoutError() if given is None else given
        return Answer(False, None, of_exception(error, target).cause)


def _problem(outcome: Outcome, spec: Spec, status: Status) -> str:
    """Why a value was not recorded, and what to do."""
    if outcome is Outcome.EXPIRED:
        return "its last day has passed, and devices report it no more"
    kind, _, words = (status.last_error or "").partition(": ")
    return words or kind or f"{spec.name} was not recorded"


def _decode(spec: Spec, body: bytes) -> Sent:
    """The parts of an upload."""
    upload = wire.decode(body)
    ((digest, epoch, payload),) = upload.parts
    meaning = explain(spec, payload).sentence
    return Sent(body, upload.id, digest, calendar_day(epoch), payload, meaning)
