"""Values that were typed, pasted or uploaded: one rule for all that reads a value a line."""

from __future__ import annotations

import pytest

from deniable_shared.errors import ParameterError
from deniable_shared.hashing import MAX_STRING_BYTES
from deniable_shared.value_lists import first_repeated, lines_of, notices, read_list


def test_each_line_is_a_value_and_each_value_is_read_once():
    """Characters that only some programs take for ends of lines are part of a value."""
    assert read_list(b"\xef\xbb\xbfa\r\nb\rc\n\n \t\na\n") == ("a", "b", "c")
    assert read_list("a\x0bb\x85c\u2028d") == ("a\x0bb\x85c\u2028d",)
    assert read_list("\ufeffa") == ("a",)
    assert read_list("") == ()


def test_both_forms_of_a_letter_are_one_value():
    assert read_list("caf\u00e9\ncafe\u0301\n\u212b\n\u00c5") == ("caf\u00e9", "\u00c5")


def test_a_value_is_taken_as_it_stands():
    """A device may hold any text, also one that begins with a sign of comments."""
    assert read_list('# dark\n dark \n"dark"\n*.pdf') == ("# dark", " dark ", '"dark"', "*.pdf")


def test_lines_keep_their_repetitions():
    assert lines_of("a\na\r\n\nb") == ["a", "a", "", "b"]


@pytest.mark.parametrize(
    ("content", "named"),
    [("größe".encode("utf-16"), "UTF-16"), ("a\ngröße".encode("latin-1"), "byte 0xf6 in line 2")],
)
def test_what_is_not_utf_8_is_refused_with_what_to_do(content, named):
    with pytest.raises(ParameterError, match=f"save the file as UTF-8, got '{named}'"):
        read_list(content)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("dark ", "1 value with white space at an end, such as 'dark '"),
        ("NaN\u00a0", "with white space at an end"),
        ("dark\t12", "with a tab, as before a count or another column"),
        ('"dark"', "in quotes, such as '\"dark\"'"),
        ("'dark'", "in quotes"),
        ("\ufeffdark", "with the mark of a file's beginning (BOM), such as '<U+FEFF>dark'"),
        ("a\x07b", "with control or invisible characters, such as 'a<U+0007>b'"),
        ("ß" * (MAX_STRING_BYTES // 2 + 1), "longer than a device can report, such as 'ßßß"),
    ],
)
def test_what_looks_mangled_is_pointed_out(value, told):
    (notice,) = notices(["light", value, "it's"])
    assert told in notice
    assert len(notice) < 200


@pytest.mark.parametrize("value", ["dark", "it's", '"', "a b", "ß" * (MAX_STRING_BYTES // 2), "🇩🇪"])
def test_what_devices_hold_is_not_pointed_out(value):
    assert notices([value]) == ()


def test_values_of_a_kind_are_counted_with_the_first_as_an_example():
    assert notices(["a ", "b", " c", '"d"']) == (
        "1 value in quotes, such as '\"d\"': taken as it stands.",
        "2 values with white space at an end, such as 'a ': taken as it stands.",
    )


@pytest.mark.parametrize(
    ("values", "repeated"),
    [
        ([], None),
        (["a", "b", "caf\u00e9"], None),
        (["a", "b", "a", "b"], "a"),
        (["caf\u00e9", "x", "cafe\u0301"], "cafe\u0301"),
        (["caf\u00e9", "caf\u00e9"], "caf\u00e9"),
        (["x" * 5_000, "x" * 5_001], None),
    ],
)
def test_the_first_value_that_a_list_has_twice_is_found_in_either_form_of_unicode(values, repeated):
    assert first_repeated(values) == repeated
