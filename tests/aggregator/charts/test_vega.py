"""Charts for Altair: valid, and with the numbers of the answers."""

from __future__ import annotations

import altair as alt
import pytest

from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.charts.vega.specification import vega_lite
from tests.aggregator.charts.drawn import answers, day, marked, shares

DRAWN = {"shares": shares, "series": lambda: marked(2, 8), "change": lambda: answers(3, 2)[1]}


@pytest.mark.parametrize("kind", DRAWN)
def test_altair_takes_the_chart_of_every_answer(kind):
    spec = vega_lite(figure_of(DRAWN[kind]()))
    chart = alt.Chart.from_dict(spec)  # validates
    assert chart.to_dict()["title"]["text"] == spec["title"]["text"]


def test_rows_hold_the_numbers_of_the_answer():
    answer = shares()
    spec = vega_lite(figure_of(answer, {"red": 0.6, "green": 0.4, "blue": 0.0}))
    rows = {row["label"]: row for row in spec["vconcat"][0]["data"]["values"]}
    for share in answer.estimates:
        row = rows[share.value]
        assert row["estimate"] == share.share
        assert row["high"] == share.high
        assert row["low"] == (share.low if share.detected else 0.0)
        assert row["told"] == share.detected
    assert rows["red"]["truth"] == 0.6


def test_a_change_is_in_percentage_points():
    change = answers(3, 2)[1]
    spec = vega_lite(figure_of(change))
    rows = {row["label"]: row for row in spec["vconcat"][0]["data"]["values"]}
    for each in change.changes:
        assert rows[each.value]["estimate"] == 100 * each.change
        assert rows[each.value]["high"] == 100 * each.high


def test_a_series_has_a_gap_where_there_are_no_reports_and_days_are_in_utc():
    spec = vega_lite(figure_of(answers(2, 5, missing=(2,))[0]))
    assert len(spec["concat"]) == 2
    for chart in spec["concat"]:
        without = [row for row in chart["data"]["values"] if "estimate" not in row]
        assert [row["day"] for row in without] == [day(2).isoformat()]
        across = [layer["encoding"]["x"] for layer in chart["layer"] if "x" in layer["encoding"]]
        assert {each["scale"]["type"] for each in across} == {"utc"}
