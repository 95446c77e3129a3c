"""Findings about what goes through a relay, and what a crowd makes of an epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable_aggregator.counting.composition import shuffled_losses
from deniable_shared.planning.crowds import epsilon_among
from deniable_shared.review.reviewing import review
from deniable_shared.sealing import PrivateKey
from tests.shared.review.registries import FLAG, MEMOIZED, category, registry

OF_RELAYS = {"daily-relay", "many-keys", "memoized-relay", "no-crowd"}
KEY, OTHER = (PrivateKey.generate().public.text for _ in range(2))


def relay(key=KEY, more=""):
    return f'relay = {{ url = "https://relay.example.org", key = "{key}"{more} }}\n'


def found(*metrics, top, **options):
    reviewed = review(registry(*metrics, top=top), **options)
    return {each.code: each for each in reviewed.findings}


def test_without_a_relay_there_is_no_finding_about_one():
    metrics = ("big", category(4, "expected_devices = 100\n", epsilon=5)), ("kept", FLAG + MEMOIZED)
    assert not set(found(*metrics, top="")) & OF_RELAYS
    assert set(found(*metrics, top=relay())) & OF_RELAYS == {"memoized-relay", "no-crowd"}


@pytest.mark.parametrize(
    ("devices", "epsilon", "is_found"),
    [(9_999, 4, True), (10_000, 4, False), (9_999, 2.1, True), (9_999, 2, False)],
)
def test_few_devices_are_no_crowd_for_a_large_epsilon(devices, epsilon, is_found):
    metric = category(4, f"expected_devices = {devices}\n", epsilon=epsilon)
    findings = found(("m", metric), top=relay())
    assert ("no-crowd" in findings) is is_found
    if is_found:
        assert "honest devices report in each period" in findings["no-crowd"].reason


def test_a_large_epsilon_is_said_with_what_the_relay_makes_of_it():
    metric = ("m", category(4, "expected_devices = 1_000_000\n", epsilon=5))
    alone = found(metric, top="")["large-epsilon"].reason
    behind = found(metric, top=relay())["large-epsilon"].reason
    assert behind.startswith(f"{alone}; to everybody but relay and aggregator together it is at ")
    assert "if 500,000 honest devices report in each period" in behind
    printed = float(behind.partition("at most ")[2].partition(" ")[0])
    assert epsilon_among(5.0, 500_000) <= printed < epsilon_among(5.0, 500_000) * 1.001


def test_a_relay_that_closes_each_day_is_found():
    assert "daily-relay" in found(("m", FLAG), top=relay(more=', every = "day"'))
    assert "daily-relay" not in found(("m", FLAG), top=relay())


def test_another_key_is_found_beside_the_registry_of_before():
    before = registry(("m", FLAG), top=relay(OTHER))
    assert "many-keys" in found(("m", FLAG), top=relay(), before=before)
    assert "many-keys" not in found(("m", FLAG), top=relay(OTHER), before=before)
    assert "many-keys" not in found(("m", FLAG), top="", before=before)


def test_findings_about_a_relay_can_be_ignored():
    top = relay(more=', every = "day"') + 'ignore = ["daily-relay", "memoized-relay"]\n'
    assert not set(found(("m", FLAG + MEMOIZED), top=top)) & OF_RELAYS


@pytest.mark.parametrize("reports", [1_000, 5_000, 10_000, 100_000])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_what_is_said_of_a_crowd_is_a_bound_on_the_exact_figure(epsilon, reports):
    losses = shuffled_losses(epsilon, reports)

    def delta(central):
        beyond = np.maximum(0.0, -np.expm1(central - losses.losses))
        return float((losses.weights * beyond).sum()) + losses.infinite

    said = epsilon_among(epsilon, reports)
    assert said <= epsilon
    if said < epsilon:
        assert delta(said) <= 1e-8
        # And it is no more than half as much again where there is a crowd.
        if reports * math.exp(-epsilon) > 180:
            assert delta(said / 1.5) > 1e-8


def test_more_reports_never_hide_less():
    central = [epsilon_among(4.0, 10**power) for power in range(8)]
    assert central == sorted(central, reverse=True)
    assert central[0] == 4.0
    assert epsilon_among(4.0, 1) == 4.0
