"""The epoch is a UTC day, and periods follow the calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared.periods import EVERY, epoch_at, period

FIRST_DAY = date(1970, 1, 1)
epochs = st.integers(0, (date(9999, 12, 31) - FIRST_DAY).days)


def day(epoch: int) -> date:
    return FIRST_DAY + timedelta(days=epoch)


def epoch_of(year: int, month: int, day_of_month: int) -> int:
    return (date(year, month, day_of_month) - FIRST_DAY).days


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001  the bounds take no zone
def test_the_epoch_of_a_moment_is_its_utc_day(moment):
    assert day(epoch_at(moment.timestamp())) == moment.date()


def test_an_epoch_begins_at_midnight_utc():
    midnight = datetime(2026, 3, 29, tzinfo=UTC).timestamp()
    assert epoch_at(midnight) == epoch_at(midnight + 86_399) == epoch_at(midnight - 1) + 1


def test_a_clock_set_before_1970_does_not_land_in_the_first_day():
    assert epoch_at(-1) == -1


@given(epochs, epochs)
def test_two_days_share_a_week_when_they_share_an_iso_week(one, other):
    same = day(one).isocalendar()[:2] == day(other).isocalendar()[:2]
    assert (period("week", one) == period("week", other)) == same


@pytest.mark.parametrize(
    "monday", [epoch_of(1970, 1, 5), epoch_of(2026, 6, 1), epoch_of(2024, 1, 1)]
)
def test_a_week_begins_on_monday_and_ends_on_sunday(monday):
    assert day(monday).isoweekday() == 1
    week = {period("week", monday + offset) for offset in range(7)}
    assert week == {period("week", monday)}
    assert period("week", monday - 1) == period("week", monday) - 1
    assert period("week", monday + 7) == period("week", monday) + 1


@given(epochs, epochs)
def test_two_days_share_a_month_when_the_calendar_says_so(one, other):
    same = (day(one).year, day(one).month) == (day(other).year, day(other).month)
    assert (period("month", one) == period("month", other)) == same


def test_months_of_different_years_differ_and_follow_each_other():
    december, january = epoch_of(2027, 12, 31), epoch_of(2028, 1, 1)
    assert period("month", january) == period("month", december) + 1
    assert period("month", epoch_of(2028, 2, 29)) == period("month", epoch_of(2028, 2, 1))
    assert period("month", epoch_of(2027, 1, 1)) != period("month", january)


@given(epochs, epochs)
def test_once_is_a_single_period_and_every_day_its_own(one, other):
    assert period("once", one) == period("once", other)
    assert (period("day", one) == period("day", other)) == (one == other)


@given(st.sampled_from(EVERY), epochs, epochs)
def test_a_later_day_is_never_in_an_earlier_period(every, one, other):
    early, late = sorted((one, other))
    assert period(every, early) <= period(every, late)
