from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.cli.render.share_notes import notes, picked_line
from deniable_aggregator.cli.render.share_table import estimate_table, share_cell
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_aggregator.media.console import UNBROKEN
from deniable_aggregator.sentences import explanation
from deniable_shared.mechanisms import MemoizedRandomizedResponse
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.estimation.test_shares import counted, grr
from tests.aggregator.printed import printed
from tests.privacy.specs import category


@pytest.fixture(scope="module")
def answer():
    return answer_of(estimate_shares([counted(grr("2"), ["red"] * 600 + ["green"] * 400)]))


def test_an_item_is_shown_as_it_is(answer):
    items = ["[/b]", "[red]x", ":smile:"]
    rows = [replace(row, value=item) for row, item in zip(answer.estimates, items, strict=True)]
    text = printed(estimate_table(replace(answer, estimates=rows)), 200)
    for item in items:
        assert item in text


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_fits_its_terminal(answer, width):
    text = printed(estimate_table(answer, width=width), width)
    assert max(map(len, text.splitlines())) <= width
    for item in ("red", "green", "blue", "●", "above"):
        assert item in text
    for row in answer.estimates:
        assert share_cell(row) in text


def test_beside_the_truth_the_table_says_what_is_covered(answer):
    rows = {row.value: row for row in answer.estimates}
    truth = {item: row.share for item, row in rows.items()}
    truth["blue"] = rows["blue"].high + 0.01
    text = printed(estimate_table(answer, truth), 100)
    rows = [line.split() for line in text.splitlines() if "%" in line and "±" in line]
    verdicts = {words[0]: words[5] for words in rows}
    assert verdicts == {"red": "yes", "green": "yes", "blue": "no"}
    assert np.isfinite(truth["blue"])


def test_post_processed_shares_have_a_column_of_their_own(answer):
    text = printed(estimate_table(answer), 120)
    assert "to add up" in text
    for row in answer.estimates:
        assert share_cell(row) in text
        assert f" {100 * row.adjusted:.0f}%" in text or f" {row.adjusted:.1%}" in text


def test_exact_intervals_show_both_sides():
    tally = counted(grr("5"), ["red"] * 20 + ["green"] * 10)
    data = answer_of(estimate_shares([tally], None, EstimateOptions(postprocess="none")))
    assert {row.method for row in data.estimates} == {"exact"}
    text = printed(estimate_table(data), 120)
    (red,) = (line for line in text.splitlines() if "red" in line)
    assert "±" not in red
    row = next(row for row in data.estimates if row.value == "red")
    low, high = math.floor(100 * row.low), math.ceil(100 * row.high)
    assert f"{100 * row.share:.0f}% [{low}, {high}]" in red


def test_below_the_table_stands_what_the_numbers_mean():
    tally = counted(grr("2"), ["red"] * 600 + ["green"] * 400)
    data = answer_of(estimate_shares([tally], add=["red", "blue"]))
    first, *_ = notes(data)
    rest = list(explanation(data))
    assert first.startswith("red + blue: ")
    assert "adjusted " in first
    assert any("taken by itself" in line for line in rest)
    assert any("no interval belongs to them" in line for line in rest)


def test_below_a_table_of_permanent_noise_stands_that_periods_do_not_average_out():
    mechanism = MemoizedRandomizedResponse.for_epsilons(3, Fraction(1), Fraction(2))
    spec = category("red green blue", mechanism)
    answer = answer_of(estimate_shares([counted(spec, ["red"])]))
    (line,) = (each for each in explanation(answer) if "permanent noise" in each)
    assert line.startswith(mechanism.title)
    assert "errors and intervals allow for the same devices" in line


def test_values_that_were_picked_say_so_and_why():
    tally = counted(grr("2"), ["red"] * 600 + ["green"] * 400)
    answer = answer_of(estimate_shares([tally], None, EstimateOptions(top=1)))
    line = picked_line(answer)
    assert line.startswith("Shown are 1 of 3 values, picked for their estimates.")
    assert "after picking" in printed(estimate_table(answer), 120)
    assert picked_line(answer_of(estimate_shares([tally]))) is None


def test_what_can_not_be_told_from_zero_has_a_limit_and_a_hollow_mark():
    answer = answer_of(estimate_shares([counted(grr("2"), ["red"] * 4_000 + ["green"] * 4_000)]))
    text = printed(estimate_table(answer), 120)
    (blue,) = (line for line in text.splitlines() if line.startswith("blue"))
    row = next(row for row in answer.estimates if row.value == "blue")
    assert not row.detected
    assert "below " in blue
    assert "○" in blue
    assert "can't tell" in blue
    shown = float(blue.partition("below ")[2].partition("%")[0])
    assert 100 * row.high <= shown < 100 * row.high + 0.2


def test_a_share_of_some_reports_says_of_how_many_and_what_is_possible_of_all():
    old = dataclasses.replace(grr("4", "red green other"), other="other")
    new = dataclasses.replace(grr("4", "red green blue other"), other="other")
    tallies = [
        counted(old, ["red"] * 500 + ["blue"] * 500),
        counted(new, ["red"] * 300 + ["blue"] * 200),
    ]
    data = answer_of(estimate_shares(tallies))
    rows = {row.value: row for row in data.estimates}
    text = printed(estimate_table(data), UNBROKEN)
    (blue,) = [line for line in text.splitlines() if line.startswith("blue")]
    for said in ("  500  ", f"to {rows['blue'].possible.high:.1%}"):
        assert said in blue
    (red,) = [line for line in text.splitlines() if line.startswith("red")]
    assert "  all  " in red
    assert rows["red"].possible is UNSET
    (line,) = [line for line in notes(data) if line.startswith("other + blue: ")]
    assert "of all reports" in line
    alone = printed(estimate_table(answer_of(estimate_shares(tallies[:1]))), 120)
    assert "possible" not in alone
