"""Charts as files, whose texts come from registries, devices and servers."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import count
from xml.etree import ElementTree as ET

import msgspec
import pytest

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.estimates import SegmentShares, SegmentSize
from deniable_aggregator.charts.estimates import shares_chart
from deniable_aggregator.charts.files import SUFFIXES, save
from deniable_aggregator.charts.trends import change_chart, series_chart
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_shared.errors import ParameterError
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.charts.test_trends import answers
from tests.aggregator.estimation.test_shares import counted, grr

ATTACKS = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "'-alert(1)-'",
    "</text><script>alert(1)</script>",
    '"onload="alert(1)',
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt;",
)
OF_PEOPLE = {"metric", "application", "description", "message", "value", "label"}
"""Texts that somebody else than the program wrote, by where they stand in an answer."""


@pytest.fixture(scope="module")
def shares():
    shares = answer_of(estimate_shares([counted(grr("2"), ["red"] * 600 + ["green"] * 400)]))
    notice = Notice("suspicious_reports", "warning", "The reports of a key fail a check.")
    return msgspec.structs.replace(shares, notices=[notice])


@pytest.fixture(scope="module")
def charts(shares):
    """Functions from an attack to a chart in which all of these texts are attacks."""
    series, change = answers(3, 4)
    fields = {n: getattr(shares, n) for n in SegmentShares.__struct_fields__ if hasattr(shares, n)}
    size = SegmentSize("channel", "beta", 0.5, 0.1, 0.4, 0.6, True, 0.01)
    segment = SegmentShares(**fields, segment=size, reports_left_out=0)
    known = (
        (shares_chart, shares),
        (shares_chart, segment),
        (series_chart, series),
        (change_chart, change),
    )
    return [lambda attack, d=draw, a=each: d(attacked(a, attack)) for draw, each in known]


def attacked(answer, attack):
    numbers = count()

    def changed(data, name=""):
        if isinstance(data, dict):
            return {each: changed(value, each) for each, value in data.items()}
        if isinstance(data, list):
            return [changed(value, name) for value in data]
        theirs = isinstance(data, str) and name in OF_PEOPLE
        return f"{attack}{next(numbers)}" if theirs else data

    return msgspec.convert(changed(msgspec.to_builtins(answer)), type(answer))


class Page(HTMLParser):
    """What a browser finds in a page: its elements, their attributes and its scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.scripts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts.append(data)


def page_of(chart, tmp_path):
    path = tmp_path / "chart.html"
    save(chart, path)
    return Page(path.read_text(encoding="utf-8"))


def texts(data):
    if isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from texts(each)
    elif isinstance(data, str):
        yield data


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_chart_becomes_a_page_a_picture_or_json(shares, tmp_path, suffix):
    path = tmp_path / f"chart{suffix}"
    save(shares_chart(shares), path)
    start = path.read_bytes()[:200].lstrip()
    signs = {".html": b"<", ".json": b"{", ".png": b"\x89PNG", ".svg": b"<svg"}
    assert start.startswith(signs[suffix])
    if suffix == ".html":
        assert b'src="http' not in path.read_bytes()  # it needs no network


def test_another_kind_of_file_is_refused(shares, tmp_path):
    with pytest.raises(ParameterError, match="picture must be a file ending in"):
        save(shares_chart(shares), tmp_path / "chart.bmp")


def test_no_text_gets_an_element_or_a_script_into_a_page(charts, shares, tmp_path):
    harmless = page_of(shares_chart(shares), tmp_path)
    attack = "".join(ATTACKS)
    for chart in charts:
        page = page_of(chart(attack), tmp_path)
        assert page.elements == harmless.elements
        assert page.attributes == harmless.attributes
        library, script = page.scripts
        assert library == harmless.scripts[0]
        # The script is the chart as JSON between the library's own lines.
        spec = re.search(r"const spec = (\{.*\});\n", script)
        drawn = list(texts(json.loads(spec[1])))
        assert any(attack in text for text in drawn)
        without = script.replace(spec[1], "")
        assert "alert" not in without


def test_the_menu_of_a_page_shows_no_source_and_opens_no_other_site(shares, tmp_path):
    _, script = page_of(shares_chart(shares), tmp_path).scripts
    options = json.loads(re.search(r"const embedOpt = (\{.*\});", script)[1])
    wanted = {"export": True, "source": False, "compiled": False, "editor": False}
    assert options["actions"] == wanted


def test_no_text_gets_an_element_into_a_drawing(charts, tmp_path):
    path = tmp_path / "chart.svg"
    for chart in charts:
        save(chart("".join(ATTACKS)), path)
        found = list(ET.parse(path).getroot().iter())
        names = {element.tag.rpartition("}")[2] for element in found}
        assert names <= {"svg", "g", "path", "text", "rect", "line", "tspan", "defs", "clipPath"}
        assert not [name for each in found for name in each.attrib if name.startswith("on")]
        assert any("alert(1)" in (element.text or "") for element in found)


def test_characters_that_nobody_sees_are_shown_in_a_drawing(charts, tmp_path):
    path = tmp_path / "chart.svg"
    for chart in charts:
        save(chart("a\x1bb\u202ec"), path)
        drawn = "".join(ET.parse(path).getroot().itertext())  # control characters are not XML
        assert "a<U+001B>b<U+202E>c" in drawn
