import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.telling.ranges import (
    beyond_ends,
    difference_ends,
    difference_in_words,
    estimate_in_words,
    interval_in_words,
    level_in_words,
    number_in_words,
    number_range_in_words,
    point_ends,
    points_in_words,
    range_in_words,
    share_in_words,
)
from deniable_aggregator.telling.rounding import outward, to_step

NUMBER = r"-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?"
shares = st.floats(-0.5, 1.5)
numbers = st.floats(-1e12, 1e12)


def ordered(values):
    return st.tuples(values, values).map(sorted)


def exact(number: float) -> Decimal:
    return Decimal(repr(number))


def numbers_of(text: str) -> list[Decimal]:
    return [Decimal(each.replace(",", "")) for each in re.findall(NUMBER, text)]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.44, 0.46, "44 to 46%"),
        (0.444, 0.452, "44.4 to 45.2%"),
        (-0.002, 0.0058, "below 0.6%"),
        (0.0004, 0.021, "0.04 to 2.1%"),
        (0.97, 1.02, "above 97%"),
        (-0.3, 1.2, "anything from 0 to 100%"),
        (-0.1, -0.02, "below 4%"),
        (1.02, 1.06, "above 98%"),
        (0.5, 0.5, "50%"),
    ],
)
def test_a_share_is_a_range_in_words(low: float, high: float, words: str) -> None:
    assert range_in_words(low, high) == words


@given(ordered(shares))
def test_the_range_of_a_share_is_never_narrower_than_its_interval(ends: list[float]) -> None:
    low, high = (min(max(exact(end) * 100, Decimal(0)), Decimal(100)) for end in ends)
    text = range_in_words(*ends)
    printed = numbers_of(text)
    if text.startswith("below"):
        assert printed[0] >= high
        assert low == 0
    elif text.startswith("above"):
        assert printed[0] <= low
        assert high == 100
    else:
        assert printed[0] <= low
        assert high <= printed[-1]


@given(ordered(shares))
def test_the_range_of_a_share_is_not_much_wider_than_its_interval(ends: list[float]) -> None:
    low, high = map(exact, ends)
    text = range_in_words(*ends)
    if " to " in text and not text.startswith("anything"):
        first, last = numbers_of(text)
        assert last - first <= (high - low) * 100 * Decimal("1.3") + Decimal("1e-9")


@given(ordered(numbers))
def test_the_range_of_a_number_is_never_narrower_than_its_interval(ends: list[float]) -> None:
    printed = numbers_of(number_range_in_words(*ends))
    assert printed[0] <= exact(ends[0])
    assert exact(ends[1]) <= printed[-1]


@given(ordered(shares))
def test_a_difference_in_points_is_never_surer_than_its_interval(ends: list[float]) -> None:
    low, high = (exact(end) * 100 for end in ends)
    text = points_in_words(*ends)
    printed = numbers_of(text)
    if text.startswith("anything"):
        assert low <= 0 <= high
        assert max(-low, high) > 100
        return
    low, high = (min(max(end, Decimal(-100)), Decimal(100)) for end in (low, high))
    if text.startswith("less than"):
        assert -printed[0] <= low <= 0 <= high <= printed[0]
    else:
        near, far = sorted((abs(low), abs(high)))
        assert (low > 0) == text.startswith("up")
        assert printed[0] <= near
        assert far <= printed[-1]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.08, 0.12, "up 8 to 12 points"),
        (-0.12, -0.08, "down 8 to 12 points"),
        (-0.03, 0.01, "less than 3 points either way"),
        (-0.01, 0.0, "less than 1.0 points either way"),
        (-1.1, 1.05, "anything up to 100 points either way"),
        (0.2, 1.3, "up 20 to 100 points"),
    ],
)
def test_a_difference_of_shares_is_in_points(low: float, high: float, words: str) -> None:
    assert points_in_words(low, high) == words


def test_numbers_have_the_digits_that_their_intervals_support() -> None:
    assert number_range_in_words(1.7401, 1.8199) == "1.74 to 1.82"
    assert number_range_in_words(12_345, 12_800) == "12,300 to 12,800"
    assert number_in_words(12_345, 12_245, 12_445) == "12,340"
    assert difference_in_words(0.31, 0.49) == "up 0.31 to 0.49"
    assert share_in_words(0.4483, 0.43, 0.47) == "45%"
    assert share_in_words(-0.002, -0.02, 0.01) == "0%"


@pytest.mark.parametrize(
    ("ends", "limits", "words"),
    [
        ((1_712, 2_000), (0, 2_000), "1,700 or more"),
        ((0, 50), (0, 2_000), "0 to 50"),
        ((-10, -5), (-10, 30), "-5 or less"),
        ((0, 2_000), (0, 2_000), "anything from 0 to 2,000 or more"),
        ((-10, 30), (-10, 30), "anything from -10 to 30, or beyond"),
        ((1_712, 1_900), (0, 2_000), "1,710 to 1,900"),
    ],
)
def test_a_quantile_at_an_end_of_the_range_may_lie_beyond_it(ends, limits, words) -> None:
    """Values outside are recorded as the end; what begins at zero has nothing below it."""
    beyond = beyond_ends(*ends, limits)
    assert number_range_in_words(*ends, limits, beyond=beyond) == words


@pytest.mark.parametrize("words", [range_in_words, points_in_words, number_range_in_words])
@pytest.mark.parametrize("ends", [(0.2, 0.1), (float("nan"), 0.1), (0.1, float("inf"))])
def test_ends_that_are_no_interval_are_refused(words, ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="low and high must be finite"):
        words(*ends)


def test_the_ends_of_a_clear_difference_are_not_rounded_to_zero():
    assert point_ends(-0.087, -0.007) == ("-9", "-0.7")
    assert point_ends(0.007, 0.087) == ("+0.7", "+9")
    assert difference_ends(0.4, 23) == ("+0.4", "+23")
    assert point_ends(-0.087, 0.007) == ("-9", "+1")


@pytest.mark.parametrize(
    ("unit", "ends", "words"),
    [
        ("share", (0.44, 0.46), "44 to 46%"),
        ("points", (0.08, 0.12), "+8 to +12"),
        ("points", (-0.03, 0.01), "-3 to +1"),
        ("difference", (-0.21, 0.3), "-0.3 to +0.3"),
        ("ratio", (-0.2, 0.98), "0 to 1.0"),
        ("number", (1.7401, 1.8199), "1.74 to 1.82"),
        ("points", (0.1, 0.1), "+10"),
    ],
)
def test_an_interval_is_in_the_words_of_its_unit(unit, ends, words) -> None:
    assert interval_in_words(unit, *ends) == words


def test_a_share_that_is_not_told_from_zero_has_zero_in_its_range() -> None:
    assert interval_in_words("share", 0.001, 0.0058, told=False) == "below 0.6%"
    assert interval_in_words("share", 0.001, 0.0058) == "0.1 to 0.6%"


@pytest.mark.parametrize(
    ("unit", "value", "ends", "words"),
    [
        ("share", 0.4483, (0.43, 0.47), "45%"),
        ("points", 0.1, (0.08, 0.12), "+10"),
        ("difference", 0.04, (-0.21, 0.3), "0"),
        ("ratio", -0.1, (-0.2, 0.5), "0"),
        ("number", 12_345, (12_245, 12_445), "12,340"),
        ("number", None, (12_245, 12_445), "can't place"),
    ],
)
def test_an_estimate_has_the_digits_of_its_interval(unit, value, ends, words) -> None:
    assert estimate_in_words(unit, value, *ends) == words


@given(st.sampled_from(["share", "points", "difference", "number"]), ordered(shares))
def test_an_interval_by_its_unit_is_never_narrower_than_computed(unit, ends) -> None:
    factor = 100 if unit in ("share", "points") else 1
    low, high = (exact(end) * factor for end in ends)
    text = interval_in_words(unit, *ends)
    printed = numbers_of(text.replace("+", ""))
    if unit == "share":
        low, high = (min(max(end, Decimal(0)), Decimal(100)) for end in (low, high))
        printed = [*printed, Decimal(100)] if text.startswith("above") else printed
        printed = [Decimal(0), *printed] if text.startswith("below") else printed
    assert printed[0] <= low
    assert high <= printed[-1]


def test_what_was_before_a_change_has_the_digits_of_the_change() -> None:
    assert level_in_words("points", 0.4483, 0.08, 0.12) == "45%"
    assert level_in_words("points", -0.01, 0.08, 0.12) == "0%"
    assert level_in_words("difference", 4.321, 0.3, 0.5) == "4.3"
    assert level_in_words("difference", 104.3, -9.0, 9.0, limits=(60.0, 100.0)) == "100"
    assert level_in_words("difference", None, 0.3, 0.5) == "can't place"


def test_an_interval_without_an_end_can_be_said() -> None:
    assert interval_in_words("number", -math.inf, 3.0, limits=(0.0, 300.0)) == "0 to 3"
    assert interval_in_words("share", -math.inf, math.inf) == "anything from 0 to 100%"
    with pytest.raises(ValueError, match="low and high must be finite"):
        interval_in_words("share", math.nan, 0.5)


@given(ordered(numbers), st.one_of(st.none(), ordered(numbers).filter(lambda two: two[0] < two[1])))
def test_a_rounded_interval_holds_the_one_that_was_computed(ends, limits) -> None:
    found = outward("number", *ends, limits=limits and tuple(limits))
    assert found.low <= ends[0] <= ends[1] <= found.high
    assert exact(found.step).normalize().as_tuple().digits == (1,)
    if limits is None:
        assert found.high - found.low <= (ends[1] - ends[0]) * 1.3 * (1 + 1e-9) + 2e-300


@given(ordered(shares), st.floats(-0.5, 1.5))
def test_a_share_that_was_rounded_once_has_the_words_of_what_was_computed(ends, share) -> None:
    found = outward("share", *ends)
    assert found.low <= ends[0] <= ends[1] <= found.high
    assert (found.low > 0) == (ends[0] > 0)
    if not (ends[1] <= 0 or ends[0] >= 1):  # of those a half is said, which rounding widens
        words = interval_in_words("share", found.low, found.high, step=found.step)
        assert words == interval_in_words("share", *ends)
    estimate = to_step(share, found.step)
    words = estimate_in_words("share", estimate, found.low, found.high, step=found.step)
    assert words == estimate_in_words("share", share, *ends)


IN_RANGE = st.floats(-50, 250).filter(lambda number: not 0 < abs(number) < 1e-280)
"""No number of an answer is so small that its digits cannot be held."""


@given(ordered(IN_RANGE), IN_RANGE, st.booleans())
def test_a_number_that_was_rounded_once_has_the_words_of_what_was_computed(
    ends, number, limited
) -> None:
    limits = (0.0, 200.0) if limited else None
    found = outward("number", *ends, limits=limits)
    rounded = {"limits": limits, "step": found.step}
    if limits is None or not (ends[1] <= 0 or ends[0] >= 200):
        words = interval_in_words("number", found.low, found.high, **rounded)
        assert words == interval_in_words("number", *ends, limits=limits)
    estimate = to_step(number, found.step)
    words = estimate_in_words("number", estimate, found.low, found.high, **rounded)
    assert words == estimate_in_words("number", number, *ends, limits=limits)


@pytest.mark.parametrize(
    ("unit", "ends", "rounded"),
    [
        ("share", (0.1583, 0.1887), (0.158, 0.189, 0.001)),
        ("share", (0.0004, 0.021), (0.0004, 0.021, 0.001)),
        ("share", (-0.002, 0.0058), (-0.002, 0.006, 0.001)),
        ("share", (1.0, 1.0), (1.0, 1.0, 0.01)),
        ("number", (11_900.0, 12_790.0), (11_900.0, 12_800.0, 100.0)),
        ("number", (-0.00001, 0.00001), (-0.00001, 0.00001, 0.00001)),
    ],
)
def test_numbers_are_rounded_to_powers_of_ten(unit, ends, rounded) -> None:
    assert outward(unit, *ends) == rounded


@pytest.mark.parametrize("ends", [(1.0, 0.0), (math.nan, 1.0)])
def test_a_rounded_interval_has_its_ends_in_order(ends) -> None:
    with pytest.raises(ValueError, match="finite and in this order"):
        outward("share", *ends)
