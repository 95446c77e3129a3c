"""A metric at a glance says its newest number and what has changed, and no more than is known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.telling.glances import (
    changes_at_a_glance,
    clear_numbers,
    found_at_a_glance,
    glance,
    no_change_at_a_glance,
)
from tests.aggregator.telling.answers import (
    difference,
    number,
    quantile,
    share,
    string,
    strings,
)

CHROME = share("chrome", 0.44, 0.45, 0.46)
SAFARI = share("safari", 0.20, 0.21, 0.22)
EDGE = share("edge", -0.002, 0.002, 0.0058, detected=False)
BOTH = share("a=true & b=true", 0.5, 0.6, 0.7)
LIFT = Measured(
    measure="lift", value="a=true & b=true", estimate=1.5, low=1.42, high=1.58, p_value=1e-9,
    told=True,
)  # fmt: skip
APART = Measured(
    measure="difference in quantile", quantile=0.5, period=1, before=4.0, after=5.0, estimate=1.0,
    low=0.8, high=1.2, told=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([SAFARI, EDGE, CHROME], ("44 to 46%", "chrome", "then safari 20 to 22%")),
        (
            [CHROME, share("safari", 0.43, 0.44, 0.45)],
            ("44 to 46%", "chrome", "too close to call with safari"),
        ),
        ([EDGE], ("below 0.6%", "edge", "can't be told from zero")),
        ([EDGE, EDGE], ("below 0.6%", "each of 2 values", "can't be told from zero")),
        ([share("true", 0.1, 0.11, 0.12)], ("10 to 12%", "true", "")),
        (
            [replace(CHROME, possible_low=0.2, possible_high=0.8)],
            ("20 to 80%", "chrome", ""),
        ),
        (
            [CHROME, BOTH, LIFT],
            (
                "44 to 46%",
                "chrome",
                "a=true and b=true go together (1.42 to 1.58 times as often as by chance)",
            ),
        ),
        (
            [number(1, 2, 3), quantile(0.5, 4, 5, 6), quantile(0.95, 7, 8, 9)],
            ("4 to 6", "median", "the 95th percentile is 7 to 9"),
        ),
        ([number(1.04, 1.06, 1.08)], ("1.04 to 1.08", "on average", "")),
    ],
)
def test_the_newest_number_comes_first(
    numbers: list[Measured], words: tuple[str, str, str]
) -> None:
    first = glance(numbers)
    assert first is not None
    assert (first.range, first.of, first.more) == words


def test_attributes_are_not_said_to_lead_over_one_another() -> None:
    first = glance([CHROME, SAFARI], records=True)
    assert first is not None
    assert first.more == "safari 20 to 22%"


def test_a_metric_without_a_number_has_no_glance() -> None:
    assert glance([]) is None
    assert glance([replace(CHROME, segment="channel=beta"), Measured(measure="mean")]) is None


def test_numbers_are_cut_at_the_range_of_their_metric() -> None:
    first = glance([number(-20, 15, 50)], limits=(0.0, 300.0))
    assert first is not None
    assert first.range == "0 to 50"


def test_the_most_popular_string_comes_first() -> None:
    first = found_at_a_glance(
        strings(string("maps", 0.1, 0.11, 0.12), string("wea ", 0.2, 0.21, 0.22))
    )
    assert first is not None
    assert (first.range, first.of) == ("20 to 22%", '"wea<U+0020>"')
    assert first.more == "then maps 10 to 12%"
    assert found_at_a_glance(strings()) is None


def test_a_glance_names_first_letters_that_more_begin_with_than_hold_any_whole_string() -> None:
    whole = string("Chrome 151", 0.09, 0.1, 0.11)
    beginning = string("Chrome for Android 15", 0.44, 0.45, 0.46, whole=False)
    glanced = found_at_a_glance(strings(whole, beginning))
    assert glanced is not None
    assert (glanced.range, glanced.of) == ("at least 44%", 'begin with "Chrome for Android 15…"')
    assert glanced.more == 'of whole strings "Chrome 151" 9 to 11%'
    rarer = string("Chrome for Android 15", 0.1, 0.45, 0.46, whole=False)
    least = found_at_a_glance(strings(whole, rarer))
    assert least is not None
    assert least.of == '"Chrome 151"'


def test_clear_changes_are_said_with_how_far_the_largest_went() -> None:
    rows = [
        difference("dark", (0.08, 0.1, 0.12)),
        difference("light", (-0.4, -0.3, -0.2)),
        difference("a", (-0.01, 0, 0.003), changed=False),
        APART,
    ]
    assert [row.value for row in clear_numbers(rows)] == ["light", "dark", None]
    assert changes_at_a_glance(rows) == [
        "light fell by 20 to 40 points",
        "dark rose by 8 to 12 points",
        "1 more change",
    ]
    assert changes_at_a_glance(rows, share("dark", 0, 0, 0))[0] == "dark rose by 8 to 12 points"
    assert changes_at_a_glance([APART]) == ["the median rose by 0.8 to 1.2"]


def test_a_change_of_the_whole_is_said_where_no_value_changed_clearly() -> None:
    shape = Measured(measure="distance", told=True)
    unclear = difference("dark", (-0.1, 0.0, 0.1), changed=False)
    assert changes_at_a_glance([unclear, shape]) == ["the distribution as a whole changed"]


def test_where_nothing_changed_it_is_said_what_can_be_excluded() -> None:
    rows = [difference(name, (-0.03, 0.0, 0.01), changed=False) for name in ("dark", "light")]
    assert no_change_at_a_glance(rows[:1]) == "no clear change (less than 3 points either way)"
    assert no_change_at_a_glance(rows) == (
        "no clear change (each value less than 3 points either way)"
    )
    assert no_change_at_a_glance([]) == ""
