from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.answers.dates import FIRST_DAY, DayRange
from deniable_aggregator.asking.dates import parse_day, parse_period
from deniable_shared.errors import ParameterError

TODAY = date(2026, 3, 31)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-01-31", date(2026, 1, 31)),
        ("today", TODAY),
        ("Yesterday", date(2026, 3, 30)),
        ("-0d", TODAY),
        ("-7d", date(2026, 3, 24)),
        ("-4w", date(2026, 3, 3)),
        ("-1m", date(2026, 2, 28)),
        ("-3m", date(2025, 12, 31)),
        ("-15m", date(2024, 12, 31)),
        (date(2026, 1, 2), date(2026, 1, 2)),
        (datetime(2026, 1, 2, 23, 59, tzinfo=UTC), date(2026, 1, 2)),
    ],
)
def test_a_day_is_written_in_several_ways(text, day):
    assert parse_day(text, TODAY) == day


@pytest.mark.parametrize(
    "text",
    ["", "soon", "7d", "+7d", "-7", "-7y", "20260131", "2026-02-30", "1969-12-31", "-99999m",
     "-99999w", "-9999999999d", "2026-01-31T00:00", 7, None],
)  # fmt: skip
def test_what_is_no_day_is_refused_with_the_forms_that_are(text):
    with pytest.raises(ParameterError, match=r"since must be a day such as .*-7d.*, got ") as told:
        parse_day(text, TODAY, name="since")
    assert repr(text) in str(told.value)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-01-01..2026-01-31", date(2026, 1, 1), date(2026, 1, 31)),
        ("2026-01-01/2026-01-31", date(2026, 1, 1), date(2026, 1, 31)),
        ("-7d .. yesterday", date(2026, 3, 24), date(2026, 3, 30)),
        ("2026-01-01/", date(2026, 1, 1), TODAY),
        ("..2026-01-31", FIRST_DAY, date(2026, 1, 31)),
        ("-7d", date(2026, 3, 24), date(2026, 3, 24)),
        (TODAY, TODAY, TODAY),
        (DayRange(FIRST_DAY, TODAY), FIRST_DAY, TODAY),
    ],
)
def test_a_period_is_two_days_or_one(text, since, until):
    assert parse_period(text, TODAY) == DayRange(since, until)


@pytest.mark.parametrize(
    "text",
    ["", "..", "/", "2026-01-01..2026-01-02..2026-01-03", "1960-01-01..", "-7d..-1y",
     "2026-01-02..2026-01-01", "today/yesterday"],
)  # fmt: skip
def test_what_is_no_period_is_refused_by_its_name(text):
    with pytest.raises(ParameterError, match=r"^before must be .*, got ") as told:
        parse_period(text, TODAY, name="before")
    assert repr(text) in str(told.value)


@given(st.text(max_size=20))
def test_any_text_is_a_day_or_is_refused(text):
    with contextlib.suppress(ParameterError):
        assert parse_day(text, TODAY) >= FIRST_DAY
