from __future__ import annotations

import json

import pytest

from deniable_aggregator.charts.estimates import SUFFIXES, save, shares_chart
from deniable_aggregator.estimation.options import EstimateOptions
from deniable_aggregator.estimation.shares import estimate_shares
from deniable_shared.errors import ParameterError
from tests.aggregator.estimation.test_shares import counted, grr


@pytest.fixture(scope="module")
def answer():
    return estimate_shares([counted(grr("2"), ["red"] * 600 + ["green"] * 400)]).as_dict()


def test_the_chart_holds_the_numbers_it_was_given(answer):
    truth = {"red": 0.6, "green": 0.4, "blue": 0.0}
    chart = json.loads(shares_chart(answer, truth).to_json())
    assert chart["title"]["text"] == "choice"
    (drawn,) = chart["datasets"].values()
    given = {row["item"]: row for row in answer["estimates"]}
    assert {row["item"] for row in drawn} == set(truth)
    for row in drawn:
        assert row["low"] == given[row["item"]]["low"]
        assert row["share"] == given[row["item"]]["share"]
        assert row["truth"] == truth[row["item"]]


def test_a_chart_within_a_segment_says_within_which(answer):
    within = {**answer, "segment": {"name": "channel", "value": "beta"}}
    assert "share of the devices that reported with channel=beta" in shares_chart(within).to_json()
    assert "with channel" not in shares_chart(answer).to_json()


def test_only_the_largest_are_drawn(answer):
    chart = json.loads(shares_chart(answer, most=2).to_json())
    (drawn,) = chart["datasets"].values()
    assert [row["item"] for row in drawn] == ["red", "green"]


def test_the_chart_says_whose_shares_and_which_intervals_it_shows():
    tally = counted(grr("2"), ["red"] * 600 + ["green"] * 400)
    options = EstimateOptions(top=2, about="population", postprocess="norm-sub")
    chart = shares_chart(estimate_shares([tally], None, options).as_dict()).to_json()
    for words in ("share of the population", "after selection", "norm-sub, no interval"):
        assert words in chart


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_chart_becomes_a_page_a_picture_or_json(answer, tmp_path, suffix):
    path = tmp_path / f"chart{suffix}"
    save(shares_chart(answer), path)
    start = path.read_bytes()[:200].lstrip()
    signs = {".html": b"<", ".json": b"{", ".png": b"\x89PNG", ".svg": b"<svg"}
    assert start.startswith(signs[suffix])
    if suffix == ".html":
        assert b'src="http' not in path.read_bytes()  # it needs no network


def test_another_kind_of_file_is_refused(answer, tmp_path):
    with pytest.raises(ParameterError, match="picture must be a file ending in"):
        save(shares_chart(answer), tmp_path / "chart.bmp")
