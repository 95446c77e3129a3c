"""Drawings: what they say and where their marks are, beside the answers."""

from __future__ import annotations

import gzip
import re
from dataclasses import fields
from dataclasses import replace as plain_replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from deniable_aggregator.media.pictures.canvas import THEMES
from deniable_aggregator.media.pictures.layout import ellipsed, text_width, wrapped
from deniable_aggregator.media.pictures.svg import sparkline, svg
from deniable_aggregator.telling.figure import Dot, Dots, Event, Figure, Placed
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.interval import interval_of
from tests.aggregator.contrast import contrast
from tests.aggregator.media.pictures.drawn import (
    SVG,
    change,
    day,
    marked,
    of_class,
    parsed,
    series,
    share,
    shares,
)


@pytest.fixture(scope="module")
def answer():
    return shares()


def figure_with(*dots, unit="share", **options):
    panel = Dots(axis="share", unit=unit, dots=dots, **options)
    return Figure(title="t", panels=(panel,), level=0.95)


@pytest.mark.parametrize("width", [360, 640])
def test_ends_of_intervals_are_where_the_axis_says(answer, width):
    root = parsed(svg(figure_of(answer), width))
    zero = float(of_class(root, "zero")[0].get("x1"))
    told = sorted((row for row in answer.numbers if row.told), key=lambda row: -row.estimate)
    ends, places = [], []
    for row, one in zip(of_class(root, "row"), told, strict=False):
        for kind, low, high in (("interval", one.low, one.high),):
            (band,) = of_class(row, kind)
            ends += [low, high]
            places += [float(band.get("x")), float(band.get("x")) + float(band.get("width"))]
    scale = (max(places) - zero) / max(ends)
    for end, place in zip(ends, places, strict=True):
        assert abs(place - zero - scale * end) < 0.05


def test_the_description_and_the_row_say_every_number(answer):
    root = parsed(svg(figure_of(answer)))
    said = root.find(f"{SVG}desc").text
    ranges = {
        of_class(row, "label")[0].text: of_class(row, "range")[0].text
        for row in of_class(root, "row")
    }
    for row in answer.numbers:
        assert f"{row.value}: {ranges[row.value]}" in said
        numbers = [float(each) for each in re.findall(r"[\d.]+", ranges[row.value])]
        assert 0 <= numbers[-1] - 100 * max(row.high, 0) <= 1
        assert (len(numbers) == 1) == (not row.told)
        assert not row.told or 0 <= 100 * row.low - numbers[0] <= 1


def test_the_estimate_is_no_wider_than_its_interval():
    narrow = Dot(label="narrow", interval=interval_of(0.5, 0.4999, 0.5001, level=0.95))
    wide = Dot(label="wide", interval=interval_of(0.5, 0.1, 0.9, level=0.95))
    for row in of_class(parsed(svg(figure_with(narrow, wide))), "row"):
        (mark,), (band,) = of_class(row, "estimate"), of_class(row, "interval")
        wide = 2 * float(mark.get("r", 0))
        assert wide <= float(band.get("width"))


def test_the_inner_half_lies_within_the_interval():
    for width, level in ((0.01, 0.95), (0.2, 0.95), (0.2, 0.3)):
        for error in (None, 0.001, 10.0):
            found = interval_of(0.3, 0.3 - width, 0.3 + width, level=level, standard_error=error)
            assert found.low <= found.core_low <= 0.3 <= found.core_high <= found.high
    exact = interval_of(0.3, 0.3 - 1.959964, 0.3 + 1.959964, level=0.95)
    assert abs(exact.core_high - 0.3 - 0.67449) < 1e-4


def test_what_cannot_be_told_from_zero_is_hollow_with_its_upper_end(answer):
    root = parsed(svg(figure_of(answer)))
    (row,) = [each for each in of_class(root, "row") if each.find(f"{SVG}text").text == "blue"]
    (dot,), (line,) = of_class(row, "estimate"), of_class(row, "interval")
    assert dot.get("fill") == THEMES["light"].background
    assert float(line.get("x1")) == float(of_class(root, "zero")[0].get("x1"))
    assert of_class(row, "range")[0].text.startswith("below ")
    assert not of_class(row, "core")
    assert "can't tell from zero" in "".join(each for each in root.itertext())


def test_a_change_is_drawn_whole_whether_it_is_clear_or_not():
    answer = change(12)
    assert {row.told for row in answer.numbers} == {True, False}
    root = parsed(svg(figure_of(answer)))
    drawn = {of_class(row, "label")[0].text: row for row in of_class(root, "row")}
    assert list(drawn) == [row.value for row in sorted(answer.numbers, key=lambda r: -r.estimate)]
    zero = float(of_class(root, "zero")[0].get("x1"))
    for row in answer.numbers:
        (mark,) = of_class(drawn[row.value], "interval")
        left = float(mark.get("x") or mark.get("x1"))
        right = left + float(mark.get("width", 0)) if mark.get("x") else float(mark.get("x2"))
        assert (left < zero) == (row.low < 0)
        assert (right > zero) == (row.high > 0)
        assert (mark.tag == f"{SVG}rect") == row.told
        said = of_class(drawn[row.value], "range")[0].text
        low, high = (float(each) for each in re.findall(r"[-+]?[\d.]+", said))
        assert low <= 100 * row.low <= 100 * row.high <= high


@pytest.mark.parametrize("periods", [12, 200])
def test_special_days_have_a_tint_and_a_mark_of_their_own_shape(periods):
    root = parsed(svg(figure_of(marked(3, periods))))
    plots = of_class(root, "plot")
    assert len(plots) == 3
    for plot in plots:
        for mark in ("suspicious", "uneven", "missing"):
            assert of_class(plot, f"behind {mark}")
            assert of_class(plot, mark)
        assert len(of_class(plot, "incomplete")) == len(of_class(plot, "release")) == 1
        (rule,) = of_class(plot, "release-day")
        assert float(rule.get("x1")) < float(of_class(plot, "behind missing")[0].get("x"))
    said = "".join(root.itertext())
    for words in ("suspicious reports", "no reports", "not over", "a new version", "keys differ"):
        assert words in said
    plain = parsed(svg(figure_of(series(3, 12))))
    assert not of_class(plain, "suspicious")
    assert "suspicious reports" not in "".join(plain.itertext())


def test_a_period_without_reports_is_a_gap_in_marks_and_in_bands():
    few = parsed(svg(figure_of(series(2, 12, missing=(3, 4)))))
    for plot in of_class(few, "plot"):
        assert len(of_class(plot, "row")) == 10
    many = parsed(svg(figure_of(series(2, 200, missing=(49, 51)))))
    for plot in of_class(many, "plot"):
        assert len(of_class(plot, "interval")) == 3  # before, between and after


@pytest.mark.parametrize("periods", [12, 200])
def test_a_thin_period_does_not_spoil_the_axis_and_is_cut_with_a_mark(periods):
    full = series(1, periods)
    full.numbers = [replace(share("v0", 0.3, 0.03), period=n) for n in range(periods)]
    thin = list(full.numbers)
    thin[5] = replace(thin[5], low=-0.6, high=0.99, told=False)
    plain, cut = (parsed(svg(figure_of(answer))) for answer in (full, replace(full, numbers=thin)))
    scales = [
        [each.text for each in of_class(root, "plot")[0].iter(f"{SVG}text")]
        for root in (plain, cut)
    ]
    assert scales[0] == scales[1]
    assert not of_class(plain, "cut")
    assert len(of_class(of_class(cut, "plot")[0], "cut")) == 1
    assert "goes on beyond the picture" in "".join(cut.itertext())


def test_of_periods_that_say_equally_much_none_is_cut():
    for answer in (series(3, 12), series(1, 2), series(1, 1)):
        assert not of_class(parsed(svg(figure_of(answer))), "cut")


def test_every_period_is_said_with_its_range_if_there_are_not_too_many():
    answer = series(2, 12, missing=(3,))
    said = parsed(svg(figure_of(answer))).find(f"{SVG}desc").text
    for number in range(12):
        assert len(re.findall(f"{day(number)}: ", said)) == 2
    assert said.count(f"{day(3)}: no reports") == 2
    many = parsed(svg(figure_of(series(2, 200)))).find(f"{SVG}desc").text
    assert "200 periods, 200 with reports" in many
    assert "highest, " in many


def test_only_the_largest_are_drawn_and_the_rest_is_said(answer):
    figure = figure_of(answer, most=1)
    (panel,) = figure.panels
    assert [dot.label for dot in panel.dots] == ["red"]
    assert re.fullmatch(r"2 more values are not drawn: all are below \d+%", panel.left_out)
    (lines,) = figure_of(series(30, 3)).panels
    assert len(lines.lines) == 8
    assert lines.left_out == "the 8 largest of 30 values"


def test_a_share_of_some_of_the_reports_says_of_how_many(answer):
    some = {"reports": 400, "possible_low": 0.1, "possible_high": 0.9}
    rows = [replace(row, **some) for row in answer.numbers]
    drawn = "".join(parsed(svg(figure_of(replace(answer, numbers=rows)))).itertext())
    assert "of 400 reports, of all 10 to 90%" in drawn


def test_the_truth_and_adjusted_shares_have_marks_of_their_own():
    truth = {"red": 0.6, "green": 0.4, "blue": 0.0}
    root = parsed(svg(figure_of(shares("norm-sub"), truth)))
    assert len(of_class(root, "truth")) == 3
    assert not of_class(root, "adjusted")
    adjusted = svg(figure_of(shares("norm-sub")))
    assert len(of_class(parsed(adjusted), "adjusted")) == 3
    assert "adjusted to add up to 100%, without intervals" in adjusted


@pytest.mark.parametrize("name", THEMES)
def test_marks_stand_out_from_what_is_behind_them(name):
    """3:1 as the guidelines for pages ask of what is no text, 4.5:1 of texts (WCAG 2.2)."""
    theme = THEMES[name]
    behind = [theme.background] if theme.background else ["#ffffff", "#14181d"]
    # Of a colour that a page may name, the one for pages that name none.
    colors = {
        each.name: (getattr(theme, each.name) or "").rstrip(")").rpartition(",")[2]
        for each in fields(theme)
    }
    for part in ("band", "core", "unclear", "truth", "adjusted", "warning", "uneven"):
        assert min(contrast(colors[part], each) for each in behind) >= 3, part
    for part in ("ink", "muted"):
        if theme.background:
            assert contrast(colors[part], theme.background) >= 4.5, part
        else:
            assert colors[part] == "currentColor"


FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
LONG = ["漢字" * 100, "x" * 300, "\u202eabc", FAMILY * 40]
ANY_TEXT = st.text(max_size=60) | st.sampled_from(LONG)


@settings(max_examples=60, deadline=None)
@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, st.sampled_from([360, 640]), st.sampled_from(list(THEMES)))
def test_whatever_a_text_is_the_drawing_is_well_formed_and_shows_it(one, two, three, width, theme):
    dots = [Dot(label=each, interval=interval_of(0.1, 0, 0.2, level=0.95)) for each in (one, two)]
    panel = Dots(heading=two, axis=three, unit="share", dots=tuple(dots), left_out=one)
    figure = Figure(title=three, warnings=(one,), subtitle=(two,), panels=(panel,), level=0.95)
    root = parsed(svg(figure, width, theme))
    assert {each.tag for each in root.iter()} <= {
        SVG + name
        for name in ("svg", "title", "desc", "rect", "g", "text", "line", "path", "circle")
    }
    if three.isascii() and three.isalnum():
        assert root.find(f"{SVG}title").text == three


NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1e-12, -1e-12, 1e30, float("inf")])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.booleans()), max_size=4), st.data())
def test_whatever_the_numbers_are_every_mark_lies_within_the_picture(rows, data):
    unit = data.draw(st.sampled_from(["share", "points", "ratio", "number", "difference"]))
    dots = []
    for one, two, told in rows:
        low, high = min(one, two), max(one, two)
        middle = low if high == float("inf") else low / 2 + high / 2
        interval = interval_of(middle, low, high, level=0.95, told=told)
        dots.append(Dot(label="x", interval=interval))
    text = svg(figure_with(*dots, unit=unit, reference=1.0 if unit == "ratio" else 0.0))
    root = parsed(text)
    assert "nan" not in text
    assert not re.search(r'="-?inf"', text)
    for mark in of_class(root, "interval"):
        start = float(mark.get("x") or mark.get("x1"))
        end = start + float(mark.get("width", 0)) if mark.get("x") else float(mark.get("x2"))
        assert -1 <= start <= end + 0.01
        assert end <= 641


def test_25_values_are_small_and_a_long_label_is_there_in_full():
    dots = [
        Dot(label=f"{'a long label ' * 15}{n}", interval=interval_of(0.5, 0.4, 0.6, level=0.95))
        for n in range(25)
    ]
    text = svg(figure_with(*dots))
    assert len(gzip.compress(text.encode())) < 10_000
    row = of_class(parsed(text), "row")[0]
    (label,) = of_class(row, "label")
    assert label.text.endswith("…")
    assert label.find(f"{SVG}title").text == dots[0].label


def test_texts_are_cut_and_broken_to_a_width():
    assert ellipsed("short", 12, 100) == "short"
    for text in ("a long text " * 10, "漢字" * 40, "👩‍👩‍👧" * 20):
        assert text_width(ellipsed(text, 12, 100), 12) <= 100
        assert all(text_width(line, 12) <= 100 for line in wrapped(text, 12, 100))
    assert not ellipsed("👩‍👩‍👧" * 20, 12, 60).endswith("\u200d…")
    assert "".join(wrapped("漢字" * 40, 12, 100)) == "漢字" * 40
    assert len(wrapped("word " * 100, 12, 100, most=2)) == 2


def test_a_quantile_that_cannot_be_placed_has_a_range_and_no_estimate():
    placed = Placed(name="99%", interval=interval_of(None, 28, 32, level=0.95))
    assert placed.interval.core_low == placed.interval.core_high
    root = parsed(svg(figure_with(Dot(label="99%", interval=placed.interval), unit="number")))
    assert not of_class(root, "estimate")
    assert "28 to 32, cannot be placed better" in root.find(f"{SVG}desc").text


def test_a_sparkline_is_small_and_says_the_same():
    text = sparkline(figure_of(marked(2, 12)))
    root = parsed(text)
    assert root.get("viewBox") == "0 0 120 28"
    assert len(of_class(root, "interval")) == 2
    assert "suspicious reports" in root.find(f"{SVG}desc").text
    assert len(text) < 6_000


HAPPENED = (Event(day=day(2), text="Version 3.2"), Event(day=day(5), text="<b>\u202eparty</b>"))


@pytest.mark.parametrize("periods", [12, 200])
def test_what_happened_has_a_rule_at_its_day_and_its_text_below(periods):
    figure = figure_of(series(2, periods))
    panel = plain_replace(figure.panels[0], events=HAPPENED)
    root = parsed(svg(plain_replace(figure, panels=(panel,)), 360))
    for plot in of_class(root, "plot"):
        rules = [float(each.get("x1")) for each in of_class(plot, "event-day")]
        last, whole = float(of_class(plot, "zero")[0].get("x2")), of_class(plot, "zero")[0]
        step = (last - float(whole.get("x1"))) / periods
        assert rules == pytest.approx([last - step * (periods - at) for at in (2, 5)], abs=0.02)
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert f"1: {day(2)}, Version 3.2" in texts
    assert f"2: {day(5)}, <b><U+202E>party</b>" in texts
    assert f"{day(2)}: Version 3.2." in root.find(f"{SVG}desc").text


def test_of_many_events_the_newest_have_their_texts():
    figure = figure_of(series(2, 12))
    events = tuple(Event(day=day(number), text=f"v{number}") for number in range(12))
    panel = plain_replace(figure.panels[0], events=events)
    root = parsed(svg(plain_replace(figure, panels=(panel,))))
    said = [text for each in root.iter(f"{SVG}text") if re.search(r", v\d", text := each.text)]
    assert said == [f"{number + 1}: {day(number)}, v{number}" for number in range(4, 12)]
    assert "and 4 before" in "".join(root.itertext())


def test_a_figure_without_its_heading_still_says_it_to_who_cannot_see_it(answer):
    figure = plain_replace(figure_of(answer), warnings=("careful",))
    root = parsed(svg(figure, theme="page", heading=False))
    drawn = "".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))
    assert figure.title not in drawn
    assert "careful" not in drawn
    assert root.find(f"{SVG}title").text == figure.title
    assert "Warning: careful" in root.find(f"{SVG}desc").text
