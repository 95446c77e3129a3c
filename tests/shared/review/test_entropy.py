"""Bits, and who is alone with a value, beside figures computed independently."""

from __future__ import annotations

import math

import pytest

from deniable_shared.review.entropy import (
    binary_entropy,
    entropy,
    posterior,
    share_alone,
    share_alone_approximately,
    share_in_pairs,
    surprisal,
)


@pytest.mark.parametrize(
    ("probabilities", "bits"),
    [((0.5, 0.5), 1.0), ((1 / 365,) * 365, 8.51), ((0.75, 0.25), 0.811), ((1.0, 0.0), 0.0)],
)
def test_sex_a_birthday_and_a_flag_have_their_known_entropies(probabilities, bits):
    assert entropy(probabilities) == pytest.approx(bits, abs=0.005)


@pytest.mark.parametrize(("probability", "bits"), [(0.75, 0.415), (800 / 7.5e9, 23.16), (1.0, 0.0)])
def test_what_is_rare_tells_more(probability, bits):
    assert surprisal(probability) == pytest.approx(bits, abs=0.005)


@pytest.mark.parametrize(
    ("alone", "devices"), [(0.00027, 82_171), (0.0373, 32_888), (0.1595, 18_357), (0.8484, 1_644)]
)
def test_four_digits_of_a_telephone_number_leave_their_part_of_a_place_alone(alone, devices):
    """Texas, Ohio, Tennessee and Wyoming, among as many as share the rest of the number."""
    bits = math.log2(10_000)
    assert share_alone_approximately(devices, bits) == pytest.approx(alone, abs=5e-5)
    assert share_alone(devices, bits) == pytest.approx((1 - 1e-4) ** (devices - 1), rel=1e-9)
    assert share_alone(devices, bits) == pytest.approx(alone, rel=0.002, abs=1e-5)


def test_pairs_are_counted_in_people_of_whom_each_pair_has_two():
    bits = math.log2(10_000)
    assert share_in_pairs(1_644, bits) == pytest.approx(0.139, abs=5e-4)
    pairs_each = 1_643 / 2 * 1e-4 * (1 - 1e-4) ** 1_642
    assert share_in_pairs(1_644, bits) == pytest.approx(2 * pairs_each, rel=0.001)


def test_three_metrics_of_six_bits_leave_nearly_all_of_four_thousand_alone():
    """What a row, a cohort and a group of its own for each metric would show."""
    assert share_alone(4_000, 18) == pytest.approx(0.985, abs=5e-4)
    assert share_alone(4_000, 6) < 1e-25


def test_one_device_is_alone_and_devices_of_one_value_are_not():
    assert share_alone(1, 0) == 1
    assert share_alone(2, 0) == 0
    assert share_alone(10, 2_000) == 1


def warner(prior, part):
    """After a yes, where a part of the devices tells the truth and the others a fair coin."""
    return posterior(prior, (1 + part) / 2, (1 - part) / 2)


@pytest.mark.parametrize("prior", [0.01, 0.2, 0.366, 0.9])
def test_half_the_truth_and_half_a_coin_make_a_yes_3p_of_2p_and_1(prior):
    assert warner(prior, 0.5) == pytest.approx(3 * prior / (2 * prior + 1))


def test_a_yes_moves_a_guess_most_at_0_366():
    moved = {prior / 1_000: warner(prior / 1_000, 0.5) - prior / 1_000 for prior in range(1, 1_000)}
    prior = max(moved, key=moved.__getitem__)
    assert prior == 0.366
    assert warner(prior, 0.5) == pytest.approx(0.634, abs=5e-4)
    assert math.log2(warner(prior, 0.5) / prior) == pytest.approx(0.7925, abs=5e-4)
    told = binary_entropy(0.5 * prior + 0.25) - binary_entropy(0.25)
    assert told == pytest.approx(0.1757, abs=5e-5)
