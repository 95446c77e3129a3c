"""Strings that nobody listed, from 20,000 clients over HTTP to what an analyst sees."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from functools import partial

import numpy as np
import pytest

from deniable import _engine
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable.testing import RecordingClient
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from tests.aggregator.served import numbers, shares
from tests.end_to_end import asking
from tests.end_to_end.serving import running
from tests.repetitions import full_or_small
from tests.waiting import wait_until

pytestmark = [pytest.mark.service, pytest.mark.slow]

DEVICES = 20_000
WHOLE_CLIENTS = full_or_small(20_000, 1_000)
"""So many run the whole client, with an upload each; a relay brings the reports of the others."""

REGISTRY = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.term]
type = "string"
discover = true
epsilon = 4
every = "week"
[metrics.listed]
type = "string"
epsilon = 4
"""
COMMON = {"weather": 0.14, "music": 0.11, "Größe": 0.10, "天气": 0.08, "news": 0.06, "shop": 0.05}
"""At epsilon 4, 20,000 devices find what 2.5% hold nine times out of ten."""

RARE = [f"{first}{second}{third}" for first in "bdfgk" for second in "aeiou" for third in range(60)]
"""Each is held by six devices, and stays hidden."""

SEED = 12


@pytest.fixture(scope="module")
def truth():
    """How many devices hold each string."""
    held = Counter({text: round(share * DEVICES) for text, share in COMMON.items()})
    rest = DEVICES - held.total()
    held.update(RARE[number % len(RARE)] for number in range(rest))
    return held


@pytest.fixture
def noise(monkeypatch):
    """Noise of a seed, so that the test is the same every time; clients draw it from the system."""
    source = np.random.default_rng(SEED).bytes
    monkeypatch.setattr(_engine, "Randomness", partial(Randomness, source))
    return Randomness(source)


@pytest.fixture
def server(tmp_path):
    """A server with the metrics, and its tokens by scope."""
    path, today = tmp_path / "store.db", epoch_at(time.time())
    with contextlib.closing(Store(path)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        tokens = {
            scope: create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("batch", "read")
        }
    with running(path) as server:
        yield server, tokens


def uploads(values, noise):
    """The bodies that devices with these values send: of whole clients, and of one relay."""
    metrics = registry.parse(REGISTRY)
    for value in values[:WHOLE_CLIENTS]:
        with RecordingClient(metrics) as client:
            client.record("term", value)
            assert client.flush().sent == 1
            (body,) = client._engine.settings.transport.bodies
        yield body
    relayed = values[WHOLE_CLIENTS:]
    if relayed:
        spec = metrics.metrics["term"].spec
        report = randomizer_for(spec, noise).report
        payload = b"".join(report(spec.encode(value), bytes(32)) for value in relayed)
        part = wire.Part(spec.digest, epoch_at(time.time()), payload)
        yield wire.encode(wire.Upload(os.urandom(wire.ID_BYTES), (part,)))


def discovered(client, metric="term"):
    """The result of a discovery, once it is there."""
    path = f"/v1/metrics/{metric}/discoveries"
    asked = client.post(path, json={})
    assert asked.is_success, asked.text
    last = {}

    def done():
        answer = client.get(f"{path}/{asked.json()['id']}")
        assert answer.is_success, answer.text
        last.update(answer.json())
        return last["state"] in ("done", "failed")

    wait_until(done)
    assert last["state"] == "done", last.get("failure")
    return last["result"]


def test_what_20_000_clients_hold_is_found_although_nobody_listed_it(server, truth, noise):
    running_server, tokens = server
    values = list(truth.elements())
    np.random.default_rng(SEED).shuffle(values)
    with asking.client(base_url=running_server.url) as sender:
        headers = {"Authorization": f"Bearer {tokens['batch']}", "Content-Type": wire.CONTENT_TYPE}
        for body in uploads(values, noise):
            assert sender.post("/v1/reports", content=body, headers=headers).status_code == 204
    running_server.show()
    reader = {"Authorization": f"Bearer {tokens['read']}"}
    with asking.client(base_url=running_server.url, headers=reader) as analyst:
        answer = discovered(analyst)
        assert answer["head"]["reports"] == DEVICES
        found = {row["value"]: row for row in numbers(answer, "share", whole=True, told=True)}
        shown = shares(answer, told=True)
        assert found.keys() >= COMMON.keys()
        assert not found.keys() & set(RARE)
        false = [text for text in shown if not any(each.startswith(text) for each in truth)]
        assert len(false) <= 1  # of the strings that are shown one in twenty may be
        for text, share in COMMON.items():
            error = (found[text]["high"] - found[text]["low"]) / 4
            assert abs(found[text]["estimate"] - share) < 5 * error, text

        path = "/v1/metrics/term/estimate"
        candidates = [*COMMON, *RARE[:20], "nobody"]
        answered = analyst.post(path, json={"candidates": candidates})
        assert answered.is_success, answered.text
        estimate = answered.json()
        assert estimate["head"]["reports"] == DEVICES
        for row in numbers(estimate, "share"):
            value, error = row["value"], row["standard_error"]
            if value in COMMON:
                assert row["told"]
                assert abs(row["estimate"] - found[value]["estimate"]) < 2 * error
            else:
                assert abs(row["estimate"] - truth[value] / DEVICES) < 6 * error

        refused = analyst.post("/v1/metrics/listed/discoveries", json={})
        assert refused.is_client_error
        assert "discover = true" in refused.json()["detail"]
        assert analyst.post("/v1/metrics/none/discoveries", json={}).status_code == 404
