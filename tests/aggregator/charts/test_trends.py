"""Pictures of series and of changes: what is in them, and what a reader could stumble over."""

from __future__ import annotations

import json
from datetime import date, timedelta

import numpy as np
import pytest

from deniable_aggregator.answers.questions import ChangeQuery, SeriesQuery
from deniable_aggregator.charts.trends import COLORS, change_chart, series_chart
from deniable_aggregator.dates import DayRange
from deniable_aggregator.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.trends.change import change
from deniable_aggregator.trends.series import series
from tests.aggregator.answered import answer, change_answer
from tests.aggregator.simulated import spec_of

REPORTS, FIRST = 2_000, date(2026, 1, 31)


def gathered(spec, generator, number):
    support, size = spec.mechanism.support, spec.mechanism.size
    chances = support.q + generator.dirichlet(np.full(size, 0.3)) * (support.p - support.q)
    counts = generator.multinomial(REPORTS, chances / chances.sum())
    return CollectedTallies([(spec, counts)], {spec.digest: {number: REPORTS}})


def answers(items, periods, missing=()):
    """A series over days with some missing, and the change from the first to the last."""
    spec, generator = spec_of("grr", items, 1), np.random.default_rng(3)
    days = [DayRange(FIRST + timedelta(n), FIRST + timedelta(n)) for n in range(periods)]
    found = {
        day: CollectedTallies([], {}) if number in missing else gathered(spec, generator, number)
        for number, day in enumerate(days)
    }
    going = answer(series(found.__getitem__, [spec], days, SeriesQuery()))
    two = [found[days[0]], gathered(spec, generator, periods)]
    request = ChangeRequest(ChangeQuery(before="2026-01-01", after="2026-01-02"))
    return going, change_answer(change(*two, request), days[0], days[-1])


def drawn(chart):
    data = json.loads(chart.to_json())
    rows = max(data["datasets"].values(), key=len)
    return data, rows


@pytest.mark.parametrize(("items", "periods"), [(2, 1), (3, 12), (30, 14), (3, 200)])
def test_every_period_is_there_and_what_has_no_reports_is_a_gap(items, periods):
    missing = () if periods == 1 else (3, 4)
    data, rows = drawn(series_chart(answers(items, periods, missing)[0]))
    days = {(FIRST + timedelta(n)).isoformat() for n in range(periods)}
    assert {row["day"] for row in rows} == days
    gaps = {row["day"] for row in rows if row["share"] is None}
    assert gaps == {(FIRST + timedelta(n)).isoformat() for n in missing}
    assert len({row["value"] for row in rows}) == min(items, len(COLORS))
    said = "the 8 largest of 30 values" in data["title"]["subtitle"]
    assert said == (items > len(COLORS))


@pytest.mark.parametrize("periods", [5, 100])
def test_a_day_is_drawn_as_that_day_in_every_time_zone(periods):
    """A date is midnight in UTC: on a local axis west of it, it would be the day before."""
    data, _ = drawn(series_chart(answers(2, periods)[0]))
    for layer in data["layer"]:
        if "x" in layer["encoding"]:
            x = layer["encoding"]["x"]
            assert x["type"] == "ordinal" or x["scale"]["type"] == "utc"


def test_few_points_stand_beside_each_other_and_many_are_bands():
    few, _ = drawn(series_chart(answers(3, 12)[0]))
    assert any("xOffset" in layer["encoding"] for layer in few["layer"])
    many, _ = drawn(series_chart(answers(3, 200)[0]))
    assert "area" in {layer["mark"]["type"] for layer in many["layer"]}


def test_a_period_between_two_gaps_has_its_interval():
    _, rows = drawn(series_chart(answers(3, 100, (49, 51))[0]))
    alone = {row["day"] for row in rows if row.get("alone")}
    assert alone == {(FIRST + timedelta(50)).isoformat()}


def test_a_picture_of_a_change_shows_which_are_found():
    found = answers(30, 2)[1]
    data, rows = drawn(change_chart(found))
    assert len(rows) == 25
    assert "the 25 largest of 30 changes" in data["title"]["subtitle"]
    assert [row["change"] for row in rows] == sorted((r["change"] for r in rows), reverse=True)
    for row in rows:
        assert (row["told"] == "changed") == row["changed"]
    assert any(row["changed"] for row in rows)
