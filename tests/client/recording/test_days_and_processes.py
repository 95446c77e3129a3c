"""What must hold on every day and in every process: not on most of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from deniable import Outcome
from deniable_shared.registry import parse

TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 400.0
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0
[metrics.crash]
type = "category"
values = ["startup", "editor"]
absent = "none"
epsilon = 0.5
"""

KEPT = """
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from tests.client.audit.registries import SMALL
for name, spec in SMALL.items():
    if spec.mechanism.epsilon_permanent is not None:
        for byte in range(8):
            secret = bytes([byte]) * 32
            device = randomizer_for(spec, Randomness(lambda count: b"\\xff" * count))
            item = spec.encode("theme") if spec.type == "string" else 0
            print(name, byte, device.report(item, secret).hex())
"""


def test_every_day_of_a_year_costs_what_it_must(make_client, clock):
    client = make_client(registry=parse(TEXT), clock=clock, background=False)
    left = 400.0
    for _ in range(30):
        assert client.record("theme", "dark") is Outcome.RECORDED
        now_left = client.status().epsilon_left_lifetime
        assert left - now_left == pytest.approx(1.5, abs=1e-6)
        left = now_left
        clock.forward(days=1)


@pytest.mark.service
def test_kept_answers_are_the_same_in_another_process():
    """With the same fresh bytes, a device's report is the same after any restart."""
    said = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", KEPT], env=environment, capture_output=True, check=True
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert said != {b""}


def test_nothing_is_paid_for_after_a_refusal_in_another_process(make_client, clock):
    options = {"registry": parse(TEXT), "clock": clock, "background": False}
    options |= {"consent": False, "remember_consent": True}
    one, two = make_client(**options), make_client(another_process=True, **options)
    one.consent = True
    one.flush()
    before = one.status().epsilon_left_lifetime
    two.consent = False
    clock.forward(days=1)
    assert one.record("crash", "editor") is Outcome.NO_CONSENT
    assert two.status().epsilon_left_lifetime == before
