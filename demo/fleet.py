"""Hundreds of thousands of devices, which worker processes randomize, and somebody who forges."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, NamedTuple

from demo.population import REGISTRY
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


class Batch(NamedTuple):
    """What is sent in one upload.

    Attributes:
        day: on which it is sent, in days since 1970-01-01.
        devices: how many devices it has reports of.
        body: its bytes.
    """

    day: int
    devices: int
    body: bytes


def run(days: Mapping[int, Sequence[Device]]) -> Iterator[Batch]:
    """Randomizes all devices; yields their uploads day by day.

    Args:
        days: true values, which only the worker processes see.
    """
    batches = [
        (day, devices[start : start + BATCH_DEVICES])
        for day, devices in days.items()
        for start in range(0, len(devices), BATCH_DEVICES)
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


def randomized(day: int, devices: Sequence[Device]) -> Batch:
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
    return Batch(day, len(devices), _upload(parts))


def forged(day: int, reports: int) -> bytes:
    """An upload of one valid report, again and again: what a script with a write key can send."""
    spec = load(REGISTRY).metrics[FORGED_METRIC].spec
    report = randomizer_for(spec, Randomness()).report(
        spec.encode(FORGED_VALUE), os.urandom(SECRET_BYTES)
    )
    return _upload([wire.Part(spec.digest, day, report * reports)])


def _upload(parts: Sequence[wire.Part]) -> bytes:
    return wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), tuple(parts)))
