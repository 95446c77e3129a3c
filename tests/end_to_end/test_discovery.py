"""Strings that nobody listed, from 20,000 clients over HTTP to what an analyst sees."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from deniable_shared import registry, wire
from tests.aggregator.served import numbers, shares
from tests.end_to_end import asking
from tests.end_to_end.discovering import discovered, seeded_noise, serving_metrics, uploads
from tests.repetitions import full_or_small

pytestmark = [pytest.mark.service, pytest.mark.slow]

DEVICES = 20_000
WHOLE_CLIENTS = full_or_small(20_000, 200)
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
    return seeded_noise(monkeypatch, SEED)


@pytest.fixture
def server(tmp_path):
    """A server with the metrics, and its tokens by scope."""
    with serving_metrics(tmp_path, registry.parse(REGISTRY)) as served:
        yield served


def test_what_20_000_clients_hold_is_found_although_nobody_listed_it(server, truth, noise):
    running_server, tokens = server
    values = list(truth.elements())
    np.random.default_rng(SEED).shuffle(values)
    with asking.client(base_url=running_server.url) as sender:
        headers = {"Authorization": f"Bearer {tokens['batch']}", "Content-Type": wire.CONTENT_TYPE}
        metrics = registry.parse(REGISTRY)
        for body in uploads(metrics, "term", values, noise, whole_clients=WHOLE_CLIENTS):
            assert sender.post("/v1/reports", content=body, headers=headers).status_code == 204
    running_server.show()
    reader = {"Authorization": f"Bearer {tokens['read']}"}
    with asking.client(base_url=running_server.url, headers=reader) as analyst:
        answer = discovered(analyst, "term")
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
