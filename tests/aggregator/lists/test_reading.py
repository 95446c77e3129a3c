"""Values that were typed, pasted or uploaded."""

from __future__ import annotations

import pytest

from deniable_aggregator.answers.lists.reading import checked_values, read_values
from deniable_shared.errors import ParameterError


def test_each_line_is_a_value_and_each_value_is_read_once():
    """Characters that only some programs take for ends of lines are part of a value."""
    assert read_values(b"\xef\xbb\xbfa\r\nb\rc\n\n\na\n") == ("a", "b", "c")
    assert read_values("a\x0bb\x85c\u2028d") == ("a\x0bb\x85c\u2028d",)
    assert read_values("") == ()


@pytest.mark.parametrize(
    ("content", "named"),
    [("größe".encode("utf-16"), "UTF-16"), ("größe".encode("latin-1"), "byte 0xf6 at 2")],
)
def test_what_is_not_utf_8_is_refused_with_what_to_do(content, named):
    with pytest.raises(ParameterError, match=f"save the file as UTF-8, got '{named}'"):
        read_values(content)


def test_values_to_keep_are_in_one_form_of_unicode():
    assert checked_values(["é", "e\u0301", "Å", "\u212b"]) == ("é", "Å")


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
