"""Values of lists that are kept."""

from __future__ import annotations

import pytest

from deniable_aggregator.answers.lists.reading import checked_values
from deniable_shared.errors import ParameterError


def test_values_to_keep_are_in_one_form_of_unicode():
    assert checked_values(["e\u0301", "\u212b"]) == ("é", "Å")
    with pytest.raises(ParameterError, match="values must be all different"):
        checked_values(["é", "e\u0301"])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([], "values must be at least one"),
        (["a", ""], "value 2 must be 1 to 1,000 characters long"),
        (["x" * 1_001], "value 1 must be 1 to 1,000 characters long, got '1,001 characters'"),
        (["a", "b", "c\x1b[31m"], r"value 3 must be without control.* \(character 2 is U\+001B"),
        (["user\u202etxt.exe"], r"character 5 is U\+202E"),
        (["zero\u200bwidth"], r"character 5 is U\+200B"),
    ],
)
def test_values_that_cannot_be_kept_are_named_by_their_line(values, told):
    with pytest.raises(ParameterError, match=told):
        checked_values(values)
