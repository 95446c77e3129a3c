"""Hundreds of thousands of devices, which worker processes randomize, and somebody who forges."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, NamedTuple

from demo.population import REGISTRY
from demo.server import PARTNER_KEY, RELEASE_KEY
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared import wire
from deniable_shared.registry import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from demo.population import Device

BATCH_DEVICES: Final = 4_000
SECRET_BYTES: Final = 32
FORGED_METRIC: Final = "browser"
FORGED_VALUE: Final = "Firefox"
FORGED_PART: Final = 0.12
"""Forged reports of a day, relative to its devices."""

PARTNERS_PART: Final = 0.04
"""The part of the devices that has the partner's build, whose write key the forger uses too."""


class Batch(NamedTuple):
    """What is sent in one upload.

    Attributes:
        day: on which it is sent, in days since 1970-01-01.
        key: the name of the write key that it is sent with.
        devices: how many devices it has reports of.
        body: its bytes.
    """

    day: int
    key: str
    devices: int
    body: bytes


def run(days: Mapping[int, Sequence[Device]]) -> Iterator[Batch]:
    """Randomizes all devices; yields their uploads day by day.

    Args:
        days: true values, which only the worker processes see.
    """
    batches = [
        (day, key, batch)
        for day, devices in days.items()
        for key, part in _builds(devices)
        for batch in _batches(part)
    ]
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        # A terminal sends Ctrl-C to all processes. Workers inherit that it is blocked, from their
        # first moment on, and the parent ends them.
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            futures = [pool.submit(randomized, *batch) for batch in batches]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _builds(devices: Sequence[Device]) -> Iterator[tuple[str, Sequence[Device]]]:
    partners = round(PARTNERS_PART * len(devices))
    yield RELEASE_KEY, devices[partners:]
    yield PARTNER_KEY, devices[:partners]


def _batches(devices: Sequence[Device]) -> Iterator[Sequence[Device]]:
    for start in range(0, len(devices), BATCH_DEVICES):
        yield devices[start : start + BATCH_DEVICES]


def randomized(day: int, key: str, devices: Sequence[Device]) -> Batch:
    """Randomizes the values of one batch of devices, into one upload.

    The upload does not keep a device's reports together: it has one payload for each metric, which
    holds that metric's reports of all devices.
    """
    randomness = Randomness()
    parts = []
    secrets = [os.urandom(SECRET_BYTES) for _ in devices]
    for name, metric in load(REGISTRY).metrics.items():
        spec, randomizer = metric.spec, randomizer_for(metric.spec, randomness)
        payload = b"".join(
            randomizer.report(spec.encode(device[name]), secret)
            for device, secret in zip(devices, secrets, strict=True)
        )
        parts.append(wire.Part(spec.digest, day, payload))
    return Batch(day, key, len(devices), _upload(parts))


def forged(day: int, reports: int) -> Batch:
    """One valid report, again and again: what a script with a write key can send."""
    spec = load(REGISTRY).metrics[FORGED_METRIC].spec
    report = randomizer_for(spec, Randomness()).report(
        spec.encode(FORGED_VALUE), os.urandom(SECRET_BYTES)
    )
    return Batch(day, PARTNER_KEY, 0, _upload([wire.Part(spec.digest, day, report * reports)]))


def _upload(parts: Sequence[wire.Part]) -> bytes:
    return wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), tuple(parts)))
