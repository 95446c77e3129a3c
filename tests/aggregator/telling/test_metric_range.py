"""No sentence says that a mean or a quantile may lie outside of the metric's range."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.telling.findings import finding
from deniable_aggregator.telling.ranges import number_in_words, number_range_in_words
from tests.aggregator.telling.answers import distribution, ends, mean, number, ranged, series
from tests.aggregator.telling.test_ranges import numbers_of

TEMPERATURE, SECONDS = (60.0, 100.0), (0.0, 300.0)


@pytest.mark.parametrize(
    ("interval", "limits", "said"),
    [
        ((30, 80, 130), TEMPERATURE, "The mean may be anything from 60 to 100."),
        ((-200, 250, 700), SECONDS, "The mean may be anything from 0 to 300."),
        ((82, 90, 98), TEMPERATURE, "The mean is 82 to 98."),
        ((82, 95, 108), TEMPERATURE, "The mean is 82 to 100."),
        ((-20, 15, 50), SECONDS, "The mean is 0 to 50."),
        ((110, 120, 130), TEMPERATURE, "The mean is 90 to 100."),
        ((-40, -30, -20), SECONDS, "The mean is 0 to 10."),
        ((0.31, 0.4, 0.9), (0.0, 0.85), "The mean is 0.3 to 0.85."),
    ],
)
def test_a_mean_is_cut_at_the_range_of_its_metric(interval, limits, said) -> None:
    assert finding(ranged(mean(*interval), limits)) == said


def test_of_several_versions_the_widest_range_counts() -> None:
    answer = ranged(mean(-200, 250, 700), (10, 300), (0, 250), (50, 400))
    assert finding(answer) == "The mean may be anything from 0 to 400."


def test_without_a_range_the_interval_is_said_whole() -> None:
    assert finding(mean(-200, 250, 700)) == "The mean is -200 to 700."


@pytest.mark.parametrize("answer", [distribution(), ranged(distribution(), SECONDS)])
def test_quantiles_are_cut_at_the_range_or_where_the_bins_end(answer) -> None:
    assert finding(answer) == (
        "The median may be anything from 0 to 300 and the 90th percentile is 150 to 300; "
        "the mean is 0 to 50."
    )


def test_a_series_is_cut_at_the_range_in_every_period() -> None:
    weeks = [[number(*each)] for each in ((-200, 250, 634), (-100, 20, 140), (100, 150, 200))]
    answer = ranged(series(*weeks, kind="mean"), SECONDS)
    assert finding(answer).endswith(
        "the mean 100 to 200 (0 to 140 the week before, anything from 0 to 300 in the first week)."
    )


@given(ends(-500, 500))
def test_words_within_a_range_are_no_narrower_than_what_is_left_of_the_interval(interval) -> None:
    low, middle, high = interval
    printed = numbers_of(number_range_in_words(low, high, TEMPERATURE))
    first, last = printed[0], printed[-1]
    assert 60 <= first <= last <= 100
    if low < 100 and high > 60:
        assert first <= max(Decimal(repr(low)), Decimal(60))
        assert last >= min(Decimal(repr(high)), Decimal(100))
    (estimate,) = numbers_of(number_in_words(middle, low, high, TEMPERATURE))
    assert 60 <= estimate <= 100


@given(st.floats(-500, 500), st.floats(60, 100))
def test_an_estimate_is_said_as_the_nearer_end_of_the_range(far, near) -> None:
    assert number_in_words(60 - abs(far), 0, 200, TEMPERATURE) == "60"
    assert number_in_words(100 + abs(far), 0, 200, TEMPERATURE) == "100"
    assert 60 <= int(number_in_words(near, 0, 200, TEMPERATURE)) <= 100
