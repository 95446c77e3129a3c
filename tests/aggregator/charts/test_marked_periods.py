"""What is special about days is seen in a picture, and said in its title and in the table."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.days import Release, Run
from deniable_aggregator.charts.marked_periods import NO_REPORTS, RELEASE, SUSPICIOUS, UNEVEN
from deniable_aggregator.charts.trends import COLORS, SHAPES, series_chart
from deniable_aggregator.cli.render.series_table import series_table
from tests.aggregator.charts.test_trends import FIRST, answers
from tests.aggregator.printed import printed


def day(number):
    return FIRST + timedelta(number)


def marked(items, periods):
    """A series with one of each: days without reports, suspicious, uneven, of a release, today."""
    found = answers(items, periods, missing=(3, 4))[0]
    found.description = "Which colour is chosen"
    found.days = replace(
        found.days,
        since=day(0),
        until=day(periods - 1),
        missing=[Run(day(3), day(4))],
        suspicious=[day(5)],
        uneven=[day(6)],
        releases=[Release(day(2), "0" * 64)],
        incomplete=[day(periods - 1)],
    )
    for period in found.periods:
        period.marks = found.days.marks(period.since, period.until)
    return found


@pytest.mark.parametrize("periods", [12, 200])
def test_special_days_are_bands_rules_and_hollow_points(periods):
    chart = series_chart(marked(3, periods)).to_dict()
    layers = {
        layer["mark"]["color"]: chart["datasets"][layer["data"]["name"]]
        for layer in chart["layer"]
        if "color" in layer["mark"] and "data" in layer
    }
    where = {
        color: [row["day"] for row in rows] for color, rows in layers.items() if "day" in rows[0]
    }
    assert where == {
        NO_REPORTS: [str(day(3)), str(day(4))],
        SUSPICIOUS: [str(day(5))],
        UNEVEN: [str(day(6))],
        RELEASE: [str(day(2))],
    }
    rows = max(chart["datasets"].values(), key=len)
    assert {row["day"] for row in rows if row.get("over") is False} == {str(day(periods - 1))}


def test_the_title_is_what_the_metric_is_for_and_says_what_the_marks_mean():
    title = json.loads(series_chart(marked(3, 12)).to_json())["title"]
    assert title["text"] == ["Which colour is chosen"]
    said = " ".join(title["subtitle"])
    for words in ("metric choice", "red band: suspicious", "hollow: a period that is not over"):
        assert words in said
    assert "2 without reports: 02-03 to 02-04" in said
    assert max(map(len, title["subtitle"])) <= 115


def test_the_table_has_a_column_of_marks_where_there_are_any():
    shown = printed(series_table(marked(2, 12)), 120)
    for words in ("no reports", "suspicious", "keys differ", "new version", "not over"):
        assert words in shown
    assert "marks" not in printed(series_table(answers(2, 12)[0]), 120)


def test_every_colour_is_dark_enough_on_white_and_has_a_shape_beside_it():
    """3:1, as the guidelines for accessible pages ask of what is no text (WCAG 2.2, 1.4.11)."""
    for color in COLORS:
        channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 3
    assert len(set(SHAPES)) == len(set(COLORS))
