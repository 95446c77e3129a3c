from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.estimates import SegmentShares, SegmentSize
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.charts.estimates import shares_chart
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.estimation.test_shares import counted, grr


@pytest.fixture(scope="module")
def answer():
    return answer_of(estimate_shares([counted(grr("2"), ["red"] * 600 + ["green"] * 400)]))


def test_the_chart_holds_the_numbers_it_was_given(answer):
    truth = {"red": 0.6, "green": 0.4, "blue": 0.0}
    chart = json.loads(shares_chart(answer, truth).to_json())
    assert chart["title"]["text"] == "choice"
    drawn = max(chart["datasets"].values(), key=len)
    given = {row.value: row for row in answer.estimates}
    assert {row["value"] for row in drawn} == set(truth)
    for row in drawn:
        assert row["low"] == given[row["value"]].low
        assert row["share"] == given[row["value"]].share
        assert row["truth"] == truth[row["value"]]


def test_a_chart_within_a_segment_says_within_which(answer):
    segment = SegmentSize("channel", "beta", 0.5, 0.1, 0.4, 0.6, True, 0.01)
    fields = {
        name: getattr(answer, name)
        for name in SegmentShares.__struct_fields__
        if hasattr(answer, name)
    }
    within = SegmentShares(**fields, segment=segment, reports_left_out=0)
    assert "share of the devices that reported with channel=beta" in shares_chart(within).to_json()
    assert "with channel" not in shares_chart(answer).to_json()


def test_a_share_of_some_of_the_reports_says_of_how_many(answer):
    shown = json.loads(shares_chart(answer).to_json())
    drawn = max(shown["datasets"].values(), key=len)
    assert [row["label"] for row in drawn] == ["red", "green", "blue"]
    rows = [replace(row, reports=400) for row in answer.estimates]
    assert "red (of 400 reports)" in shares_chart(replace(answer, estimates=rows)).to_json()


def test_only_the_largest_are_drawn(answer):
    chart = json.loads(shares_chart(answer, most=2).to_json())
    (drawn,) = chart["datasets"].values()
    assert [row["value"] for row in drawn] == ["red", "green"]


def test_the_chart_says_whose_shares_and_which_intervals_it_shows():
    tally = counted(grr("2"), ["red"] * 600 + ["green"] * 400)
    options = EstimateOptions(top=2, margin="noise-and-sampling", postprocess="norm-sub")
    chart = shares_chart(answer_of(estimate_shares([tally], None, options))).to_json()
    adjusted = "adjusted to add up to 100%, no interval"
    for words in ("share of the population", "after picking the top", adjusted):
        assert words in chart
