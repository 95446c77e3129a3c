"""Published numbers are rounded to what their intervals support, and still cover."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.publication.rounding import (
    format_number,
    format_upper_bound,
    round_outward,
    unit_of,
)

numbers = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("half_width", "unit"),
    [
        (0.0152, "0.005"),
        (0.01, "0.005"),
        (0.0099, "0.002"),
        (0.004, "0.002"),
        (0.0039, "0.001"),
        (311, "100"),
        (400, "200"),
        (1_000, "500"),
        (0.0, "0"),
    ],
)
def test_the_unit_is_the_largest_that_is_at_most_half_of_the_half_width(half_width, unit):
    assert unit_of(half_width) == Fraction(unit)


@given(numbers, numbers, numbers)
def test_a_rounded_interval_holds_the_one_that_was_computed(estimate, one, other):
    low, high = min(one, other), max(one, other)
    found = round_outward(estimate, low, high)
    assert found.low <= low <= high <= found.high
    if not found.unit:
        assert low == high
        return
    assert found.high - found.low <= (high - low) + 2 * found.unit * (1 + 1e-9)
    assert abs(found.estimate - estimate) <= found.unit / 2 * (1 + 1e-9)
    assert found.unit <= (high - low) / 4 * (1 + 1e-9)


def test_numbers_are_rounded_as_they_are_written():
    found = round_outward(0.17349, 0.1583, 0.1887)
    assert (found.estimate, found.low, found.high, found.unit) == (0.175, 0.155, 0.19, 0.005)
    texts = [format_number(each, found.unit, percent=True) for each in (0.175, 0.155, 0.19)]
    assert texts == ["17.5%", "15.5%", "19.0%"]
    count = round_outward(12_345.0, 11_900.0, 12_790.0)
    assert format_number(count.estimate, count.unit) == "12,400"
    assert format_number(18_600.0, 0.0) == "18,600"
    assert format_number(round_outward(-0.0001, -0.3, 0.3).estimate, 0.1) == "0.0"


@pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (math.nan, 1.0), (0.0, math.inf)])
def test_an_interval_must_have_its_ends_in_order(low, high):
    with pytest.raises(ValueError, match="finite and in their order"):
        round_outward(0.5, low, high)


def test_a_bound_is_rounded_up():
    assert [format_upper_bound(each) for each in (0.0, 1.23, 0.061, 130.0, 2.0)] == [
        "0", "1.3", "0.065", "130", "2.0",
    ]  # fmt: skip
