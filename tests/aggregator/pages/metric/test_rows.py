"""The table of values: what is folded, sorted and said of a change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from deniable_aggregator.pages.metric.findings import found, moved
from deniable_aggregator.pages.metric.headline import headline
from deniable_aggregator.pages.metric.rows import mean_table, value_tables
from tests.aggregator.pages.metric.test_choices import read
from tests.aggregator.sentences.answers import (
    all_changes,
    all_shares,
    change,
    difference,
    mean,
    ranged,
    share,
    shares,
)

ANSWER = shares(
    share("dark", 0.50, 0.52, 0.54),
    share("light", 0.40, 0.42, 0.44),
    share("sepia", -0.004, 0.001, 0.006, detected=False),
    share("=1+1", -0.003, 0.0, 0.003, detected=False),
)


def names(table):
    return [row[0] for row in table.rows]


def test_values_that_cannot_be_told_from_zero_become_one_line():
    tables = value_tables(ANSWER, None, read(), "/metric/theme")
    assert names(tables.values) == ["dark", "light"]
    assert names(tables.folded) == ["sepia", "=1+1"]
    assert tables.folded_words == "2 values can't be told from zero (each below 0.6%)."


def test_a_value_that_clearly_changed_is_not_folded():
    moves = change(
        difference("sepia", [-0.09, -0.08, -0.07]), difference("dark", [0.01, 0.02, 0.03])
    )
    tables = value_tables(ANSWER, moves, read(), "/metric/theme")
    assert names(tables.values) == ["dark", "light", "sepia", "=1+1"]
    fallen = tables.values.rows[2]
    assert fallen[3:5] == ["-9 to -7", "-8"]
    assert (fallen[5].kind, fallen[5].text) == ("fallen", "clear fall")
    assert tables.values.rows[1][5] == "not compared"


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("-share", ["dark", "light"]),
        ("share", ["light", "dark"]),
        ("value", ["dark", "light"]),
        ("-value", ["light", "dark"]),
        ("-listed", ["light", "dark"]),
    ],
)
def test_rows_are_sorted_as_was_chosen(sort, order):
    tables = value_tables(ANSWER, None, read(sort=sort), "/metric/theme")
    assert names(tables.values) == order
    assert tables.values.sort == sort


def test_the_value_that_leads_stands_out_and_changes_have_their_way():
    said = found(ANSWER)
    assert said.value == "dark"
    assert said.rest.startswith(" leads with 50 to 54%")
    ways = moved(change(difference("dark", [-0.12, -0.1, -0.08])))
    ((badge, sentence),) = ways
    assert (badge.text, sentence.value) == ("clear fall", "dark")


def test_a_mean_and_a_flag_are_one_range_with_their_estimate():
    one = headline(mean(1.74, 1.78, 1.82))
    assert (one.range, one.of) == ("1.74 to 1.82", "is the mean; estimate 1.78, 95% interval")
    assert headline(shares(share("true", 0.421, 0.425, 0.429))).range == "42.1 to 42.9%"
    rare = headline(shares(share("true", -0.01, 0.001, 0.01, detected=False)))
    assert rare.range == "below 1%"
    assert "can't tell from zero" in rare.of
    assert headline(ANSWER) is None


def test_a_large_mean_is_cut_at_the_range_of_its_metric():
    whole = headline(ranged(mean(30, 80, 130), (60, 100)))
    assert whole.range == "anything from 60 to 100"
    assert whole.of == "may be the mean; estimate 80, 95% interval"
    beyond = headline(ranged(mean(90, 110, 130), (60, 100)))
    assert (beyond.range, beyond.of) == ("90 to 100", "is the mean; estimate 100, 95% interval")


def test_a_mean_that_did_not_clearly_change_says_how_far_it_can_have():
    table = mean_table(change(difference(None, [-0.1, 0.2, 0.5], changed=False), kind="mean"))
    assert table.rows[0][3] == "-0.1 to +0.5"
    assert table.rows[0][4].text == "not clear"


@settings(max_examples=60, deadline=None)
@given(all_shares(), all_changes())
def test_every_answer_has_each_value_once(answer, moves):
    tables = value_tables(answer, moves, read(top="all"), "/metric/theme")
    shown = names(tables.values) + (names(tables.folded) if tables.folded else [])
    assert sorted(shown) == sorted(row.value for row in answer.estimates)
    assert found(answer).rest
    list(moved(moves))
