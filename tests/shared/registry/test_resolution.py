"""The file's words become integer parameters, rounded toward privacy, or are refused."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from deniable_shared.errors import RegistryError
from deniable_shared.exact_bounds import SCALE
from tests.one_metric import problem_of, spec_of


def mechanism(fields: str):
    return spec_of(fields).mechanism


def test_without_a_mechanism_the_type_decides():
    assert mechanism('type = "boolean"\nepsilon = 1').name == "rr"
    assert (
        mechanism('type = "category"\nvalues = ["a", "b"]\ncomplete = true\nepsilon = 1').name
        == "grr"
    )
    assert mechanism('type = "string"\nepsilon = 1').name == "sketch"


def test_naming_the_default_changes_nothing():
    implied = mechanism('type = "string"\nepsilon = 1')
    assert mechanism('type = "string"\nepsilon = 1\nmechanism = "auto"') == implied
    assert mechanism('type = "string"\nepsilon = 1\nmechanism = { name = "sketch" }') == implied


def test_apples_sketch_is_the_one_over_symmetric_unary_encoding():
    apple = mechanism('type = "string"\nepsilon = 1\nmechanism = "cms"')
    assert apple.inner.name == "sue"
    assert apple == mechanism(
        'type = "string"\nepsilon = 1\nmechanism = { name = "sketch", inner = "sue" }'
    )


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "1.0", "2.5", "8"])
@pytest.mark.parametrize(
    "fields",
    [
        'type = "boolean"',
        'type = "category"\nvalues = ["a", "b", "c"]\ncomplete = true',
        'type = "string"',
    ],
)
def test_the_declared_epsilon_is_never_exceeded_and_hardly_missed(fields, epsilon):
    exact = mechanism(f"{fields}\nepsilon = {epsilon}").epsilon
    assert float(epsilon) - 1e-3 < exact <= float(epsilon) + 1e-14


def test_a_sketch_grows_with_the_devices_that_are_expected():
    few = mechanism('type = "string"\nepsilon = 2\nexpected_devices = 1000')
    many = mechanism('type = "string"\nepsilon = 2\nexpected_devices = 10_000_000_000')
    assert few.rows == 64
    assert many.rows * many.buckets <= 1 << 23
    assert few.buckets == many.buckets >= 1024


MEMOIZED = 'type = "string"\nepsilon = 1\nrepeat = "memoize"\nepsilon_permanent = 2\n'


def test_a_memoised_sketch_is_the_same_for_any_number_of_devices():
    """Or an edit of `expected_devices` would have permanent answers drawn anew."""
    for devices in (1, 10_000, 10_000_000_000):
        chosen = mechanism(f"{MEMOIZED}expected_devices = {devices}")
        assert (chosen.rows, chosen.buckets, chosen.inner.name) == (64, 32, "losue")
    stated = mechanism(MEMOIZED + 'mechanism = { name = "auto", buckets = 64 }')
    assert (stated.rows, stated.buckets) == (64, 64)


def test_a_named_mechanism_is_what_it_always_was():
    for options in ('"sketch"', '{ name = "sketch", inner = "losue" }'):
        named = spec_of(f"{MEMOIZED}mechanism = {options}")
        assert (named.mechanism.rows, named.mechanism.buckets, named.every) == (64, 1_024, "day")


@pytest.mark.parametrize(
    ("fields", "every"),
    [
        (MEMOIZED, "week"),
        (f'{MEMOIZED}mechanism = "auto"\n', "week"),
        (f'{MEMOIZED}mechanism = "loloha"\n', "day"),
        (f'{MEMOIZED}every = "day"\n', "day"),
        ('type = "boolean"\nepsilon = 1\nrepeat = "memoize"\nepsilon_permanent = 2\n', "week"),
        ('type = "boolean"\nepsilon = 1\n', "day"),
    ],
)
def test_memoised_metrics_report_weekly_where_the_file_leaves_all_to_the_planner(fields, every):
    assert spec_of(fields).every == every


def test_a_sketchs_shape_can_be_chosen():
    chosen = mechanism(
        'type = "string"\nepsilon = 2\nmechanism = { name = "cms", rows = 100, buckets = 256 }'
    )
    assert (chosen.rows, chosen.buckets) == (100, 256)


def test_rappor_without_probabilities_meets_both_epsilons():
    chosen = mechanism(
        'type = "string"\nrepeat = "memoize"\nepsilon = 1\nepsilon_permanent = 3\n'
        'mechanism = { name = "rappor", bits = 64, hashes = 1, cohorts = 8 }'
    )
    assert (chosen.bits, chosen.hashes, chosen.cohorts) == (64, 1, 8)
    assert 1 - 1e-3 < chosen.epsilon <= 1
    assert 3 - 1e-3 < chosen.epsilon_permanent <= 3


def test_rappors_probabilities_are_quantised_toward_privacy():
    chosen = mechanism(
        'type = "string"\nrepeat = "memoize"\nepsilon = 3\nepsilon_permanent = 7\n'
        'mechanism = { name = "rappor", f = 0.3, p = 0.3, q = 0.7 }'
    )
    assert chosen.flip >= Fraction(3, 20) * SCALE > chosen.flip - 1
    assert chosen.p >= Fraction(3, 10) * SCALE > chosen.p - 1
    assert chosen.q <= Fraction(7, 10) * SCALE < chosen.q + 1


@pytest.mark.parametrize("p", ["0.1", "0.25", "0.3", "0.5"])
def test_the_epsilon_that_a_message_asks_for_is_enough(p):
    fields = (
        'type = "string"\nrepeat = "memoize"\nepsilon = {}\nepsilon_permanent = 4.4\n'
        f'mechanism = {{{{ name = "rappor", f = 0.5, p = {p}, q = 0.75 }}}}'
    )
    pattern = r"epsilon must be at least (\S+), which f, p and q give, got 0\.5"
    enough = re.fullmatch(pattern, problem_of(fields.format(0.5)))[1]
    assert mechanism(fields.format(enough)).epsilon <= float(enough)


RAPPOR = 'type = "string"\nrepeat = "memoize"\nepsilon = 2\nepsilon_permanent = 4\n'


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            'type = "boolean"\nepsilon = 1\nmechanism = "grr"',
            "mechanism must be one of auto, rr for boolean, got 'grr'",
        ),
        (
            'type = "string"\nepsilon = 1\nmechanism = "laplace"',
            "mechanism must be one of auto, cms, hcms, sketch for string, got 'laplace'",
        ),
        (
            'type = "boolean"\nepsilon = 1\nepsilon_permanent = 2',
            'epsilon_permanent must be left out, unless repeat = "memoize", got 2.0',
        ),
        (
            'type = "string"\nepsilon = 1\nmechanism = "rappor"',
            "repeat must be \"memoize\" for rappor, got 'fresh'",
        ),
        (
            'type = "string"\nepsilon = 1\nrepeat = "memoize"\nmechanism = "sue"',
            "mechanism must be one of auto, loloha, rappor, sketch for string, got 'sue'",
        ),
        (
            'type = "string"\nepsilon = 1\nrepeat = "memoize"\nmechanism = "rappor"',
            'epsilon_permanent must be a number with repeat = "memoize", got nothing',
        ),
        (
            'type = "boolean"\nepsilon = 1\nepsilon_permanent = 2\n'
            'repeat = "memoize"\nmechanism = "rr"',
            "repeat must be \"fresh\", or left out, for rr, got 'memoize'",
        ),
        (
            'type = "string"\nepsilon = 3\nepsilon_permanent = 3\n'
            'repeat = "memoize"\nmechanism = "rappor"',
            "epsilon must be below epsilon_permanent, got 3.0",
        ),
        (
            'type = "boolean"\nepsilon = 1\nmechanism = 3',
            'mechanism must be a name, or a table such as { name = "cms", rows = 64 }, got 3',
        ),
        (
            'type = "boolean"\nepsilon = 1\nmechanism = { rows = 3 }',
            "mechanism must be a name, or a table such as"
            ' { name = "cms", rows = 64 }, got {rows = 3}',
        ),
        (
            'type = "boolean"\nepsilon = 1\nmechanism = { name = "rr", rows = 3 }',
            "mechanism.rows must be left out: no such field, got 3",
        ),
        (
            'type = "string"\nepsilon = 1\nmechanism = { name = "cms", rows = 65537 }',
            "mechanism.rows must be an integer in [1, 65536], got 65537",
        ),
        (
            'type = "string"\nepsilon = 1\nmechanism = { name = "cms", rows = 64.0 }',
            "mechanism.rows must be an integer in [1, 65536], got 64.0",
        ),
        (
            'type = "string"\nepsilon = 1\n'
            'mechanism = { name = "cms", rows = 4096, buckets = 4096 }',
            "mechanism.rows must be at most 2048, got 4096",
        ),
        (
            'type = "string"\nepsilon = 1\n'
            'mechanism = { name = "sketch", inner = "grr", buckets = 4096 }',
            "mechanism.buckets must be an integer in [2, 1024], got 4096",
        ),
        (
            RAPPOR + 'mechanism = { name = "rappor", bits = 12 }',
            "mechanism.bits must be a multiple of 8, got 12",
        ),
        (
            RAPPOR + 'mechanism = { name = "rappor", hashes = 9 }',
            "mechanism.hashes must be an integer in [1, 8], got 9",
        ),
        (
            RAPPOR + 'mechanism = { name = "rappor", f = 0.5 }',
            "mechanism must be given all of f, p and q, or none of them, got ['f']",
        ),
        (
            RAPPOR + 'mechanism = { name = "rappor", f = 0.5, p = 0.6, q = 0.6 }',
            "mechanism must be such that 0 < f < 1 and p < q, got {f = 0.5, p = 0.6, q = 0.6}",
        ),
        (
            RAPPOR + 'mechanism = { name = "rappor", f = 0.0, p = 0.5, q = 0.6 }',
            "mechanism must be such that 0 < f < 1 and p < q, got {f = 0.0, p = 0.5, q = 0.6}",
        ),
        (
            RAPPOR + 'mechanism = { name = "rappor", f = 0.1, p = 0.5, q = 0.51 }',
            "epsilon_permanent must be at least 11.777756, which f, p and q give, got 4.0",
        ),
    ],
)
def test_a_choice_that_cannot_be_met_is_refused_by_its_field(fields, expected):
    assert problem_of(fields) == expected


def test_a_nan_probability_is_refused():
    fields = RAPPOR + 'mechanism = { name = "rappor", f = nan, p = 0.5, q = 0.6 }'
    with pytest.raises(RegistryError, match=r"mechanism\.f must be a number in \[0, 1\], got NaN"):
        spec_of(fields)
