from __future__ import annotations

import dataclasses
import io
from fractions import Fraction

import numpy as np
import pytest
from msgspec import UNSET
from msgspec.structs import replace
from rich.console import Console

from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.cli.render.share_table import IntervalBar, estimate_table, notes
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_shared.mechanisms import MemoizedRandomizedResponse
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.estimation.test_shares import counted, grr
from tests.privacy.specs import category


@pytest.fixture(scope="module")
def answer():
    return answer_of(estimate_shares([counted(grr("2"), ["red"] * 600 + ["green"] * 400)]))


def printed(table, width):
    output = io.StringIO()
    Console(file=output, width=width).print(table)
    return output.getvalue()


def test_an_item_is_shown_as_it_is(answer):
    items = ["[/b]", "[red]x", ":smile:"]
    rows = [replace(row, value=item) for row, item in zip(answer.estimates, items, strict=True)]
    text = printed(estimate_table(replace(answer, estimates=rows)), 200)
    for item in items:
        assert item in text


def test_a_bar_shows_the_interval_on_its_scale():
    assert IntervalBar(0.2, 0.5, 0.8, 1.0).draw(11) == "  ├──●──┤  "
    assert IntervalBar(0.2, 0.5, 0.8, 1.0, truth=0.4).draw(11) == "  ├─x●──┤  "


def test_what_lies_outside_the_scale_is_cut_off_at_its_ends():
    assert IntervalBar(-0.5, -0.1, 0.3, 1.0).draw(11) == "◂──┤       "
    assert IntervalBar(0.9, 1.2, 1.5, 1.0).draw(11) == "         ├●"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_fits_its_terminal(answer, width):
    text = printed(estimate_table(answer), width)
    assert max(map(len, text.splitlines())) <= width
    for item in ("red", "green", "blue", "●", "├", "above"):
        assert item in text


def test_beside_the_truth_the_table_says_what_is_covered(answer):
    rows = {row.value: row for row in answer.estimates}
    truth = {item: row.share for item, row in rows.items()}
    truth["blue"] = rows["blue"].high + 0.01
    text = printed(estimate_table(answer, truth), 100)
    verdicts = {line.split()[1]: line.split()[-2] for line in text.splitlines() if "│" in line}
    assert verdicts == {"red": "yes", "green": "yes", "blue": "no"}
    assert np.isfinite(truth["blue"])


def test_post_processed_shares_have_a_column_of_their_own(answer):
    text = printed(estimate_table(answer), 120)
    assert "to add up" in text
    for row in answer.estimates:
        assert f"{row.share:.2%} ±" in text
        assert f"{row.adjusted:.2%}" in text


def test_exact_intervals_show_both_sides():
    tally = counted(grr("5"), ["red"] * 20 + ["green"] * 10)
    data = answer_of(estimate_shares([tally], None, EstimateOptions(postprocess="none")))
    assert {row.method for row in data.estimates} == {"exact"}
    text = printed(estimate_table(data), 120)
    (red,) = (line for line in text.splitlines() if "red" in line)
    assert "±" not in red
    assert " -" in red
    assert " +" in red


def test_below_the_table_stands_what_the_numbers_mean():
    tally = counted(grr("2"), ["red"] * 600 + ["green"] * 400)
    data = answer_of(estimate_shares([tally], add=["red", "blue"]))
    first, *rest = notes(data)
    assert first.startswith("red + blue: ")
    assert f"norm-sub {data.combined.adjusted:.2%}" in first
    assert "covariances: exact" in first
    assert any("taken by itself" in line for line in rest)
    assert any("no interval belongs to it" in line for line in rest)


def test_below_a_table_of_permanent_noise_stands_that_periods_do_not_average_out():
    mechanism = MemoizedRandomizedResponse.for_epsilons(3, Fraction(1), Fraction(2))
    spec = category("red green blue", mechanism)
    answer = answer_of(estimate_shares([counted(spec, ["red"])]))
    (line,) = (each for each in notes(answer) if "permanent noise" in each)
    assert line.startswith(mechanism.title)
    assert "errors and intervals allow for the same devices" in line


def test_a_share_of_some_reports_says_of_how_many_and_what_is_possible_of_all():
    old = dataclasses.replace(grr("4", "red green other"), other="other")
    new = dataclasses.replace(grr("4", "red green blue other"), other="other")
    tallies = [
        counted(old, ["red"] * 500 + ["blue"] * 500),
        counted(new, ["red"] * 300 + ["blue"] * 200),
    ]
    data = answer_of(estimate_shares(tallies))
    rows = {row.value: row for row in data.estimates}
    text = printed(estimate_table(data), 120)
    for said in ("possible of all", "500", f"{rows['blue'].possible.high:.1%}", "all"):
        assert said in text
    assert rows["red"].possible is UNSET
    (line,) = [line for line in notes(data) if line.startswith("other + blue: ")]
    assert "of all reports" in line
    alone = printed(estimate_table(answer_of(estimate_shares(tallies[:1]))), 120)
    assert "possible" not in alone
