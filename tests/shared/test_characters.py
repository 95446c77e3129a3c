from __future__ import annotations

import json
import re
import unicodedata

import pytest

from deniable_shared.characters import visible, visible_constraint, visible_json, visible_lines

REFUSED = [
    "\x00", "\t", "\n", "\r", "\x1b", "\x7f", "\x85", "\x9b",  # controls
    "\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069",  # direction
    "\u2028", "\u2029",  # ends of lines and paragraphs
    "\xad", "\u200b", "\u2060", "\u3164", "\ufeff",  # invisible
    "\ud800", "\udfff", "\ufdd0", "\ufffe", "\U0001ffff", "\U0010ffff",  # no characters
]  # fmt: skip
WRITTEN = [
    "plain",
    "Zürich",
    "日本語",
    "עברית",
    "العربية",
    "می\u200cخواهم",  # Persian, with a zero-width non-joiner
    "👩\u200d🚀",  # an astronaut: two emoji and a joiner
    "❤\ufe0f",  # a variation selector
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # a flag
    "a\u00a0b",
]


@pytest.mark.parametrize("character", REFUSED, ids=lambda each: f"U+{ord(each):04X}")
def test_what_acts_on_a_reader_unseen_is_refused_by_its_name_and_place(character):
    text = f"dark{character}mode"
    name = f"U+{ord(character):04X}"
    assert f"(character 5 is {name})" in visible_constraint(text)
    assert visible(text) == f"dark<{name}>mode"
    assert visible_constraint(visible(text)) is None


@pytest.mark.parametrize("text", WRITTEN, ids=ascii)
def test_what_people_write_is_left_alone(text):
    assert visible_constraint(text) is None
    assert visible(text) == text


def test_all_controls_surrogates_and_ends_of_lines_are_refused():
    for number in range(0x110000):
        if unicodedata.category(chr(number)) in {"Cc", "Cs", "Zl", "Zp"}:
            assert visible_constraint(chr(number)), hex(number)


def test_lines_stay_lines_and_json_stays_the_same_json():
    assert visible_lines("one\x1b\ntwo") == "one<U+001B>\ntwo"
    data = {"value": "a\u202eb\x85\U0001fffe"}
    printed = visible_json(json.dumps(data, ensure_ascii=False, indent=1))
    assert json.loads(printed) == data
    assert re.fullmatch(r"[ -~\n]*", printed)
