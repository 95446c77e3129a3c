"""Which space projective geometry response takes, and what it refuses."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanism_choice import total_variance
from deniable_shared.mechanisms import ProjectiveGeometryResponse
from deniable_shared.mechanisms.oracles.pgr import MAX_POINTS, is_prime, points

GOOD = {"size": 100, "q": 5, "t": 4, "inside": SCALE // 2}


def space(size, epsilon):
    mechanism = ProjectiveGeometryResponse.for_epsilon(size, Fraction(epsilon))
    return mechanism.q, mechanism.t


@given(st.integers(2, 2_048), st.integers(10, 8_000))
def test_every_domain_fits_and_epsilon_is_never_above_the_declared_one(size, thousandths):
    epsilon = Fraction(thousandths, 1000)
    mechanism = ProjectiveGeometryResponse.for_epsilon(size, epsilon)
    assert size <= mechanism.outcomes <= 16 * size
    own = Fraction(mechanism.inside, SCALE * mechanism.hyperplane)
    other = Fraction(SCALE - mechanism.inside, SCALE * mechanism.outside)
    with localcontext(prec=60):
        limit = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        assert own / other <= Fraction(limit)
        assert own / other <= Fraction(Decimal(mechanism.epsilon).exp())
    assert float(epsilon) - 1e-5 < mechanism.epsilon <= float(epsilon)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_no_domain_is_larger_than_its_space(epsilon):
    for size in range(2, 300):
        mechanism = ProjectiveGeometryResponse.for_epsilon(size, Fraction(epsilon))
        assert points(mechanism.q, mechanism.t) == mechanism.outcomes >= size


@pytest.mark.parametrize(
    ("size", "epsilon", "expected"),
    [
        (2, "1", (2, 2)),
        (16, "1", (3, 4)),
        (256, "2", (7, 4)),
        (1_024, "0.5", (3, 7)),
        (1_024, "1", (3, 7)),
        (1_024, "2", (7, 5)),
        (1_024, "4", (53, 3)),
        (16_384, "5", (149, 3)),
        (65_536, "1", (3, 11)),
        (65_536, "4", (53, 4)),
    ],
)
def test_the_space_for_a_domain_never_changes(size, epsilon, expected):
    """It is part of a digest: another choice would be another metric."""
    assert space(size, epsilon) == expected


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
@pytest.mark.parametrize("size", [10, 64, 300, 1_024])
def test_no_space_of_up_to_sixteen_times_the_domain_has_less_variance(size, epsilon):
    chosen = total_variance(ProjectiveGeometryResponse.for_epsilon(size, Fraction(epsilon)))
    for q in filter(is_prime, range(2, 200)):
        for t in range(2, 15):
            if size <= points(q, t) <= 16 * size:
                rival = ProjectiveGeometryResponse.over_space(q, t, size, Fraction(epsilon))
                assert chosen <= total_variance(rival) * (1 + 1e-12)


@pytest.mark.parametrize("size", [256, 1_024, 4_096, 16_384, 65_536])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3", "4"])
def test_large_domains_are_within_a_few_percent_of_the_optimum(size, epsilon):
    """4 e^eps / (n (e^eps - 1)^2) per item."""
    odds = math.exp(float(epsilon))
    mechanism = ProjectiveGeometryResponse.for_epsilon(size, Fraction(epsilon))
    assert total_variance(mechanism) / size <= 1.04 * 4 * odds / (odds - 1) ** 2


def test_the_support_of_other_items_is_counted_over_the_whole_space():
    mechanism = ProjectiveGeometryResponse(**GOOD)
    own, line, everything = 31, 6, 156
    expected = (line / own + (own - line) / (everything - own)) / 2
    assert mechanism.outcomes == everything
    assert mechanism.support.p == 0.5
    assert mechanism.support.q == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *(("size", size) for size in (0, 1, 157, 65_537, 100.0, True)),
        *(("q", q) for q in (-5, 0, 1, 4, 9, 6, 1_763, MAX_POINTS, 5.0)),
        *(("t", t) for t in (-1, 0, 1, 3, 11, 23, 4.0)),
        *(("inside", inside) for inside in (0, -1, SCALE * 31 // 156, SCALE, SCALE + 1, 0.5)),
    ],
)
def test_impossible_parameters_are_refused(parameter, value):
    with pytest.raises(ParameterError, match=r"^pgr (size|q|t|inside) must be .*, got "):
        ProjectiveGeometryResponse(**{**GOOD, parameter: value})


@pytest.mark.parametrize("size", [-1, 0, 1, 65_537, True])
def test_a_domain_out_of_range_is_refused(size):
    with pytest.raises(ParameterError, match=r"^pgr size must be an integer in \[2, 65536\], got"):
        ProjectiveGeometryResponse.for_epsilon(size, Fraction(1))


def test_a_composite_order_is_named():
    with pytest.raises(ParameterError, match=r"^pgr q must be a prime, got 9$"):
        ProjectiveGeometryResponse(**{**GOOD, "q": 9})


def test_primes_are_told_from_composites():
    found = [number for number in range(60) if is_prime(number)]
    assert found == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59]
    assert is_prime(65_537)
    assert not is_prime(1_021 * 1_031)
