"""No picture shows a share below 0 or above 100%: it is drawn as words say it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from deniable_aggregator.media.pictures.svg import sparkline, svg
from deniable_aggregator.telling import figure_words
from deniable_aggregator.telling import numbers as words_of_numbers
from deniable_aggregator.telling.figure import (
    Bar,
    Dot,
    Dots,
    Figure,
    Histogram,
    Line,
    Lines,
    Moment,
)
from deniable_aggregator.telling.interval import interval_of
from tests.aggregator.media.pictures.drawn import SVG, day, of_class, parsed

NEAR_ALL = interval_of(0.97, 0.5, 1.48, level=0.95)
ABOVE_ALL = interval_of(1.5, 1.25, 1.75, level=0.95)
UNTOLD = interval_of(0.4, -2.0, 4.0, level=0.95, told=False)
SHARES = {"near": NEAR_ALL, "above": ABOVE_ALL, "untold": UNTOLD}


def figure_of(panel):
    return Figure(title="t", panels=(panel,), level=0.95)


def rows(unit="share"):
    dots = tuple(Dot(label=name, interval=each) for name, each in SHARES.items())
    return figure_of(Dots(axis="share", unit=unit, dots=dots))


def lines(interval, periods):
    """The same interval in each of some days."""
    moments = tuple(
        Moment(since=day(number), until=day(number) + timedelta(1), interval=interval)
        for number in range(periods)
    )
    line = Line(label="x", moments=moments)
    return figure_of(Lines(axis="s", unit="share", by="day", marks=((),) * periods, lines=(line,)))


def bins(*intervals):
    bars = tuple(
        Bar(start=number, end=number + 1, interval=each) for number, each in enumerate(intervals)
    )
    return figure_of(Histogram(axis="bins", shares="share", bars=bars, placed=()))


def percents(root):
    """The numbers of an axis of shares, and where they stand."""
    texts = {each.text: each for each in root.iter(f"{SVG}text")}
    return {int(text[:-1]): each for text, each in texts.items() if re.fullmatch(r"-?\d+%", text)}


def numbers(mark, name):
    return [float(each) for each in re.findall(r"-?[\d.]+", mark.get(name))]


@pytest.mark.parametrize("width", [360, 640])
def test_rows_and_their_axis_end_at_100_percent(width):
    root = parsed(svg(rows(), width))
    axis = percents(root)
    assert (min(axis), max(axis)) == (0, 100)
    zero = float(of_class(root, "zero")[0].get("x1"))
    drawn = {of_class(row, "label")[0].text: row for row in of_class(root, "row")}
    ends = {}
    for name, row in drawn.items():
        (mark,) = of_class(row, "interval")
        start = float(mark.get("x") or mark.get("x1"))
        ends[name] = (start, float(mark.get("x2") or start + float(mark.get("width", 0))))
    whole = max(end for _, end in ends.values())
    if width == 640:  # on a phone there is no room for the text right above its place
        assert whole == pytest.approx(float(axis[100].get("x")), abs=0.05)
    for name, low in {"near": 0.5, "above": 0.75, "untold": 0}.items():
        assert ends[name] == pytest.approx((zero + low * (whole - zero), whole), abs=0.05)
    (estimate,) = of_class(drawn["above"], "estimate")
    assert float(estimate.get("cx")) == pytest.approx(whole, abs=0.05)


@pytest.mark.parametrize("interval", SHARES.values(), ids=list(SHARES))
@pytest.mark.parametrize("periods", [3, 300])
def test_lines_and_their_axis_end_at_100_percent(interval, periods):
    root = parsed(svg(lines(interval, periods)))
    axis = percents(of_class(root, "plot")[0])
    assert (min(axis), max(axis)) == (0, 100)
    top = float(axis[100].get("y")) - 4
    for kind in ("interval", "core", "estimate"):
        for mark in of_class(root, kind):
            if mark.tag == f"{SVG}path":
                highest = min(numbers(mark, "d")[1::2])
            else:
                highest = float(mark.get("y") or mark.get("y2") or mark.get("cy"))
            assert highest >= top - 0.05


def test_a_sparkline_of_a_share_above_100_percent_is_that_of_100_percent():
    beyond, whole = interval_of(1.2, 0.5, 1.9, level=0.95), interval_of(1.0, 0.5, 1.0, level=0.95)
    roots = [parsed(sparkline(lines(each, 1))) for each in (beyond, whole)]
    for kind in ("interval", "estimate"):
        one, other = (of_class(root, kind)[0].attrib for root in roots)
        assert one == other


def test_bars_of_a_histogram_and_their_axis_end_at_100_percent():
    root = parsed(svg(bins(NEAR_ALL, ABOVE_ALL, interval_of(-0.2, -0.5, 0.1, level=0.95))))
    axis = {percent: float(each.get("y")) - 4 for percent, each in percents(root).items()}
    assert (min(axis), max(axis)) == (0, 100)
    tops = [float(bar.get("y")) for bar in of_class(root, "bar")]
    near = axis[0] + 0.97 * (axis[100] - axis[0])
    assert tops == pytest.approx([near, axis[100], axis[0]], abs=0.05)
    ends = [float(mark.get(end)) for mark in of_class(root, "interval") for end in ("y1", "y2")]
    assert axis[100] - 0.05 <= min(ends) <= max(ends) <= axis[0] + 0.05


def test_tables_and_pictures_have_the_same_word_for_what_is_not_told():
    assert figure_words.UNTOLD["share"] == words_of_numbers.UNTOLD


def test_the_words_of_a_row_say_100_percent_of_an_estimate_above_it():
    said = parsed(svg(rows())).find(f"{SVG}desc").text
    assert "near: above 50%, estimate 100%" in said
    assert "above: above 70%, estimate 100%" in said
    assert "untold: anything from 0 to 100%, can't tell from zero" in said


def test_points_are_no_shares_and_go_on_beyond_100():
    root = parsed(svg(rows("points")))
    assert "+400" in [each.text for each in root.iter(f"{SVG}text")]
