"""The net itself: what it takes printed ranges for, and that it notices a narrow one."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.surfaces.ranges import plain_number, ranges_in


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("44 to 46%", "44", "46", "%"),
        ("1.1% to 3.1%", "1.1", "3.1", "%"),
        ("17.7% ± 0.4%", "17.3", "18.1", "%"),
        ("62 +- 8", "54", "70", ""),
        ("below 0.6%", "0", "0.6", "%"),
        ("above 70%", "70", "100", "%"),
        ("anything from 0 to 100%", "0", "100", "%"),
        ("2.18 [2.06, 2.34]", "2.06", "2.34", ""),
        ("5% [4, 6]", "4", "6", "%"),
        ("+8.7 points [7.9, 9.5]", "7.9", "9.5", "points"),
        ("-28 to -23 points", "-28", "-23", "points"),
        ("+8 to +12 points", "8", "12", "points"),
        ("down 23 to 28 points", "-28", "-23", "points"),
        ("up 1 point", "1", "1", "points"),
        ("less than 2 points either way", "-2", "2", "points"),
        ("less than 0.2 either way", "-0.2", "0.2", ""),
        ("1.9 to 2.3 times", "1.9", "2.3", "times"),
        ("12,300 to 12,500", "12300", "12500", ""),
    ],
)
def test_a_range_is_read_as_a_person_reads_it(text, low, high, unit):
    (found,) = ranges_in(text)
    assert (found.low, found.high, found.unit) == (Decimal(low), Decimal(high), unit)


@pytest.mark.parametrize("text", ["2026-08-31 to 2026-09-06", "from 29% to 49%", "48%", "4,200"])
def test_what_is_no_range_is_not_taken_for_one(text):
    assert ranges_in(text) == ()


def test_a_range_that_is_narrower_at_one_end_does_not_cover():
    (printed,) = ranges_in("17.7% ± 0.4%")
    assert printed.covers(Decimal("17.3"), Decimal("18.1"))
    assert not printed.covers(Decimal("17.23"), Decimal("18.1"))
    assert not printed.covers(Decimal("17.3"), Decimal("18.13"))


def test_a_range_of_another_number_is_not_close():
    (printed,) = ranges_in("10 to 30%")
    assert printed.covers(Decimal(18), Decimal(20))
    assert not printed.is_close_to(Decimal(18), Decimal(20))


def test_a_cell_that_is_a_number_is_one():
    assert plain_number("+20 points") == 20
    assert plain_number("48.4%") == Decimal("48.4")
    assert plain_number("2,100 reports") is None
