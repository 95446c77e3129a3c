"""Long strings, from 20,000 clients with a model of phrases to an analyst, and 200 forgers."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import product

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_shared import registry, wire
from deniable_shared.letters import shipped_model
from tests.aggregator.served import codes, numbers, shares
from tests.command_line import printed
from tests.end_to_end import asking
from tests.end_to_end.discovering import (
    SECRET,
    discovered,
    seeded_noise,
    serving_metrics,
    upload_of,
    uploads,
)

pytestmark = [pytest.mark.service, pytest.mark.slow]

DEVICES = 20_000
WHOLE_CLIENTS = 200
"""So many run the whole client, with an upload each; a relay brings the reports of the others."""
FORGERS = 200
SEED = 36

ERRORS = ("ValueError", "KeyError", "TimeoutError", "ConnectionError")
PARTS = ("navigation", "communication", "surveillance", "maintenance", "performance")
PAGES = ("waypoints", "approaches", "departures", "procedures", "clearances", "restrictions")
STEPS = ("planning", "loading", "rendering", "validation")
CALLS = ("parse", "update", "refresh", "collect")
SIGNATURES = [
    f"{error} at flightdeck.{part}.{page}.{step}.{call}_{page}"
    for error, part, page, step, call in product(ERRORS, PARTS, PAGES, STEPS, CALLS)
]
"""All that an application could raise; a part of them trains the model."""

LONGEST_BITS = 36
"""In two levels, which are read in a second; the shipped model takes some 300 bits."""

COMMON = (0.15, 0.12, 0.10, 0.08, 0.06)
"""The shares of five signatures that no example is of."""


@pytest.fixture(scope="module")
def signatures():
    """The examples of the model, and the others, in random order."""
    mixed = np.random.default_rng(SEED).permutation(SIGNATURES).tolist()
    return mixed[:400], mixed[400:]


@pytest.fixture
def metrics(tmp_path, signatures):
    """A registry with a model that was trained by the command."""
    examples, model = tmp_path / "signatures.txt", tmp_path / "signatures.model"
    examples.write_text("\n".join(signatures[0]))
    assert model.name in printed("model", "train", examples, "--out", model)
    text = f"""\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.crash]
type = "string"
discover = true
epsilon = 4
every = "week"
model = "{model.name}"
model_digest = "{sha256(model.read_bytes()).hexdigest()}"
longest_bits = {LONGEST_BITS}
"""
    return registry.parse(text, folder=tmp_path)


@pytest.fixture
def truth(signatures):
    """How many devices hold each string: besides the common ones a thousand, which few hold."""
    held = Counter()
    others = signatures[1]
    for text, share in zip(others, COMMON, strict=False):
        held[text] = round(share * DEVICES)
    rest = DEVICES - held.total()
    held.update(others[len(COMMON) + number % 1_000] for number in range(rest))
    return held


def forged_reports(metrics, noise, text):
    """One report of the first level, sent again and again."""
    spec = metrics.metrics["crash"].spec
    report = randomizer_for(spec, noise).report
    made = (report(spec.encode(text), SECRET) for _ in range(1_000))
    return next(each for each in made if each[0] == 0) * FORGERS


def test_strings_of_60_characters_are_found_whole_and_forgers_only_add_a_warning(
    tmp_path, metrics, truth, monkeypatch
):
    common = dict(truth.most_common(len(COMMON)))
    code = metrics.metrics["crash"].spec.letters
    for text in common:
        assert len(text) >= 60
        assert code.model.length(text.encode()) <= LONGEST_BITS
        assert shipped_model().length(text.encode()) > 200
    noise = seeded_noise(monkeypatch, SEED)
    values = list(truth.elements())
    np.random.default_rng(SEED).shuffle(values)
    with serving_metrics(tmp_path, metrics) as (server, tokens):
        headers = {"Authorization": f"Bearer {tokens['batch']}", "Content-Type": wire.CONTENT_TYPE}
        reader = {"Authorization": f"Bearer {tokens['read']}"}
        with (
            asking.client(base_url=server.url, headers=headers) as sender,
            asking.client(base_url=server.url, headers=reader) as analyst,
        ):
            for body in uploads(metrics, "crash", values, noise, whole_clients=WHOLE_CLIENTS):
                assert sender.post("/v1/reports", content=body).status_code == 204
            server.show()
            honest = discovered(analyst, "crash")
            forged = forged_reports(metrics, noise, values[0])
            body = upload_of(metrics, "crash", forged)
            assert sender.post("/v1/reports", content=body).status_code == 204
            server.show()
            attacked = discovered(analyst, "crash")
    for answer in (honest, attacked):
        found = {row["value"]: row for row in numbers(answer, "share", whole=True, told=True)}
        assert found.keys() == common.keys()
        for text, devices in common.items():
            error = (found[text]["high"] - found[text]["low"]) / 4
            assert abs(found[text]["estimate"] - devices / DEVICES) < 5 * error, text
        begun = shares(answer, whole=False, told=True)
        false = [text for text in begun if not any(each.startswith(text) for each in truth)]
        assert len(false) <= 1  # of the beginnings that are shown one in twenty may be
    assert honest["head"]["reports"] == DEVICES
    assert "crowded_points" not in codes(honest)
    (said,) = (each for each in attacked["notices"] if each["code"] == "crowded_points")
    assert said["severity"] == "warning"
    left_out = int(said["message"].split()[0])
    assert said["message"].startswith(f"{left_out} reports of level 1 were left out")
    assert 0.95 * FORGERS <= left_out <= FORGERS
    assert attacked["head"]["reports"] == DEVICES + FORGERS - left_out
