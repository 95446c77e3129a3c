from __future__ import annotations

import math

import pytest

from deniable_shared.planning.upper_bounds import upper_decimals, upper_percent, upper_power


@pytest.mark.parametrize(
    ("bound", "decimals", "shown"),
    [
        (10.2411, 1, "10.3"),
        (1.4427, 2, "1.45"),
        (1.0, 2, "1.00"),
        (3.0000000000000004, 2, "3.00"),
        (0.1 + 0.2, 1, "0.3"),
        (1234.001, 1, "1,234.1"),
        (0.0, 1, "0.0"),
    ],
)
def test_a_bound_is_rounded_up_to_its_decimals(bound, decimals, shown):
    assert upper_decimals(bound, decimals) == shown


@pytest.mark.parametrize(
    ("probability", "shown"),
    [
        (0.5, "50.00%"),
        (0.57, "57.00%"),
        (1 / (1 + math.exp(-1)), "73.11%"),
        (1 / (1 + math.exp(-0.3)), "57.45%"),
        (0.99991, "99.991%"),
        (1 - 1e-9, "99.9999999%"),
        (1 - 2**-53, "99.99999999999999%"),
        (1.0, "100.00%"),
    ],
)
def test_a_probability_is_rounded_up_but_not_to_certainty(probability, shown):
    assert upper_percent(probability) == shown


@pytest.mark.parametrize(
    ("bound", "shown"),
    [
        (1.0004e-5, "1.01e-5"),
        (1e-6, "1e-6"),
        (53 * 1e-6, "5.3e-5"),
        (0.000365, "0.000365"),
        (0.0, "0"),
    ],
)
def test_a_small_bound_is_rounded_up_to_three_digits(bound, shown):
    assert upper_power(bound) == shown
