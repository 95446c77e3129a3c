"""A measured number has the same words wherever it is read."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.telling.numbers import (
    beside,
    contrast_in_words,
    estimate_of,
    limits_of,
    name_of,
    named,
    possible_range_of,
    range_of,
    range_of_all,
    robust_of,
    robust_range_of,
)
from tests.aggregator.telling.answers import (
    difference,
    distribution,
    mean,
    number,
    quantile,
    ranged,
    share,
    string,
)

CHROME = share("chrome", 0.44, 0.4501, 0.46)
LIFT = Measured(
    measure="lift", value="a & b", values=("a", "b"), estimate=1.46, standard_error=0.02, low=1.42,
    high=1.5, both=0.20441, expected=0.14, told=True,
)  # fmt: skip
CONTRAST = Measured(
    measure="contrast in share", value="9 of 10", key="0307bb3eac2d", label="partner\u202e",
    estimate=0.301, low=0.2534, before=0.1987, after=0.4999, told=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "name"),
    [
        (CHROME, "chrome"),
        (share("a\x1b[2J", 0.1, 0.2, 0.3), "a<U+001B>[2J"),
        (string("x ", 0.1, 0.2, 0.3), "x<U+0020>"),
        (string("pho", 0.1, 0.2, 0.3, whole=False), "pho…"),
        (quantile(0.5, 1, 2, 3), "median"),
        (number(1, 2, 3), "mean"),
        (difference(None, (1, 2, 3)), "mean"),
        (Measured(measure="bin", bin_from=1.0, bin_to=2.5), "1 to 2.5"),
        (Measured(measure="segment size", segment="channel=beta"), "channel=beta"),
        (LIFT, "a & b"),
        (CONTRAST, "partner<U+202E> (0307..)"),
    ],
)
def test_a_number_is_called_by_what_it_is_of(measured: Measured, name: str) -> None:
    assert name_of(measured) == name


def test_within_a_sentence_a_value_that_could_be_misread_is_quoted() -> None:
    assert named(share("9 of 10", 0.1, 0.2, 0.3)) == '"9 of 10"'
    assert named(difference("true", (0.1, 0.2, 0.3))) == "the share that is true"
    assert named(quantile(0.9, 1, 2, 3)) == "the 90th percentile"


@pytest.mark.parametrize(
    ("measured", "range_", "estimate"),
    [
        (CHROME, "44 to 46%", "45%"),
        (
            share("edge", 0.0001, 0.002, 0.0058, detected=False),
            "below 0.6%",
            "can't tell from zero",
        ),
        (difference("dark", (0.08, 0.1, 0.12)), "+8 to +12", "+10"),
        (difference(None, (-0.21, 0.04, 0.3)), "-0.3 to +0.3", "0"),
        (LIFT, "1.42 to 1.50", "1.46"),
        (replace(LIFT, estimate=None, low=None, high=None), "too rare", "too rare"),
        (number(1.7401, 1.78, 1.8199), "1.74 to 1.82", "1.78"),
        (quantile(0.5, 1.0, None, 9.0), "1 to 9", "can't place"),
        (CONTRAST, "at least 25 points", "+30"),
        (string("pho", 0.1, 0.11, 0.12, whole=False), "at least 10%", "11%"),
        (
            Measured(measure="share", value="old", told=False, seen="gone", high=0.0044),
            "below 0.5%",
            "can't tell from zero",
        ),
        (Measured(measure="share", value="old", told=False, seen="gone"), "", None),
    ],
)
def test_a_number_has_a_range_and_an_estimate(
    measured: Measured, range_: str, estimate: str | None
) -> None:
    assert range_of(measured) == range_
    if estimate is not None:
        assert estimate_of(measured) == estimate


def test_a_number_lies_within_what_it_can_be() -> None:
    measured = number(-20, 15, 50)
    assert range_of(measured, (0.0, 300.0)) == "0 to 50"
    assert estimate_of(number(-50, -20, 10), (0.0, 300.0)) == "0"
    assert beside(difference(None, (-9.0, 1.0, 9.0)), 104.3, (60.0, 100.0)) == "100"


def test_the_range_of_a_metric_is_that_of_its_versions_or_of_its_bins() -> None:
    assert limits_of(ranged(mean(1, 2, 3), (10, 300), (0, 250))) == (0, 300)
    assert limits_of(distribution()) == (0.0, 300.0)
    assert limits_of(mean(1, 2, 3)) is None


@pytest.mark.parametrize(
    ("measured", "value", "words"),
    [
        (CHROME, 0.45678, "46%"),
        (CHROME, None, ""),
        (difference("dark", (0.08, 0.1, 0.12)), 0.4483, "45%"),
        (difference(None, (0.3, 0.4, 0.5)), 4.321, "4.3"),
        (LIFT, LIFT.both, "20.4%"),
        (Measured(measure="share", seen="gone", before=0.02341, high=0.0044), 0.02341, "2.3%"),
        (Measured(measure="share", seen="gone", before=0.02341), 0.02341, "2.3%"),
    ],
)
def test_what_stands_beside_an_estimate_is_no_more_precise(
    measured: Measured, value: float | None, words: str
) -> None:
    assert beside(measured, value) == words


def test_a_share_of_some_versions_has_a_range_of_its_reports_and_one_of_all() -> None:
    some = replace(CHROME, possible_low=0.21, possible_high=0.73)
    assert range_of(some) == "44 to 46%"
    assert range_of_all(some) == possible_range_of(some) == "20 to 80%"
    assert possible_range_of(CHROME) == ""
    assert range_of_all(CHROME) == "44 to 46%"


def test_a_second_estimate_is_rounded_by_its_own_interval() -> None:
    checked = replace(CHROME, robust=0.4444, robust_low=0.401, robust_high=0.4879)
    assert (robust_range_of(checked), robust_of(checked)) == ("40 to 49%", "44%")
    assert robust_range_of(CHROME) == robust_of(CHROME) == ""


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, '"9 of 10": 50% against 20%'),
        (
            {"measure": "contrast in mean", "value": None, "before": 120.49, "after": 180.2},
            "the mean: 180.2 against 120.5",
        ),
        (
            {"measure": "contrast in distribution", "value": None, "before": None, "after": None},
            "all that its devices hold: 30% apart",
        ),
    ],
)
def test_a_key_is_said_with_where_it_differs_most(fields: dict[str, Any], words: str) -> None:
    assert contrast_in_words(replace(CONTRAST, **fields)) == words


def test_means_of_a_key_have_the_digits_of_the_range() -> None:
    own = replace(CONTRAST, measure="contrast in mean", value=None, before=120.49, after=180.2)
    assert contrast_in_words(own, (0.0, 300.0)) == "the mean: 180 against 120"
