"""The methods of a notebook are those of the table of questions."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import deniable_analysis as da
from tools.notebook_stub import text

STORED = Path(__file__).parents[2] / "analysis" / "deniable_analysis" / "methods.pyi"


def test_the_types_that_editors_read_are_those_of_the_table():
    assert STORED.read_text(encoding="utf-8") == text(), (
        "python -m tools.notebook_stub > analysis/deniable_analysis/methods.pyi"
    )


@pytest.mark.parametrize(
    ("method", "first", "names"),
    [
        (da.Metric.estimate, "since", {"days", "top", "quantile", "candidates", "range"}),
        (da.Metric.change, "before", {"after", "value", "top"}),
        (da.Metric.discover, "since", {"hints", "deny", "progress"}),
        (da.Project.health, "since", {"days", "without_key"}),
        (da.Project.estimates, "since", {"period", "metric", "measure"}),
    ],
)
def test_help_in_a_notebook_names_every_argument_and_says_what_it_is(method, first, names):
    told = inspect.signature(method).parameters
    assert [*told][:2] == ["self", first]
    assert names <= set(told)
    assert all(f"    {name}: " in inspect.getdoc(method) for name in [*told][1:])
