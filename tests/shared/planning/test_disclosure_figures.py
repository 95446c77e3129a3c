from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    OptimizedUnaryEncoding,
    RandomizedResponse,
)
from deniable_shared.planning.detection import (
    detectable_share,
    devices_to_detect,
    devices_to_detect_among,
)
from deniable_shared.planning.disclosure_figures import (
    bits_revealed,
    percent,
    posterior_from_even_odds,
)


def test_three_to_one_is_a_coin_that_lies_a_quarter_of_the_time():
    assert posterior_from_even_odds(math.log(3)) == pytest.approx(0.75)
    assert bits_revealed(math.log(2)) == pytest.approx(1.0)
    assert posterior_from_even_odds(0.0) == 0.5


@pytest.mark.parametrize(
    ("probability", "shown"),
    [
        (0.0, "0.0%"),
        (0.75, "75.0%"),
        (0.9999, "99.99%"),
        (1 - 1e-9, "99.9999999%"),
        (1.0, "100.0%"),
    ],
)
def test_only_certainty_reads_as_a_hundred_percent(probability, shown):
    assert percent(probability) == shown


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_so_many_devices_see_the_item_four_times_in_five(share):
    """20,000 populations: a power of 80% and a size of 5%, each within 2 points."""
    mechanism = GeneralizedRandomizedResponse.for_epsilon(4, Fraction(1))
    devices = devices_to_detect(mechanism, share)
    support, generator = mechanism.support, np.random.default_rng(2)
    holders = round(share * devices)
    error = math.sqrt(mechanism.variance(0.0, devices))

    def found(own):
        counts = generator.binomial(own, support.p, 20_000)
        counts += generator.binomial(devices - own, support.q, 20_000)
        return (support.share(counts, devices) > 1.6449 * error).mean()

    assert found(holders) == pytest.approx(0.80, abs=0.02)
    assert found(0) == pytest.approx(0.05, abs=0.02)


def test_more_privacy_needs_more_devices():
    few, many = (
        devices_to_detect(RandomizedResponse.for_epsilon(2, Fraction(epsilon)), 0.01)
        for epsilon in ("2", "0.5")
    )
    assert few < many / 10


@pytest.mark.parametrize(
    ("epsilon", "share", "devices"),
    [
        ("0.5", 0.1, 9_710),
        ("0.5", 0.01, 969_065),
        ("1", 0.1, 2_298),
        ("1", 0.01, 227_894),
        ("4", 0.001, 472_098),
    ],
)
def test_optimal_mechanisms_need_the_devices_of_the_published_table(epsilon, share, devices):
    oue = OptimizedUnaryEncoding.for_epsilon(1_024, Fraction(epsilon))
    assert devices_to_detect(oue, share) == pytest.approx(devices, rel=1e-4)
    assert devices_to_detect_among(oue, share) == pytest.approx(devices, rel=1e-4)


@pytest.mark.parametrize("asked", [1, 50])
def test_the_visible_share_is_the_smallest_that_so_many_devices_see(asked):
    oue = OptimizedUnaryEncoding.for_epsilon(50, Fraction(1))
    share = detectable_share(oue, 100_000, asked)
    assert devices_to_detect_among(oue, share, asked) <= 100_000
    assert devices_to_detect_among(oue, share * 0.999, asked) > 100_000


def test_the_rarer_a_value_is_among_many_the_more_devices_it_needs():
    oue = OptimizedUnaryEncoding.for_epsilon(1_024, Fraction(1))
    needed = [devices_to_detect_among(oue, 0.05, asked) for asked in (1, 10, 100, 1_000, 100_000)]
    assert needed == sorted(needed)


def test_too_few_devices_see_nothing_at_all():
    assert detectable_share(OptimizedUnaryEncoding.for_epsilon(50, Fraction("0.1")), 10) is None
