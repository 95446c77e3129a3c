"""Devices that report strings to a real server, and the question which strings are common."""

from __future__ import annotations

import contextlib
import os
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deniable import _engine
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable.testing import RecordingClient
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import wire
from deniable_shared.periods import epoch_at
from tests.end_to_end.serving import running
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import httpx
    import pytest

    from deniable_shared.registry import Registry
    from tests.aggregator.served import Number
    from tests.end_to_end.serving import Server

SECRET = bytes(32)
"""Of a device; tries decide nothing for good."""


def seeded_noise(monkeypatch: pytest.MonkeyPatch, seed: int) -> Randomness:
    """Noise of a seed, so that a test is the same every time; clients draw it from the system."""
    source = np.random.default_rng(seed).bytes
    monkeypatch.setattr(_engine, "Randomness", partial(Randomness, source))
    return Randomness(source)


@contextlib.contextmanager
def serving_metrics(folder: Path, metrics: Registry) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server with metrics, and its tokens by scope."""
    path, today = folder / "store.db", epoch_at(time.time())
    with contextlib.closing(Store(path)) as store:
        store.metrics.register(metrics.metrics.values(), today)
        tokens = {
            scope: create_key(
                store, scope=scope, application=metrics.application, label="", today=today
            )
            for scope in ("batch", "read")
        }
    with running(path) as server:
        yield server, tokens


def uploads(
    metrics: Registry, metric: str, values: Sequence[str], noise: Randomness, *, whole_clients: int
) -> Iterator[bytes]:
    """The bodies that devices with these values send.

    Args:
        whole_clients: so many run the whole client, with an upload each; a relay brings the reports
            of the others, which the client's randomizer makes.
    """
    for value in values[:whole_clients]:
        with RecordingClient(metrics) as client:
            client.record(metric, value)
            assert client.flush().sent == 1
            (body,) = client._engine.settings.transport.bodies
        yield body
    relayed = values[whole_clients:]
    if relayed:
        spec = metrics.metrics[metric].spec
        report = randomizer_for(spec, noise).report
        payload = b"".join(report(spec.encode(value), SECRET) for value in relayed)
        yield upload_of(metrics, metric, payload)


def upload_of(metrics: Registry, metric: str, payload: bytes) -> bytes:
    """The body that brings reports of today."""
    part = wire.Part(metrics.metrics[metric].spec.digest, epoch_at(time.time()), payload)
    return wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), (part,)))


def discovered(client: httpx.Client, metric: str) -> Number:
    """The result of a discovery, once it is there."""
    path = f"/v1/metrics/{metric}/discoveries"
    asked = client.post(path, json={})
    assert asked.is_success, asked.text
    last = {}

    def done() -> bool:
        answer = client.get(f"{path}/{asked.json()['id']}")
        assert answer.is_success, answer.text
        last.update(answer.json())
        return last["state"] in ("done", "failed")

    wait_until(done)
    assert last["state"] == "done", last.get("failure")
    return last["result"]
