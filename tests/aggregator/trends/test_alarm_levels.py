"""Alarms of a hundred metrics with a weekly rhythm, from their reports to the answer over HTTP."""

from __future__ import annotations

import secrets
from statistics import NormalDist

import numpy as np
import pytest

from deniable_shared import registry, wire
from tests.aggregator.api.test_trend_routes import day
from tests.aggregator.service import TODAY, serving

pytestmark = [pytest.mark.slow, pytest.mark.audit]

METRICS, DAYS, TESTS = 100, 28, 21
"""Each day of the last three weeks is tested against the same weekday before."""

SHARE, WEEKEND = 0.40, 0.03
HEAD = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
"""
TEXT = HEAD + "".join(
    f'[metrics.m{number}]\ntype = "boolean"\nepsilon = 0.1\n' for number in range(METRICS)
)
POWER = 0.8
"""Of the z-test with known variance and the same correction; the alarm is to have nine tenths."""


@pytest.fixture(scope="module")
def raised(tmp_path_factory):
    """How many of the metrics raise an alarm, by reports a day and a shift of the last week."""

    def ask(reports, shift):
        folder = tmp_path_factory.mktemp("alarms")
        generator = np.random.default_rng([reports, round(1e6 * shift)])
        with serving(folder / "store.db", accept_days=60) as service:
            registered = service.register(TEXT)
            assert registered.status_code == 200, registered.text
            specs = [each.spec for each in registry.parse(TEXT).metrics.values()]
            for before in range(DAYS, 0, -1):
                weekend = (TODAY - before + 3) % 7 > 4  # 1970-01-01 was a Thursday
                held = SHARE + WEEKEND * weekend + shift * (before <= 7)
                support = specs[0].mechanism.support
                yes = support.q + (support.p - support.q) * held
                parts = tuple(
                    wire.Part(
                        spec.digest,
                        TODAY - before,
                        (generator.random(reports) < yes).astype(np.uint8).tobytes(),
                    )
                    for spec in specs
                )
                sent = service.send(wire.encode(wire.Upload(secrets.token_bytes(16), parts)))
                assert sent.status_code == 204, sent.text
            service.running.inbox_fold.fold(seconds=60)
            days = f"since={day(-DAYS)}&until={day(-1)}&by=day&alarm=true"
            answers = (
                service.ask(f"/v1/metrics/{spec.name}/series?{days}").get_json() for spec in specs
            )
            return sum(answer["head"]["alarm"]["raised"] for answer in answers)

    return ask


def detectable(reports):
    """The shift that the z-test finds in `POWER` of all series, in any of the last seven days."""
    (spec,) = list(registry.parse(TEXT).metrics.values())[:1]
    support = spec.spec.mechanism.support
    gap = support.p - support.q
    told = support.q + gap * SHARE
    error = (2 * told * (1 - told) / reports) ** 0.5 / gap
    normal = NormalDist()
    once = 1 - (1 - POWER) ** (1 / 7)
    return error * (normal.inv_cdf(1 - 0.025 / TESTS) + normal.inv_cdf(once))


def test_a_weekly_rhythm_raises_no_more_alarms_than_the_level_says(raised):
    """At the level of 5% the standard error of 100 series is 2.2 of them."""
    assert raised(3_000, 0.0) <= 5 + 3 * 2.2


def test_a_shift_raises_nearly_as_many_alarms_as_the_best_possible_test(raised):
    """Nine tenths of 80 are 72; the standard error is 4.5."""
    found = raised(3_000, detectable(3_000))
    assert 72 - 3 * 4.5 <= found <= 80 + 3 * 4.5
