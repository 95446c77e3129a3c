"""The numbers of a column have one precision, and no range is narrower or much wider for it."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.telling.numbers import range_of
from deniable_aggregator.telling.precision import with_one_precision
from deniable_aggregator.telling.rounding import column_steps
from tests.aggregator.telling import answers

HALF_WIDER = Decimal("1.5")


def column(*intervals):
    """The ranges of shares with these intervals in percent, as a table has them."""
    rows = [
        answers.share(f"value{at}", low / 100, (low + high) / 200, high / 100, detected=low > 0)
        for at, (low, high) in enumerate(intervals)
    ]
    return [range_of(each) for each in with_one_precision(answers.shares(*rows)).of("share")]


@pytest.mark.parametrize(
    ("intervals", "words"),
    [
        (
            [(33.494, 34.016), (5.341, 5.693)],
            ["33.4 to 34.1%", "5.3 to 5.7%"],
        ),
        (
            [(39.912, 40.088), (0.021, 0.059)],
            ["39.91 to 40.09%", "0.02 to 0.06%"],
        ),
        (
            [(12.2, 13.9), (21.1, 23.0), (30.3, 31.9), (0.021, 0.039)],
            ["12.2 to 13.9%", "21.1 to 23.0%", "30.3 to 31.9%", "0.021 to 0.039%"],
        ),
        ([(44.32, 45.78), (-1.0, 0.31)], ["44.3 to 45.8%", "below 0.4%"]),
        ([(44.32, 45.88)], ["44.3 to 45.9%"]),
    ],
)
def test_a_column_has_the_digits_of_its_narrowest_interval(intervals, words):
    assert column(*intervals) == words


@given(st.lists(st.tuples(st.floats(0.001, 0.9), st.floats(1e-5, 0.1)), min_size=2, max_size=9))
def test_rounding_alike_makes_no_range_narrower_or_more_than_half_wider(drawn):
    rows = [
        answers.share(f"value{at}", low, low + width / 2, low + width)
        for at, (low, width) in enumerate(drawn)
    ]
    for number in with_one_precision(answers.shares(*rows)).of("share"):
        low, high = (Decimal(repr(end)) * 100 for end in number.ends)
        words = range_of(number)
        if words.endswith("%") and " to " in words:
            first, last = map(Decimal, re.findall(r"[\d.]+", words))
            assert first <= low
            assert high <= last
            assert last - first <= HALF_WIDER * (high - low)


@given(st.lists(st.tuples(st.floats(0, 0.9), st.floats(0.01, 0.099)), min_size=2, max_size=9))
def test_intervals_of_about_the_same_width_have_the_same_step(drawn):
    steps = column_steps("share", [(low, low + width) for low, width in drawn])
    assert len(set(steps)) == 1
    assert steps[0] in (0.001, 0.01)


def test_a_number_without_company_or_width_has_its_own_digits():
    assert column_steps("share", [(0.1, 0.2)]) == [None]
    assert column_steps("number", [(1.0, 5.0), (3.0, 3.0), (4.0, 9.5)]) == [1.0, None, 1.0]
