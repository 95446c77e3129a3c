"""Metrics that count absence as a category."""

from __future__ import annotations

from dataclasses import replace

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


def test_only_a_category_can_count_absence():
    problem = problem_of('type = "boolean"\nepsilon = 1\nabsent = "none"')
    assert problem.startswith("absent must be left out: no such field")


def test_absence_outside_the_values_is_refused_in_a_spec():
    spec = spec_of(THEME + "complete = true")
    with pytest.raises(ParameterError, match="absent must be one of the values, got 'none'"):
        replace(spec, absent="none")
