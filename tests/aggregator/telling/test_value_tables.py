"""Tables of values with what has changed beside each: what is folded, sorted and said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from deniable_aggregator.answers.common import IntervalNote
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.telling.tables import tables_of
from deniable_aggregator.telling.value_tables import LARGEST_MATRIX, lift_matrix, value_tables
from tests.aggregator.telling.answers import (
    VERSION,
    all_changes,
    all_shares,
    change,
    difference,
    share,
    shares,
)

ANSWER = shares(
    share("dark", 0.50, 0.52, 0.54),
    share("light", 0.40, 0.42, 0.44),
    share("sepia", -0.004, 0.001, 0.006, detected=False),
    share("=1+1", -0.003, 0.0, 0.003, detected=False),
)


def names(table: Any) -> list[str]:
    return [row.cells[0] for row in table.rows]


def test_values_that_cannot_be_told_from_zero_have_a_table_that_says_how_large_they_can_be() -> (
    None
):
    values, folded = value_tables(ANSWER)
    assert names(values) == ["dark", "light"]
    assert names(folded) == ["sepia", "=1+1"]
    assert folded.caption == "2 values can't be told from zero (each below 0.6%)"


def test_a_value_that_clearly_changed_is_not_folded() -> None:
    moves = change(
        difference("sepia", (-0.09, -0.08, -0.07)), difference("dark", (0.01, 0.02, 0.03))
    )
    (values,) = value_tables(ANSWER, moves)
    assert names(values) == ["dark", "light", "sepia", "=1+1"]
    fallen, light = values.rows[2], values.rows[1]
    assert fallen.cells[-3:] == ("-9 to -7", "-8", "clear fall")
    assert (fallen.way, values.way) == ("fallen", len(values.columns) - 1)
    assert (light.cells[-1], light.way) == ("not compared", None)


@pytest.mark.parametrize(
    ("sort", "descending", "order"),
    [
        ("share", True, ["dark", "light"]),
        ("share", False, ["light", "dark"]),
        ("value", False, ["dark", "light"]),
        ("value", True, ["light", "dark"]),
        ("listed", True, ["light", "dark"]),
        ("change", True, ["dark", "light"]),
    ],
)
def test_rows_are_sorted_as_was_chosen(sort: Any, descending: bool, order: list[str]) -> None:
    values, _ = value_tables(ANSWER, sort=sort, descending=descending)
    assert names(values) == order


def test_those_that_rose_most_come_first_and_values_that_were_not_compared_are_left_out() -> None:
    moves = change(difference("dark", (-0.02, 0.0, 0.02), changed=False),
                   difference("light", (0.01, 0.02, 0.03)))  # fmt: skip
    (values,) = value_tables(ANSWER, moves, sort="change")
    assert names(values) == ["light", "dark"]


def test_values_that_are_not_shown_are_counted() -> None:
    (values,) = value_tables(shares(*ANSWER.numbers, values_asked=40), most=2)
    assert values.left_out == "38 more values."


def lift(first: str, second: str, ends: tuple[float, float] | None, *, told: bool) -> Measured:
    low, high = ends or (None, None)
    return Measured(
        measure="lift", value=f"{first} & {second}", values=(first, second), low=low, high=high,
        estimate=None if ends is None else sum(ends) / 2, told=told, both=0.1, expected=0.08,
        p_value=0.01,
    )  # fmt: skip


def test_a_matrix_has_the_lift_of_every_two_and_brackets_what_chance_may_give() -> None:
    matrix = lift_matrix(
        shares(
            lift("a=true", "b=true", (0.8, 1.2), told=False),
            lift("a=true", "c=true", (0.5, 0.7), told=True),
            lift("b=true", "c=true", None, told=False),
        )
    )
    assert matrix is not None
    assert matrix.rows[0].cells == ("a=true", "", "(0.8 to 1.2)", "0.5 to 0.7")
    assert matrix.rows[2].cells[2] == "too rare"


def test_a_matrix_that_nobody_can_read_is_left_out() -> None:
    of = [f"f{number}=true" for number in range(LARGEST_MATRIX + 2)]
    many = [lift(of[0], other, (0.8, 1.2), told=False) for other in of[1:]]
    assert lift_matrix(shares(*many)) is None
    assert lift_matrix(ANSWER) is None


def test_of_attributes_pairs_stand_in_tables_of_their_own() -> None:
    numbers = [share(each, 0.3, 0.4, 0.5) for each in ("a=true", "b=true", "a=true & b=true")]
    pair = lift("a=true", "b=true", (0.8, 1.2), told=False)
    versions = [replace(VERSION, mechanism={"name": "pairs"})]
    (values,) = value_tables(shares(*numbers, pair, versions=versions, values_asked=4))
    assert names(values) == ["a=true", "b=true"]
    assert values.left_out == ""


@settings(max_examples=60, deadline=None)
@given(all_shares(), all_changes())
def test_every_answer_has_each_value_once(answer: Any, moves: Any) -> None:
    shown = [name for table in value_tables(answer, moves) for name in names(table)]
    assert len(shown) == len(answer.of("share", "combined"))
    assert len(set(shown)) == len(shown)


def test_intervals_of_sizes_hold_by_themselves_whatever_was_picked() -> None:
    size = Measured(measure="set size", value="no items", estimate=0.3, low=0.29, high=0.31)
    answer = shares(share("git", 0.4, 0.5, 0.6), size)
    answer.head.interval = IntervalNote(kind="picked", level=0.95, meaning="")
    headings = {
        table.name: [column.heading for column in table.columns] for table in tables_of(answer)
    }
    assert "share, 95% interval, after picking" in headings["values"]
    assert "share, 95% interval" in headings["sizes"]
