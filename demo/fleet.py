"""Hundreds of thousands of devices: randomized in worker processes, and sent over HTTP."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

import httpx

from demo.population import REGISTRY
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared import wire
from deniable_shared.periods import epoch_at
from deniable_shared.registry import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from demo.population import Device

BATCH_DEVICES: Final = 2_000
SECRET_BYTES: Final = 32
ATTEMPTS: Final = 10
TIMEOUT_SECONDS: Final = 30.0


def run(devices: Sequence[Device], endpoint: str, key: str) -> Iterator[tuple[int, int]]:
    """Randomizes and uploads all devices; yields (devices, bytes sent) after each batch.

    Args:
        devices: true values, which stay in the worker processes.
        endpoint: the aggregator's address.
        key: the application's write key.

    Raises:
        RuntimeError: if a batch is not accepted.
    """
    batches = [
        devices[start : start + BATCH_DEVICES] for start in range(0, len(devices), BATCH_DEVICES)
    ]
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        # A terminal sends Ctrl-C to all processes. Workers inherit that it is blocked, from their
        # first moment on, and the parent ends them.
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            futures = [pool.submit(relay, batch, endpoint, key) for batch in batches]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def relay(devices: Sequence[Device], endpoint: str, key: str) -> tuple[int, int]:
    """Randomizes the values of one batch of devices, and sends all their reports in one upload.

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
        parts.append(wire.Part(spec.digest, epoch_at(time.time()), payload))
    body = wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), tuple(parts)))
    _send(body, endpoint, key)
    return len(devices), len(body)


def _send(body: bytes, endpoint: str, key: str) -> None:
    """Sends an upload until it is accepted; a retry sends the same bytes, so it is counted once."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": wire.CONTENT_TYPE}
    for attempt in range(ATTEMPTS):
        try:
            answer = httpx.post(
                f"{endpoint}/v1/reports", content=body, headers=headers, timeout=TIMEOUT_SECONDS
            )
        except httpx.TransportError:
            time.sleep(0.1 * 2**attempt)
            continue
        if answer.status_code == httpx.codes.NO_CONTENT:
            return
        if answer.status_code not in (429, 503):
            raise RuntimeError(f"the aggregator answered {answer.status_code}: {answer.text}")
        time.sleep(float(answer.headers.get("Retry-After", 1)))
    raise RuntimeError(f"the aggregator did not accept a batch in {ATTEMPTS} attempts")
