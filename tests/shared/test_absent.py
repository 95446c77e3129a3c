"""Metrics that count absence: as a category, as false, or as a number."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from deniable_shared.errors import ParameterError
from deniable_shared.spec import Spec
from tests.one_metric import problem_of, spec_of

THEME = 'type = "category"\nvalues = ["light", "dark"]\nepsilon = 1\n'


@pytest.mark.parametrize(
    ("fields", "values", "other", "absent"),
    [
        ("complete = true", ("light", "dark"), None, None),
        ('absent = "none"', ("light", "dark", "none"), None, "none"),
        ('absent = "dark"', ("light", "dark"), None, "dark"),
        (
            'absent = "none"\nother = "rest"',
            ("light", "dark", "rest", "none"),
            "rest",
            "none",
        ),
        ('absent = "rest"\nother = "rest"', ("light", "dark", "rest"), "rest", "rest"),
        ('absent = "cafe\u0301"', ("light", "dark", "caf\u00e9"), None, "caf\u00e9"),
    ],
)
def test_absence_is_one_of_the_categories(fields, values, other, absent):
    spec = spec_of(THEME + fields)
    assert (spec.values, spec.other, spec.absent) == (values, other, absent)
    assert spec.mechanism.size == len(values)
    assert Spec.from_canonical(spec.canonical()) == spec
    assert ("absent" in spec.canonical()) == (absent is not None)


FLAG = 'type = "boolean"\nepsilon = 1\n'
COUNT = 'type = "number"\nrange = [0, 30.5]\nepsilon = 1\n'
BINS = 'type = "distribution"\nrange = [0, 30.5]\nepsilon = 1\n'
SEGMENT = 'segment = { name = "channel", values = ["stable"], other = "rest" }\n'


@pytest.mark.parametrize(
    ("fields", "absent", "canonical", "text", "as_recorded"),
    [
        (FLAG + "absent = false", False, False, "false", False),
        (FLAG + SEGMENT + "absent = false", False, False, "false", False),
        (COUNT + "absent = 0", Fraction(0), "0", "0", 0),
        (COUNT + "absent = 30.5", Fraction(61, 2), "61/2", "30.5", 30.5),
        (BINS + "absent = 1.1", Fraction(11, 10), "11/10", "1.1", 1.1),
    ],
)
def test_absence_of_a_flag_is_false_and_of_a_number_one_of_its_range(
    fields, absent, canonical, text, as_recorded
):
    spec = spec_of(fields)
    assert (spec.absent, spec.absent_text, spec.reports_absence) == (absent, text, True)
    assert type(spec.canonical()["absent"]) is type(canonical)
    assert spec.canonical()["absent"] == canonical
    assert spec.encode_absent() == spec.encode(as_recorded)
    again = Spec.from_canonical_text(spec.canonical_text())
    assert (again, again.digest) == (spec, spec.digest)
    without = spec_of("\n".join(line for line in fields.split("\n") if "absent" not in line))
    assert "absent" not in without.canonical()
    assert without.digest != spec.digest


def test_a_number_that_no_float_is_keeps_its_exact_place():
    spec = spec_of('type = "number"\nrange = [0, 3]\nepsilon = 1\nabsent = 0.1')
    assert spec.absent == Fraction(1, 10)
    assert spec.encode_absent() == round(Fraction(1, 30) * 2**20)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (FLAG + "absent = true", "absent must be false, got true"),
        (FLAG + "absent = 0", "absent must be false, got 0"),
        (FLAG + 'absent = "none"', "absent must be false, got 'none'"),
        (COUNT + "absent = -1", "absent must be a number of the range, got -1"),
        (COUNT + "absent = 30.51", "absent must be a number of the range, got 30.51"),
        (COUNT + "absent = nan", "absent must be a number of the range, got NaN"),
        (COUNT + "absent = true", "absent must be a number of the range, got true"),
        (BINS + 'absent = "0"', "absent must be a number of the range, got '0'"),
        (
            'type = "string"\nepsilon = 1\nabsent = "none"',
            "absent must be left out: no such field, got 'none'",
        ),
        (
            FLAG + 'absent = false\nsegment = { name = "c", values = ["a", "b"], complete = true }',
            "segment.other must be given, as absent has no segment, got nothing",
        ),
    ],
)
def test_any_other_absence_is_refused(fields, problem):
    assert problem_of(fields) == problem


@pytest.mark.parametrize(
    ("fields", "absent"),
    [(FLAG, True), (FLAG, "none"), (FLAG, 0), (COUNT, 0), (COUNT, Fraction(31)), (BINS, False)],
)
def test_a_spec_refuses_an_absence_that_is_no_value_of_it(fields, absent):
    with pytest.raises(ParameterError, match="absent must be"):
        replace(spec_of(fields), absent=absent)


@pytest.mark.parametrize("absent", [0, 1.5, "1.5", "2/4", "x", True, ["0"]])
def test_a_canonical_absence_of_a_number_is_a_reduced_fraction(absent):
    data = {**spec_of(COUNT).canonical(), "absent": absent}
    with pytest.raises(ParameterError):
        Spec.from_canonical(data)


def test_absence_outside_the_values_is_refused_in_a_spec():
    spec = spec_of(THEME + "complete = true")
    with pytest.raises(ParameterError, match="absent must be one of the values, got 'none'"):
        replace(spec, absent="none")
