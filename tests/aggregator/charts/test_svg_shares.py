"""Shares as a drawing: what it says and where its marks are, beside the answer."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.charts.svg import svg
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.estimation.test_shares import counted, grr

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def answer():
    return answer_of(estimate_shares([counted(grr("2"), ["red"] * 600 + ["green"] * 400)]))


def rows(drawing):
    return [each for each in drawing.iter(f"{SVG}g") if each.get("class") == "row"]


def marks(row, kind):
    return [each for each in row.iter() if each.get("class") == kind]


@pytest.mark.parametrize("width", [360, 640])
def test_ends_of_intervals_are_where_the_axis_says(answer, width):
    drawing = ET.fromstring(svg(figure_of(answer), width))
    (zero, *_) = marks(drawing, "zero")
    told = [row for row in answer.estimates if row.detected]
    ends, places = [0.0], [float(zero.get("x1"))]
    for row, share in zip(rows(drawing), sorted(told, key=lambda row: -row.share), strict=False):
        (band,) = marks(row, "interval")
        left = float(band.get("x"))
        ends += [share.low, share.high]
        places += [left, left + float(band.get("width"))]
    scale = (max(places) - min(places)) / (max(ends) - min(ends))
    for end, place in zip(ends, places, strict=True):
        assert abs(place - places[0] - scale * end) < 0.05


def test_the_description_says_every_number(answer):
    drawing = ET.fromstring(svg(figure_of(answer)))
    said = drawing.find(f"{SVG}desc").text
    for row in answer.estimates:
        found = re.search(rf"{row.value}: [^;]*?(?:(-?[\d.]+) to|below) ([\d.]+)%", said)
        assert 0 <= float(found[2]) - 100 * max(row.high, 0) <= 1
        assert (found[1] is None) == (not row.detected)
        assert found[1] is None or 0 <= 100 * row.low - float(found[1]) <= 1
