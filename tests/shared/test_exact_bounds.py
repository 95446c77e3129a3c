"""The bounds between epsilon and probabilities are bounds, and tight."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.exact_bounds import ceil_divide, exp_lower, float_upper, log_upper

DIGITS = 120
exponents = st.fractions(0, 1024, max_denominator=10**12)


def exp(exponent: Fraction) -> Fraction:
    """e^exponent, correct to more than 100 digits, by the decimal module."""
    with localcontext(prec=DIGITS):
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


def log(ratio: Fraction) -> Fraction:
    with localcontext(prec=DIGITS):
        return Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


# What the decimal module itself may be off by, far below what is asserted.
TINY = Fraction(1, 10**100)


@given(exponents)
def test_exp_lower_is_below_and_within_1e_30(exponent):
    exact = exp(exponent)
    bound = exp_lower(exponent)
    assert bound <= exact * (1 + TINY)
    assert bound >= exact * (1 - Fraction(1, 10**30))


@pytest.mark.parametrize(
    "exponent", [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(1024)]
)
def test_exp_lower_is_strictly_below_what_is_irrational(exponent):
    assert exp_lower(exponent) < exp(exponent)


def test_exp_lower_of_zero_is_one():
    assert exp_lower(Fraction(0)) == 1


@pytest.mark.parametrize("exponent", [Fraction(-1, 10**9), Fraction(-1), Fraction(1025), math.nan])
def test_exp_lower_refuses_what_it_is_not_made_for(exponent):
    with pytest.raises(ValueError, match=r"exponent must be in \[0, 1024\]"):
        exp_lower(exponent)


@given(st.fractions(1, 2**64, max_denominator=2**32))
def test_log_upper_is_never_below_and_hardly_above(ratio):
    exact = log(ratio)
    bound = Fraction(log_upper(ratio))
    assert bound >= exact - TINY
    assert bound <= exact + Fraction(1, 10**13)


@given(st.integers(1, 2**31 - 1), st.integers(1, 16))
def test_log_upper_holds_for_the_ratios_of_mechanisms(weight, power):
    ratio = Fraction(2**32 - weight, weight) ** power
    exact = log(ratio)
    bound = Fraction(log_upper(ratio))
    assert exact - TINY <= bound <= exact * (1 + Fraction(1, 10**13)) + Fraction(1, 10**13)


def test_log_upper_of_one_is_zero():
    assert log_upper(Fraction(1)) == 0.0


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(1, 2), Fraction(-3), math.nan])
def test_log_upper_refuses_ratios_below_one(ratio):
    with pytest.raises(ValueError, match="ratio must be at least 1"):
        log_upper(ratio)


@given(st.fractions(-100, 100), st.fractions(Fraction(1, 1000), 100))
def test_ceil_divide_is_the_smallest_integer_not_below(numerator, denominator):
    result = ceil_divide(numerator, denominator)
    assert (result - 1) * denominator < numerator <= result * denominator


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_a_fraction_is_never_above_its_float_and_hardly_below(numerator, denominator):
    value = Fraction(numerator, denominator)
    found = float_upper(value)
    assert Fraction(found) >= value
    assert Fraction(math.nextafter(found, 0)) < value
