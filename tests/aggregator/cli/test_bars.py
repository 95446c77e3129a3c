"""Intervals drawn with characters, and numbers rounded to their interval."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deniable_aggregator.cli.render.bars import IntervalBar, Scale
from deniable_aggregator.cli.render.layout import Bars, Texts, fits, lay_out
from deniable_aggregator.cli.render.rounding import (
    decimals,
    difference_with_ends,
    fixed,
    upper_limit,
    with_error,
)
from deniable_shared.commands.ascii import ascii_text
from tests.aggregator.printed import printed

UNIT = Scale(0.0, 1.0)


def row(share, low, high):
    return SimpleNamespace(share=share, low=low, high=high)


def test_a_bar_shows_the_interval_its_middle_half_and_zero():
    assert IntervalBar(0.2, 0.5, 0.8, UNIT).draw(11) == "│ ├─━●━─┤  "
    assert IntervalBar(0.2, 0.5, 0.8, UNIT, truth=0.4).draw(11) == "│ ├─x●━─┤  "
    assert ascii_text(IntervalBar(0.2, 0.5, 0.8, UNIT).draw(11)) == ": |-=*=-|  "


def test_an_interval_below_zero_is_drawn_whole():
    scale = Scale.over([-0.5, 0.3, 0.5])
    assert scale == (-0.5, 0.5)
    assert IntervalBar(-0.5, -0.1, 0.3, scale, hollow=True).draw(11) == "├──━○┿──┤  "
    assert IntervalBar(-0.5, -0.4, -0.3, scale).draw(11) == "├●┤  │     "


def test_a_scale_begins_at_zero_unless_something_is_below():
    assert Scale.over([0.4, 0.6]) == (0.0, 0.6)
    assert Scale.over([0.4, 0.182]).heading() == "0 to 40.0%"
    assert Scale.over([-0.004, 0.182]).heading() == "-0.4 to 18.2%"
    assert Scale.over([]).high > 0


@pytest.mark.parametrize(
    ("half", "digits"),
    [(0.46, 1), (0.24, 2), (0.012, 3), (3.6, 0), (2.4, 1), (24, 0), (0, 0), (float("inf"), 0)],
)
def test_numbers_have_as_many_digits_as_their_interval_supports(half, digits):
    assert decimals(half) == digits


def test_an_interval_is_one_number_if_its_sides_are_alike():
    assert with_error(row(0.1773, 0.1727, 0.1819)) == "17.7% ± 0.5%"
    assert with_error(row(0.1, 0.02, 0.25)) == "10% [2, 25]"
    assert upper_limit(row(-0.001, -0.008, 0.0056)) == "below 0.6%"
    assert fixed(-0.001, 1) == "0.0"
    assert difference_with_ends(0.0821, 0.061, 0.103, shares=True) == "+8.2 points [6.1, 10.3]"
    assert difference_with_ends(None, -1.0, 1.0, shares=False) == "can't place [-1.0, 1.0]"
    assert difference_with_ends(-0.047, -0.087, -0.007, shares=True) == "-5 points [-9, -0.7]"
    assert with_error(row(0.03, 0.004, 0.08)) == "3% [0.4, 8]"


@pytest.mark.parametrize("width", [40, 60, 100])
def test_texts_are_broken_between_words_before_numbers_are(width):
    columns = [
        Texts("value", ["one two three four five six seven"], folds=True),
        Texts("share", ["12.34% ± 0.56%"], "right"),
        Texts("words", ["go together often"]),
    ]
    bars = Bars("0 to 1", [IntervalBar(0.2, 0.5, 0.8, UNIT)])
    text = printed(lay_out(columns, bars, width), width)
    assert max(map(len, text.splitlines())) <= width
    assert "12.34% ± 0.56%" in text
    assert ("●" in text) == (width > 60) == fits(columns, width)
    for word in ["one", "two", "three", "four", "five", "six", "seven", "together", "often"]:
        assert word in text
