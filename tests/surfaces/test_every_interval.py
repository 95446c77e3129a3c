"""Whatever an interval is, no surface prints a narrower one: answers are drawn at random."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.aggregator.telling import answers
from tests.repetitions import full_or_small
from tests.surfaces.asking import AFTER, SURFACES, Question, answering
from tests.surfaces.computed import computed_in
from tests.surfaces.printed import ranges_of, rows_about
from tests.surfaces.rows import text_of

AT_ONCE = 12
"""Numbers of an answer: so many have room in a picture."""

FEWEST = 4
"""Rows that are surely there: a picture leaves out what can't be told from zero."""

ESTIMATE = Question("estimate of anything", "theme")
CHANGE = Question("change of anything", "theme", "change", AFTER)

DRAWN = settings(max_examples=full_or_small(12, 4), phases=[Phase.explicit, Phase.generate])
"""An answer is asked for in earnest, so that looking for the smallest that fails takes minutes."""

_widths = st.floats(-4, -0.3).map(lambda exponent: 10.0**exponent)


@st.composite
def _ends(draw, least, most):
    """The ends of an interval of any width, and an estimate somewhere within."""
    middle, width = draw(st.floats(least, most)), draw(_widths)
    below = draw(st.floats(0.2, 0.8))
    low = middle - below * width
    return [low, middle, low + width]


_shares = st.lists(_ends(0.0, 1.0), min_size=AT_ONCE, max_size=AT_ONCE)
_points = st.lists(_ends(-0.9, 0.9), min_size=AT_ONCE, max_size=AT_ONCE)


def shares_of(intervals):
    """An estimate with these intervals."""
    rows = [
        answers.share(f"value{at}", *ends, detected=ends[0] > 0)
        for at, ends in enumerate(intervals)
    ]
    return answers.shares(*rows)


def change_of(intervals):
    """A change with these intervals."""
    rows = [
        answers.difference(f"value{at}", ends, changed=ends[0] > 0 or ends[2] < 0)
        for at, ends in enumerate(intervals)
    ]
    return answers.change(*rows)


def check(asker, surface, question, *made_up):
    """Compares what a surface prints with the intervals of an answer that was made up."""
    with answering(*made_up):
        numbers = list(computed_in(asker.csv(question)))
        document = SURFACES[surface](asker, question)
    found = 0
    for number in numbers:
        rows = rows_about(document, surface, number)
        ranges = ranges_of(rows, number)
        message = f"{number.low:.8f} to {number.high:.8f}, printed\n{text_of(rows)}"
        assert not ranges or any(map(number.is_in, ranges)), message
        found += bool(ranges)
    assert len(numbers) == AT_ONCE
    assert found >= FEWEST


@pytest.mark.parametrize("surface", SURFACES)
@DRAWN
@given(_shares)
def test_no_interval_of_a_share_is_printed_narrower(asker, surface, intervals):
    check(asker, surface, ESTIMATE, shares_of(intervals))


@pytest.mark.parametrize("surface", SURFACES)
@DRAWN
@given(_points)
def test_no_interval_of_a_difference_is_printed_narrower(asker, surface, intervals):
    # A page also has the shares of the second period beside their changes.
    check(asker, surface, CHANGE, change_of(intervals), shares_of([(0.4, 0.5, 0.6)] * AT_ONCE))
