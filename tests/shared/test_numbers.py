"""Numbers are clamped, and stand in their range exactly where their last digit says."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared import numbers, registry
from deniable_shared.errors import DomainError, ParameterError, RegistryError
from deniable_shared.mechanisms import DiscreteGaussian, OneBitMean
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION
from deniable_shared.spec import Spec

FILE = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 40.0
[metrics.startup]
epsilon = 1.0
"""
NUMBER = 'type = "number"\nrange = [0.0, 30.5]\n'
DISTRIBUTION = 'type = "distribution"\nrange = [0, 60]\n'

bounded = st.floats(-1e6, 1e6)
ends = st.tuples(bounded, bounded).map(lambda two: (Fraction(min(two)), Fraction(max(two))))
ends = ends.filter(lambda two: two[0] < two[1])


def spec(fields):
    return registry.parse(FILE + fields).metrics["startup"].spec


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(), ends)
def test_a_number_is_at_the_nearest_place_of_its_range(value, ends):
    low, high = ends
    inside = min(max(Fraction(value), low), high)
    exact = (inside - low) / (high - low) * RESOLUTION
    assert abs(numbers.nearest_place(value, ends) - exact) <= Fraction(1, 2)


@given(st.floats(allow_nan=False, allow_infinity=False), ends, st.integers(2, 1024))
def test_a_number_falls_into_the_bin_whose_ends_surround_it(value, ends, bins):
    low, high = ends
    index = numbers.bin_index(value, ends, bins)
    inside = min(max(Fraction(value), low), high)
    left = low + (high - low) * index / bins
    right = low + (high - low) * (index + 1) / bins
    assert left <= inside < right or (index == bins - 1 and inside == high)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (0, 0),
        (-5, 0),
        (-1e308, 0),
        (5e-324, 0),
        (1, 34380),
        (15.25, RESOLUTION // 2),
        (30.5, RESOLUTION),
        (31, RESOLUTION),
        (10**400, RESOLUTION),
    ],
)
def test_values_beyond_the_range_count_as_its_ends(value, place):
    assert spec(NUMBER).encode(value) == place


@pytest.mark.parametrize(
    "value",
    [True, False, None, "12.5", b"1", math.nan, math.inf, -math.inf, 1j, [1.0], Fraction(1)],
)
@pytest.mark.parametrize("fields", [NUMBER, DISTRIBUTION])
def test_what_is_not_a_finite_number_is_refused_without_being_repeated(value, fields):
    with pytest.raises(DomainError) as caught:
        spec(fields).encode(value)
    assert str(caught.value) == (
        "startup takes a finite number; of a timedelta pass its total_seconds()"
    )
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_the_range_is_part_of_the_digest_and_equal_ranges_have_one_form():
    same = spec(NUMBER.replace("[0.0, 30.5]", "[0, 30.50]"))
    assert spec(NUMBER).digest == same.digest
    assert spec(NUMBER).canonical()["range"] == ["0", "61/2"]
    assert spec(NUMBER.replace("30.5", "30.6")).digest != same.digest
    assert spec(DISTRIBUTION).digest != spec(DISTRIBUTION + "bins = 31\n").digest
    assert spec(DISTRIBUTION).digest == spec(DISTRIBUTION + "bins = 32\n").digest


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (NUMBER, "hybrid"),
        (NUMBER + 'mechanism = "auto"', "hybrid"),
        (NUMBER + 'mechanism = "duchi"', "duchi"),
        (NUMBER + 'mechanism = "piecewise"', "piecewise"),
        (NUMBER + 'mechanism = "hybrid"', "hybrid"),
        (NUMBER + 'mechanism = "laplace"', "laplace"),
        (NUMBER + 'delta = 1e-6\nmechanism = "gaussian"', "gaussian"),
        (DISTRIBUTION, "sw"),
        (DISTRIBUTION + 'mechanism = { name = "dbitflip", buckets = 4 }', "dbitflip"),
    ],
)
def test_a_registry_names_its_mechanism_or_leaves_it_to_the_planner(fields, name):
    found = spec(fields)
    assert found.mechanism.name == name
    assert 0.99 < found.mechanism.epsilon <= 1
    assert Spec.from_canonical(found.canonical()) == found
    assert (found.mechanism.delta > 0) == (name == "gaussian")


MEMOIZE = 'repeat = "memoize"\nepsilon_permanent = 2\n'


@pytest.mark.parametrize(
    ("fields", "name", "shape"),
    [
        (NUMBER, "lduchi", {"steps": 1}),
        (NUMBER + 'mechanism = "auto"', "lduchi", {"steps": 1}),
        (NUMBER + 'mechanism = { name = "lduchi", steps = 4 }', "lduchi", {"steps": 4}),
        (DISTRIBUTION, "ldbitflip", {"size": 32, "buckets": 1}),
        (DISTRIBUTION + "bins = 2\n", "ldbitflip", {"size": 2, "buckets": 1}),
        (
            DISTRIBUTION + 'bins = 8\nmechanism = { name = "ldbitflip", buckets = 4 }',
            "ldbitflip",
            {"size": 8, "buckets": 4},
        ),
    ],
)
def test_numbers_are_memoised_by_one_bit_unless_more_is_asked_for(fields, name, shape):
    found = spec(MEMOIZE + fields)
    assert found.mechanism.name == name
    assert shape.items() <= found.mechanism.parameters().items()
    assert 0.99 < found.mechanism.epsilon <= 1
    assert 1.99 < found.mechanism.epsilon_permanent <= 2
    assert found.mechanism.epsilon_total >= found.mechanism.epsilon_permanent
    assert Spec.from_canonical(found.canonical()) == found


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            NUMBER + 'mechanism = { name = "lduchi", steps = 3 }',
            "mechanism.steps must be a power of two, got 3",
        ),
        (
            NUMBER + 'mechanism = { name = "lduchi", steps = 512 }',
            "mechanism.steps must be an integer in [1, 256], got 512",
        ),
        (
            NUMBER + 'mechanism = { name = "lduchi", buckets = 2 }',
            "mechanism.buckets must be left out",
        ),
        (
            DISTRIBUTION + 'mechanism = { name = "ldbitflip", buckets = 33 }',
            "mechanism.buckets must be an integer in [1, 32], got 33",
        ),
        (NUMBER + 'mechanism = "duchi"', 'repeat must be "fresh"'),
        (DISTRIBUTION + 'mechanism = "sw"', 'repeat must be "fresh"'),
        (DISTRIBUTION + 'mechanism = "lduchi"', "mechanism must be one of auto, ldbitflip"),
    ],
)
def test_problems_of_a_memoised_number_are_named(fields, expected):
    with pytest.raises(RegistryError) as caught:
        spec(MEMOIZE + fields)
    assert expected in str(caught.value)


def test_one_report_of_a_number_may_cost_as_much_as_all_but_not_more():
    same = FILE + NUMBER + 'repeat = "memoize"\nepsilon_permanent = 1.0\n'
    assert registry.parse(same).metrics["startup"].spec.mechanism.flip == 0
    with pytest.raises(RegistryError, match=r"epsilon must be at most epsilon_permanent, got 1\.0"):
        registry.parse(same.replace("epsilon_permanent = 1.0", "epsilon_permanent = 0.9"))
    with pytest.raises(RegistryError, match='repeat must be "memoize" for lduchi'):
        spec(NUMBER + 'mechanism = "lduchi"')


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ('type = "number"', "range must be two numbers of at most 40 digits and below 1e30, the"),
        ('type = "number"\nrange = [1, 1]', "the lower one first, got [1, 1]"),
        ('type = "number"\nrange = [0, nan]', "the lower one first, got [0, NaN]"),
        ('type = "number"\nrange = [2.50, 2.50]', "the lower one first, got [2.50, 2.50]"),
        ('type = "number"\nrange = {low = 1.5}', "the lower one first, got {low = 1.5}"),
        ('type = "number"\nrange = [2026-01-31]', "the lower one first, got [2026-01-31]"),
        ('type = "number"\nrange = [0, inf]', "the lower one first"),
        ('type = "number"\nrange = [0, 1, 2]', "the lower one first"),
        ('type = "number"\nrange = [false, true]', "the lower one first"),
        ('type = "number"\nrange = [0, 1e999999999]', "the lower one first"),
        (NUMBER + "bins = 3", "bins must be left out: no such field, got 3"),
        (DISTRIBUTION + "bins = 1", "bins must be an integer in [2, 256], got 1"),
        (NUMBER + "delta = 1e-6", "delta must be given for gaussian, and left out for all others"),
        (NUMBER + 'mechanism = "gaussian"', "delta must be given for gaussian"),
        (NUMBER + "delta = 1e-4", "delta must be a number in [1e-12, 1e-05], got 0.0001"),
        ('type = "boolean"\ndelta = 1e-6', "delta must be left out: only gaussian has one"),
        ('type = "boolean"\nrange = [0, 1]', "range must be left out: no such field"),
        (NUMBER + 'mechanism = "sw"', "mechanism must be one of auto, duchi, gaussian, hybrid"),
        (DISTRIBUTION + 'mechanism = "duchi"', "mechanism must be one of auto, dbitflip, sw"),
        (
            DISTRIBUTION + 'mechanism = { name = "dbitflip", buckets = 33 }',
            "mechanism.buckets must be an integer in [1, 32], got 33",
        ),
        (NUMBER + "epsilon_permanent = 2.0", "epsilon_permanent must be left out"),
    ],
)
def test_problems_of_a_number_are_named(fields, expected):
    with pytest.raises(RegistryError) as caught:
        spec(fields)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "ends", [None, [], ["0"], [0, 1], ["0", "2/2"], ["1", "0"], ["0", "1/0"], ["0", "1e9"], "01"]
)
def test_a_range_in_any_other_form_is_refused(ends):
    data = spec(NUMBER).canonical()
    with pytest.raises(ParameterError):
        Spec.from_canonical({**data, "range": ends})


def test_a_range_belongs_to_numbers_only():
    data = spec('type = "boolean"').canonical()
    with pytest.raises(ParameterError, match="range must be given for number and distribution"):
        Spec.from_canonical({**data, "range": ["0", "1"]})
    data = spec(NUMBER).canonical()
    del data["range"]
    with pytest.raises(ParameterError, match="range must be given"):
        Spec.from_canonical(data)


def test_no_spec_is_above_the_ceiling_of_delta_whatever_its_file_said():
    weak = DiscreteGaussian(steps=10, noise=100, nanonats=10**9)
    with pytest.raises(ParameterError, match="delta must be at most 1e-05"):
        Spec("a", "b", "number", (), None, weak, "day", range=(Fraction(0), Fraction(1)))


def test_one_bit_is_never_surer_than_epsilon_allows_whatever_the_place():
    mechanism = OneBitMean.for_epsilon(Fraction("0.5"))
    weights = [mechanism.weight(place) for place in range(0, RESOLUTION + 1, 1024)]
    assert weights == sorted(weights)
    assert (weights[0], weights[-1]) == (mechanism.flip, (1 << 32) - mechanism.flip)
