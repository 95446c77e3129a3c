"""Intervals drawn with characters, on a scale that they share."""

from __future__ import annotations

import pytest

from deniable_aggregator.media.terminal import IntervalBar, Scale
from deniable_aggregator.telling.interval import interval_of
from deniable_shared.commands.ascii import ascii_text

UNIT = Scale(0.0, 1.0)


def interval(low, estimate, high, *, told=True):
    """An interval at 95%."""
    return interval_of(estimate, low, high, level=0.95, told=told)


def test_a_bar_shows_the_interval_its_middle_half_and_zero():
    assert IntervalBar(interval(0.2, 0.5, 0.8), UNIT).draw(11) == "│ ├─━●━─┤  "
    assert IntervalBar(interval(0.2, 0.5, 0.8), UNIT, truth=0.4).draw(11) == "│ ├─x●━─┤  "
    assert ascii_text(IntervalBar(interval(0.2, 0.5, 0.8), UNIT).draw(11)) == ": |-=*=-|  "


def test_the_line_stands_where_nothing_would_be_or_nowhere():
    bar = interval(0.2, 0.5, 0.8)
    assert IntervalBar(bar, UNIT, zero=1.0).draw(11) == "  ├─━●━─┤ │"
    assert IntervalBar(bar, UNIT, zero=None).draw(11) == "  ├─━●━─┤  "


def test_an_interval_below_zero_is_drawn_whole():
    scale = Scale.over([-0.5, 0.3, 0.5])
    assert scale == (-0.5, 0.5)
    hollow = interval(-0.5, -0.1, 0.3, told=False)
    assert IntervalBar(hollow, scale).draw(11) == "├──━○┿──┤  "
    assert IntervalBar(interval(-0.5, -0.4, -0.3), scale).draw(11) == "├●┤  │     "


@pytest.mark.parametrize(
    ("ends", "unit", "heading"),
    [
        ([0.4, 0.182], "share", "0 to 40%"),
        ([-0.004, 0.182], "share", "-0.4 to 18.2%"),
        ([-0.05, 0.05], "points", "-5.0 to 5.0 points"),
        ([300.0, 20.0], "number", "0 to 300"),
    ],
)
def test_a_scale_begins_at_zero_unless_something_is_below(ends, unit, heading):
    assert Scale.over(ends).heading(unit) == heading
    assert Scale.over([]).high > 0
